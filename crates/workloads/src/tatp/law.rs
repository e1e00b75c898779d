//! Checks the law that the register must keep after any serializable run: the ledger explains every change.

use super::{
    FACILITIES, FORWARDED, FORWARDING_BYTES, FORWARDINGS, HOURS, LEDGER, LEDGER_ROWS, LOCATION,
    MOVED, SUBSCRIBERS, TIMES, TYPES, keys, population,
};
use crate::cell::cell;
use std::ops::ControlFlow;
use txn::{Abort, Access, ColumnSet, Direction, Intent, KeyRange};

/// Reads everything that can change and returns a description of the broken law, if any.
pub(super) fn check(
    subscribers: u64,
    access: &mut dyn Access,
) -> Result<Result<(), String>, Abort> {
    let (mut forwardings, mut locations) = (0, 0i64);
    for row in 0..LEDGER_ROWS {
        forwardings += cell(access, LEDGER, row, FORWARDED, Intent::Read)?;
        locations = locations.wrapping_add(cell(access, LEDGER, row, MOVED, Intent::Read)?);
    }
    for subscriber in 0..subscribers {
        let found = cell(access, SUBSCRIBERS, subscriber, LOCATION, Intent::Read)?;
        let loaded = population::location(subscriber) as i64;
        locations = locations.wrapping_sub(found.wrapping_sub(loaded));
        for facility in keys(subscriber, TYPES, population::facility_types(subscriber)) {
            forwardings += i64::from(population::forwarded(facility).count_ones());
        }
    }
    if locations != 0 {
        return Ok(Err(format!("the locations' changes differ from the ledger by {locations}")));
    }
    let mut facilities = Vec::new();
    access.scan(
        FACILITIES,
        KeyRange::ALL.into(),
        Direction::Forward,
        ColumnSet::NONE,
        &mut |key, _| {
            facilities.push(key.number());
            ControlFlow::Continue(())
        },
    )?;
    let (mut found, mut wrong) = (0, None);
    let columns = ColumnSet::first(2);
    access.scan(
        FORWARDINGS,
        KeyRange::ALL.into(),
        Direction::Forward,
        columns,
        &mut |key, row| {
            let key = key.number();
            found += 1;
            let hours = u64::from(row[0]).wrapping_sub(key % TIMES * HOURS);
            let whole = row.len() == FORWARDING_BYTES && row[1..].iter().all(u8::is_ascii_digit);
            let owned = facilities.binary_search(&(key / TIMES)).is_ok();
            if !(1..=HOURS).contains(&hours) || !whole || !owned {
                wrong = wrong.or(Some(key));
            }
            ControlFlow::Continue(())
        },
    )?;
    if let Some(key) = wrong {
        return Ok(Err(format!("forwarding {key} has no facility, or is not as one is written")));
    }
    if found != forwardings {
        return Ok(Err(format!("there are {found} forwardings, the ledger says {forwardings}")));
    }
    Ok(Ok(()))
}
