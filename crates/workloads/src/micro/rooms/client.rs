//! Draws and runs one worker's moves between rooms, payments, badges, replacements and censuses.

use super::law::{found, person};
use super::{
    BADGE, BY_BADGE, BY_ROOM, COINS, COINS_LOADED, LEDGER, PEOPLE, Person, ROOM, RoomsOptions,
};
use crate::stream::Stream;
use txn::{Abort, Access, Client, Direction, KeyRange, Planned, SecondaryIndex, TableId};

/// Names of the kinds of procedures, in the order of [`Client::kind`].
pub const KIND_NAMES: [&str; 6] = ["go", "pay", "badge", "replace", "census", "report"];

/// A drawn procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drawn {
    Go {
        person: u64,
        room: u64,
        badge: Option<u64>,
        /// Set if the person's previous room is not read first.
        blindly: bool,
    },
    Pay {
        room: u64,
        /// Numbers that select the giving and the receiving person among the people found.
        from: u64,
        to: u64,
        direction: Direction,
    },
    Badge {
        person: u64,
        badge: u64,
    },
    Replace {
        person: u64,
        by: u64,
    },
    Census,
    /// Records in the ledger what the previous read-only procedure saw.
    Report,
}

/// One worker's stream of procedures.
#[derive(Clone, Debug)]
pub struct RoomsClient {
    options: RoomsOptions,
    indexes: [SecondaryIndex; 2],
    stream: Stream,
    worker: usize,
    drawn: Drawn,
    /// Set if the last attempt of a census did not find the loaded people and coins.
    saw_broken_census: bool,
}

impl RoomsClient {
    pub(super) fn new(
        options: RoomsOptions,
        indexes: [SecondaryIndex; 2],
        worker: usize,
        seed: u64,
    ) -> RoomsClient {
        let stream = Stream::of_worker(seed, worker);
        let drawn = Drawn::Census;
        RoomsClient { options, indexes, stream, worker, drawn, saw_broken_census: false }
    }

    /// Returns the range of the entries with exactly `code` in the index by room or by badge.
    fn entries(&self, index: TableId, code: u64) -> KeyRange {
        self.indexes[usize::from(index == BY_BADGE)].equal(&[code])
    }

    /// Returns whether exactly `people` are found in the index by room or by badge.
    fn are_there<A: Access + ?Sized>(
        &self,
        access: &mut A,
        (index, code): (TableId, u64),
        people: &[(u64, Person)],
    ) -> Result<bool, Abort> {
        let range = self.entries(index, code);
        let mut seen = found(access, index, range, Direction::Backward)?;
        seen.reverse();
        Ok(seen == people)
    }

    fn go<A: Access + ?Sized>(
        &self,
        access: &mut A,
        key: u64,
        room: u64,
        badge: Option<u64>,
    ) -> Result<bool, Abort> {
        let Some(before) = person(access, key)? else {
            // The person is absent, so the update must fail.
            let gone = access.update(PEOPLE, key.into(), ROOM, &room.to_le_bytes())?;
            return Ok(!gone && access.refused_by().is_none());
        };
        let mut after = Person { room, ..before };
        let done = match badge {
            None => access.update(PEOPLE, key.into(), ROOM, &room.to_le_bytes())?,
            Some(badge) => {
                after.badge = badge;
                let values = [room.to_le_bytes(), badge.to_le_bytes()].concat();
                access.update(PEOPLE, key.into(), ROOM.with(BADGE), &values)?
            }
        };
        if !done {
            // The whole update is refused, including the new room.
            let by = access.refused_by() == Some(BY_BADGE);
            return Ok(by && person(access, key)? == Some(before));
        }
        let found_in = |access: &mut A, room| {
            let range = self.entries(BY_ROOM, room);
            Ok::<_, Abort>(
                found(access, BY_ROOM, range, Direction::Forward)?.contains(&(key, after)),
            )
        };
        Ok(found_in(access, room)?
            && (before.room == room || !found_in(access, before.room)?)
            && self.are_there(access, (BY_BADGE, after.badge), &[(key, after)])?)
    }

