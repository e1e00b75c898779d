//! Checks the laws that people and rooms must keep after any serializable run.

use super::{ALL, BY_BADGE, BY_ROOM, COINS_LOADED, LEDGER, PEOPLE, Person, RoomsOptions};
use std::ops::ControlFlow;
use txn::{Abort, Access, Direction, ENTRY, KeyRange, SecondaryIndex, TableId};

/// Returns the people whose entries in `index` are in `range`, in the requested order.
pub(super) fn found<A: Access + ?Sized>(
    access: &mut A,
    index: TableId,
    range: KeyRange,
    direction: Direction,
) -> Result<Vec<(u64, Person)>, Abort> {
    let mut people = Vec::new();
    access.scan_index(index, range.into(), direction, ALL, &mut |key, row| {
        people.push((key.number(), Person::of(row)));
        ControlFlow::Continue(())
    })?;
    Ok(people)
}

/// Returns the person `key`, or `None` if absent.
pub(super) fn person<A: Access + ?Sized>(
    access: &mut A,
    key: u64,
) -> Result<Option<Person>, Abort> {
    let mut row = [0; 24];
    Ok(access.read(PEOPLE, key.into(), ALL, &mut row)?.then(|| Person::of(&row)))
}

/// Reads all tables. Returns a description of the broken law, if any.
pub(super) fn check(
    options: &RoomsOptions,
    [by_room, by_badge]: &[SecondaryIndex; 2],
    access: &mut dyn Access,
) -> Result<Result<(), String>, Abort> {
    if let Err(broken) = LEDGER.check(access)? {
        return Ok(Err(broken));
    }
    let mut people = Vec::new();
    for key in 0..options.keys() {
        people.extend(person(access, key)?.map(|person| (key, person)));
    }
    let coins: u64 = people.iter().map(|(_, person)| person.coins).sum();
    let loaded = options.people * COINS_LOADED;
    if people.len() as u64 != options.people || coins != loaded {
        return Ok(Err(format!(
            "there are {} people with {coins} coins, loaded were {} with {loaded}",
            people.len(),
            options.people
        )));
    }
    for (table, name, index) in [(BY_ROOM, "by_room", by_room), (BY_BADGE, "by_badge", by_badge)] {
        let mut entries = Vec::new();
        access.scan(
            table,
            KeyRange::ALL.into(),
            Direction::Forward,
            ENTRY,
            &mut |entry, key| {
                let key = key.try_into().expect("an entry is a key");
                entries.push((entry.number(), u64::from_le_bytes(key)));
                ControlFlow::Continue(())
            },
        )?;
        let entry_of = |(key, person): &(u64, Person)| {
            let words = [person.room, person.badge].map(u64::to_le_bytes);
            let entry = index.entry_of(*key, |column| Some(&words[column]));
            (entry.expect("rooms and badges have few bits"), *key)
        };
        let mut expected: Vec<_> = people.iter().map(entry_of).collect();
        expected.sort_unstable();
        if entries != expected {
            return Ok(Err(format!(
                "the entries of {name} are {entries:?}, those of the table's rows {expected:?}"
            )));
        }
    }
    Ok(Ok(()))
}
