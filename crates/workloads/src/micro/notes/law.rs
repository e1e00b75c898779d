//! Checks the laws that notes must keep after any serializable run.

use super::{ALL, BY_TAG, LEDGER, NOTES, NotesOptions, note::Note};
use std::ops::ControlFlow;
use txn::{Abort, Access, ByteRange, Direction, ENTRY, Intent, RowLayout, SecondaryIndex};

/// A row that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// There is no row.
    Absent,
    /// The values of the row do not belong together.
    Broken,
    /// A whole note.
    Whole(Note),
}

/// Reads the note `key`.
pub(super) fn seen<A: Access + ?Sized>(
    access: &mut A,
    layout: &RowLayout,
    key: u64,
    intent: Intent,
    row: &mut Vec<u8>,
) -> Result<Seen, Abort> {
    if !access.fetch(NOTES, key.into(), ALL, intent, row)? {
        return Ok(Seen::Absent);
    }
    Ok(Note::of(layout, row).map_or(Seen::Broken, Seen::Whole))
}

/// Reads all tables. Returns a description of the broken law, if any.
pub(super) fn check(
    options: &NotesOptions,
    (layout, by_tag): (&RowLayout, &SecondaryIndex),
    access: &mut dyn Access,
) -> Result<Result<(), String>, Abort> {
    if let Err(broken) = LEDGER.check(access)? {
        return Ok(Err(broken));
    }
    let (mut notes, mut row) = (Vec::new(), Vec::new());
    for key in 0..options.keys() {
        match seen(access, layout, key, Intent::Read, &mut row)? {
            Seen::Absent => {}
            Seen::Whole(note) => notes.push((key, note)),
            Seen::Broken => {
                return Ok(Err(format!("the values of note {key} don't belong together")));
            }
        }
    }
    let characters: u64 = notes.iter().map(|(_, note)| note.size).sum();
    if notes.len() as u64 != options.notes || characters != options.characters() {
        return Ok(Err(format!(
            "there are {} notes with {characters} characters, loaded were {} with {}",
            notes.len(),
            options.notes,
            options.characters()
        )));
    }
    entries(&notes, by_tag, access)
}

/// Compares the index by tag with the notes.
fn entries(
    notes: &[(u64, Note)],
    by_tag: &SecondaryIndex,
    access: &mut dyn Access,
) -> Result<Result<(), String>, Abort> {
    let mut entries = Vec::new();
    let all = ByteRange::ALL.into();
    access.scan(BY_TAG, all, Direction::Forward, ENTRY, &mut |entry, key| {
        let key = u64::from_le_bytes(key.try_into().expect("an entry is a key"));
        entries.push((entry.bytes().to_vec(), key));
        ControlFlow::Continue(())
    })?;
    let mut expected = Vec::new();
    for (key, note) in notes {
        let tag = Note::tag_of(note.mark);
        let entry = by_tag.entry((*key).into(), |_| tag.as_ref().map(|tag| tag.as_bytes()));
        let entry = entry.expect("tags and keys are short").as_key().bytes().to_vec();
        expected.push((entry, *key));
    }
    expected.sort_unstable();
    Ok(match entries == expected {
        true => Ok(()),
        false => Err(format!(
            "the index by tag has {} entries that differ from the {} notes",
            entries.len(),
            notes.len()
        )),
    })
}