    /// Like [`RoomsClient::go`], but without reading the person first. Only the index knows its previous
    /// room.
    fn go_blindly<A: Access + ?Sized>(
        &self,
        access: &mut A,
        key: u64,
        room: u64,
        badge: Option<u64>,
    ) -> Result<bool, Abort> {
        let done = match badge {
            None => access.update(PEOPLE, key.into(), ROOM, &room.to_le_bytes())?,
            Some(badge) => {
                let values = [room.to_le_bytes(), badge.to_le_bytes()].concat();
                access.update(PEOPLE, key.into(), ROOM.with(BADGE), &values)?
            }
        };
        let refused_by = access.refused_by();
        let Some(after) = person(access, key)? else { return Ok(!done && refused_by.is_none()) };
        if !done {
            return Ok(refused_by == Some(BY_BADGE) && badge.is_some_and(|b| b != after.badge));
        }
        let there = found(access, BY_ROOM, self.entries(BY_ROOM, room), Direction::Forward)?;
        Ok(after.room == room
            && badge.is_none_or(|badge| badge == after.badge)
            && there.contains(&(key, after))
            && self.are_there(access, (BY_BADGE, after.badge), &[(key, after)])?)
    }

    fn pay<A: Access + ?Sized>(
        &self,
        access: &mut A,
        room: u64,
        (from, to): (u64, u64),
        direction: Direction,
    ) -> Result<bool, Abort> {
        let mut people = found(access, BY_ROOM, self.entries(BY_ROOM, room), direction)?;
        if direction == Direction::Backward {
            people.reverse();
        }
        if !people.is_sorted_by(|a, b| a.0 < b.0) || people.iter().any(|(_, p)| p.room != room) {
            return Ok(false);
        }
        let count = people.len() as u64;
        if count < 2 || from % count == to % count {
            return Ok(true);
        }
        let [from, to] = [from, to].map(|at| (at % count) as usize);
        if people[from].1.coins == 0 {
            return Ok(true);
        }
        people[from].1.coins -= 1;
        people[to].1.coins += 1;
        for at in [from, to] {
            let (key, person) = people[at];
            if !access.update(PEOPLE, key.into(), COINS, &person.coins.to_le_bytes())? {
                return Ok(false);
            }
        }
        self.are_there(access, (BY_ROOM, room), &people)
    }

    fn badge<A: Access + ?Sized>(
        &self,
        access: &mut A,
        key: u64,
        badge: u64,
    ) -> Result<bool, Abort> {
        let there = person(access, key)?;
        let done = access.update(PEOPLE, key.into(), BADGE, &badge.to_le_bytes())?;
        let refused_by = access.refused_by();
        let has = found(access, BY_BADGE, self.entries(BY_BADGE, badge), Direction::Forward)?;
        Ok(match there {
            None => !done && refused_by.is_none(),
            Some(before) if done => has == [(key, Person { badge, ..before })],
            Some(before) => {
                let others =
                    |(other, holder): &(u64, Person)| *other != key && holder.badge == badge;
                let refused = refused_by == Some(BY_BADGE) && has.len() == 1;
                refused && has.iter().all(others) && person(access, key)? == Some(before)
            }
        })
    }

    fn replace<A: Access + ?Sized>(
        &self,
        access: &mut A,
        key: u64,
        by: u64,
    ) -> Result<bool, Abort> {
        let Some(gone) = person(access, key)? else {
            return Ok(!access.delete(PEOPLE, key.into())?);
        };
        if person(access, by)?.is_some() {
            // The new row has an unused badge. So only its own key, which is already present, refuses the
            // insert.
            let row = Person { badge: self.options.badges_made(), ..gone }.row();
            return Ok(!access.insert(PEOPLE, by.into(), &row)? && access.refused_by().is_none());
        }
        // Two people can't have the same badge, so the second insert must fail until the first person is
        // deleted.
        let too_early = access.insert(PEOPLE, by.into(), &gone.row())?;
        let right = !too_early
            && access.refused_by() == Some(BY_BADGE)
            && access.delete(PEOPLE, key.into())?
            && access.insert(PEOPLE, by.into(), &gone.row())?;
        Ok(right && self.are_there(access, (BY_BADGE, gone.badge), &[(by, gone)])?)
    }

