//! Draws and runs one worker's moves, replacements, searches and censuses.

use super::{
    ALL, BY_TAG, LEDGER, NOTES, NotesOptions,
    law::{Seen, seen},
    note::{MARK_AND_THE_REST, Note, SIZE_AND_TEXT, TAGS},
};
use crate::stream::Stream;
use std::ops::ControlFlow;
use txn::{
    Abort, Access, Client, Direction, Intent, OwnedKeys, Planned, RowLayout, SecondaryIndex,
};

/// Names of the kinds of procedures, in the order of [`Client::kind`].
pub const KIND_NAMES: [&str; 5] = ["move", "replace", "find", "census", "report"];

/// A drawn procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drawn {
    Move {
        from: u64,
        to: u64,
        characters: u64,
        marks: [u32; 2],
        /// Set if a note is first written with another mark, which no other transaction must see.
        twice: bool,
    },
    Replace {
        note: u64,
        by: u64,
    },
    Find {
        mark: u32,
        direction: Direction,
    },
    Census,
    /// Records in the ledger what the previous read-only procedure saw.
    Report,
}

/// One worker's stream of procedures.
#[derive(Clone, Debug)]
pub struct NotesClient {
    options: NotesOptions,
    layout: RowLayout,
    by_tag: SecondaryIndex,
    stream: Stream,
    worker: usize,
    drawn: Drawn,
    row: Vec<u8>,
    /// Set if the last attempt of a census saw a broken law.
    saw_broken_census: bool,
}

impl NotesClient {
    pub(super) fn new(
        options: NotesOptions,
        (layout, by_tag): (RowLayout, SecondaryIndex),
        worker: usize,
        seed: u64,
    ) -> NotesClient {
        let (stream, drawn) = (Stream::of_worker(seed, worker), Drawn::Census);
        let (row, saw_broken_census) = (Vec::new(), false);
        NotesClient { options, layout, by_tag, stream, worker, drawn, row, saw_broken_census }
    }

    fn seen<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        key: u64,
        intent: Intent,
    ) -> Result<Seen, Abort> {
        seen(access, &self.layout, key, intent, &mut self.row)
    }

    /// Overwrites a note in two steps, between which its values don't belong together.
    fn rewrite<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        key: u64,
        note: Note,
    ) -> Result<bool, Abort> {
        for columns in [SIZE_AND_TEXT, MARK_AND_THE_REST] {
            self.row.clear();
            note.push(&self.layout, columns, &mut self.row);
            if !access.update(NOTES, key.into(), columns, &self.row)? {
                return Ok(false);
            }
        }
        Ok(self.seen(access, key, Intent::Read)? == Seen::Whole(note))
    }

    fn carry<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (from, to): (u64, u64),
        characters: u64,
        marks: [u32; 2],
        twice: bool,
    ) -> Result<bool, Abort> {
        let intent = intent_of_move(characters);
        let (giver, taker) =
            match (self.seen(access, from, intent)?, self.seen(access, to, intent)?) {
                (Seen::Broken, _) | (_, Seen::Broken) => return Ok(false),
                (Seen::Whole(giver), Seen::Whole(taker)) if from != to => (giver, taker),
                _ => return Ok(true),
            };
        let moved = characters.min(giver.size);
        let giver = Note { size: giver.size - moved, mark: marks[0] };
        let taker = Note { size: taker.size + moved, mark: marks[1] };
        let first = Note { mark: marks[0].wrapping_add(1), ..giver };
        Ok((!twice || self.rewrite(access, from, first)?)
            && self.rewrite(access, from, giver)?
            && self.rewrite(access, to, taker)?)
    }

    fn replace<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        key: u64,
        by: u64,
    ) -> Result<bool, Abort> {
        let gone = match self.seen(access, key, Intent::Update)? {
            Seen::Broken => return Ok(false),
            Seen::Absent => return Ok(!access.delete(NOTES, key.into())?),
            Seen::Whole(note) => note,
        };
        if self.seen(access, by, Intent::Update)? != Seen::Absent {
            self.row.clear();
            gone.push_row(&self.layout, &mut self.row);
            return Ok(!access.insert(NOTES, by.into(), &self.row)?);
        }
        if !access.delete(NOTES, key.into())? {
            return Ok(false);
        }
        self.row.clear();
        gone.push_row(&self.layout, &mut self.row);
        Ok(access.insert(NOTES, by.into(), &self.row)?
            && self.seen(access, by, Intent::Read)? == Seen::Whole(gone)
            && self.seen(access, key, Intent::Read)? == Seen::Absent)
    }

    /// Finds the notes with the tag of `mark`, or those without a tag.
    fn find<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        mark: u32,
        direction: Direction,
    ) -> Result<bool, Abort> {
        let tag = Note::tag_of(mark);
        let values = [tag.clone().map(String::into_bytes)];
        let range = self.by_tag.between_values(&values, &values).expect("one tag");
        let OwnedKeys::Bytes { .. } = &range else { panic!("entries have keys of bytes") };
        let (mut right, layout) = (true, &self.layout);
        access.scan_index(BY_TAG, range.as_keys(), direction, ALL, &mut |_, row| {
            right &= Note::of(layout, row).is_some_and(|note| Note::tag_of(note.mark) == tag);
            ControlFlow::Continue(())
        })?;
        Ok(right)
    }

    fn census<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<bool, Abort> {
        let (mut notes, mut characters) = (0, 0);
        for key in 0..self.options.keys() {
            match self.seen(access, key, Intent::Read)? {
                Seen::Absent => {}
                Seen::Broken => return Ok(false),
                Seen::Whole(note) => {
                    notes += 1;
                    characters += note.size;
                }
            }
        }
        Ok(notes == self.options.notes && characters == self.options.characters())
    }

    /// Records a broken law in this worker's row of the ledger.
    fn report<A: Access + ?Sized>(&self, access: &mut A) -> Result<(), Abort> {
        // A report concerns the census before it.
        LEDGER.count(access, self.worker, self.kind().min(3))
    }
}