    /// Returns whether all people are found in a room, in either direction, with all coins.
    fn census<A: Access + ?Sized>(&self, access: &mut A) -> Result<bool, Abort> {
        let forward = found(access, BY_ROOM, KeyRange::ALL, Direction::Forward)?;
        let mut backward = found(access, BY_ROOM, KeyRange::ALL, Direction::Backward)?;
        backward.reverse();
        let mut badges = found(access, BY_BADGE, KeyRange::ALL, Direction::Forward)?;
        let sorted = badges.is_sorted_by(|a, b| a.1.badge < b.1.badge);
        badges.sort_unstable_by_key(|(key, person)| (person.room, *key));
        let coins = forward.iter().map(|(_, person)| person.coins).sum::<u64>();
        Ok(sorted
            && forward == backward
            && forward == badges
            && forward.is_sorted_by(|a, b| (a.1.room, a.0) < (b.1.room, b.0))
            && forward.len() as u64 == self.options.people
            && coins == self.options.people * COINS_LOADED)
    }

    /// Records a broken law in this worker's row of the ledger.
    fn note<A: Access + ?Sized>(&self, access: &mut A) -> Result<(), Abort> {
        // A report concerns the census before it.
        LEDGER.count(access, self.worker, self.kind().min(4))
    }
}

impl Client for RoomsClient {
    /// Draws the next procedure. Call it only after the previous procedure has committed or was given up, as
    /// a worker does.
    fn next(&mut self) {
        if std::mem::take(&mut self.saw_broken_census) {
            self.drawn = Drawn::Report;
            return;
        }
        let options = &self.options;
        let (keys, rooms, badges) = (options.keys(), options.rooms, options.badges_made());
        let paid = options.payments;
        let badged = paid + options.badges;
        let replaced = badged + options.replacements;
        let counted = replaced + options.censuses;
        let (dice, stream) = (self.stream.unit(), &mut self.stream);
        self.drawn = if dice < paid {
            let (room, from, to) = (stream.below(rooms), stream.bits(), stream.bits());
            let forward = stream.below(2) == 0;
            let direction = if forward { Direction::Forward } else { Direction::Backward };
            Drawn::Pay { room, from, to, direction }
        } else if dice < badged {
            Drawn::Badge { person: stream.below(keys), badge: stream.below(badges) }
        } else if dice < replaced {
            Drawn::Replace { person: stream.below(keys), by: stream.below(keys) }
        } else if dice < counted {
            Drawn::Census
        } else {
            let badge = (stream.below(4) == 0).then(|| stream.below(badges));
            let (person, room) = (stream.below(keys), stream.below(rooms));
            Drawn::Go { person, room, badge, blindly: stream.below(2) == 0 }
        };
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        let right = match self.drawn {
            Drawn::Go { person, room, badge, blindly: true } => {
                self.go_blindly(access, person, room, badge)?
            }
            Drawn::Go { person, room, badge, .. } => self.go(access, person, room, badge)?,
            Drawn::Pay { room, from, to, direction } => {
                self.pay(access, room, (from, to), direction)?
            }
            Drawn::Badge { person, badge } => self.badge(access, person, badge)?,
            Drawn::Replace { person, by } => self.replace(access, person, by)?,
            Drawn::Census => {
                self.saw_broken_census = false;
                self.saw_broken_census = !self.census(access)?;
                true
            }
            Drawn::Report => false,
        };
        if right { Ok(()) } else { self.note(access) }
    }

    /// Plans the people whose keys are drawn. Entries of indexes are not known.
    fn plan(&self, out: &mut Vec<Planned>) {
        match self.drawn {
            Drawn::Go { person, .. } | Drawn::Badge { person, .. } => {
                out.push(Planned::whole(PEOPLE, person));
            }
            Drawn::Replace { person, by } => {
                out.extend([Planned::whole(PEOPLE, person), Planned::whole(PEOPLE, by)]);
            }
            Drawn::Report => out.push(LEDGER.plan(self.worker)),
            Drawn::Pay { .. } | Drawn::Census => {}
        }
    }

    fn read_only(&self) -> bool {
        self.drawn == Drawn::Census
    }

    fn kind(&self) -> usize {
        match self.drawn {
            Drawn::Go { .. } => 0,
            Drawn::Pay { .. } => 1,
            Drawn::Badge { .. } => 2,
            Drawn::Replace { .. } => 3,
            Drawn::Census => 4,
            Drawn::Report => 5,
        }
    }
}