/// Returns the intent with which a move reads. Half of the moves upgrade their locks.
fn intent_of_move(characters: u64) -> Intent {
    if characters.is_multiple_of(2) { Intent::Read } else { Intent::Update }
}

impl Client for NotesClient {
    /// Draws the next procedure. Call it only after the previous procedure has committed or was given up, as
    /// a worker does.
    fn next(&mut self) {
        if std::mem::take(&mut self.saw_broken_census) {
            self.drawn = Drawn::Report;
            return;
        }
        let (options, keys) = (&self.options, self.options.keys());
        let shares = [options.replacements, options.finds, options.censuses];
        let rest = 1.0 - shares.iter().sum::<f64>();
        let stream = &mut self.stream;
        self.drawn = match stream.pick(&[shares[0], shares[1], shares[2], rest]) {
            0 => Drawn::Replace { note: stream.below(keys), by: stream.below(keys) },
            1 => {
                let forward = stream.below(2) == 0;
                let direction = if forward { Direction::Forward } else { Direction::Backward };
                Drawn::Find { mark: stream.below(TAGS.into()) as u32, direction }
            }
            2 => Drawn::Census,
            _ => Drawn::Move {
                from: stream.below(keys),
                to: stream.below(keys),
                characters: 1 + stream.below(self.options.size),
                marks: [stream.bits() as u32, stream.bits() as u32],
                twice: stream.below(4) == 0,
            },
        };
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        let right = match self.drawn {
            Drawn::Move { from, to, characters, marks, twice } => {
                // The other procedures do not announce their rows, so both kinds of look-ups are explored.
                access.prefetch(NOTES, &[(from, ALL), (to, ALL)]);
                self.carry(access, (from, to), characters, marks, twice)?
            }
            Drawn::Replace { note, by } => self.replace(access, note, by)?,
            Drawn::Find { mark, direction } => self.find(access, mark, direction)?,
            Drawn::Census => {
                self.saw_broken_census = false;
                self.saw_broken_census = !self.census(access)?;
                true
            }
            Drawn::Report => false,
        };
        if right { Ok(()) } else { self.report(access) }
    }

    /// Plans the notes whose keys are drawn. A move can be planned as reads, although it writes.
    fn plan(&self, out: &mut Vec<Planned>) {
        match self.drawn {
            Drawn::Move { from, to, characters, .. } => {
                let intent = intent_of_move(characters);
                let planned = |key| Planned { table: NOTES, key, columns: ALL, intent };
                out.extend([from, to].map(planned));
            }
            Drawn::Replace { note, by } => {
                out.extend([note, by].map(|key| Planned::whole(NOTES, key)));
            }
            Drawn::Census => {
                let keys = 0..self.options.keys();
                out.extend(keys.map(|key| Planned::read(NOTES, key, ALL)));
            }
            Drawn::Report => out.push(LEDGER.plan(self.worker)),
            Drawn::Find { .. } => {}
        }
    }

    fn read_only(&self) -> bool {
        self.drawn == Drawn::Census
    }

    fn kind(&self) -> usize {
        match self.drawn {
            Drawn::Move { .. } => 0,
            Drawn::Replace { .. } => 1,
            Drawn::Find { .. } => 2,
            Drawn::Census => 3,
            Drawn::Report => 4,
        }
    }
}
