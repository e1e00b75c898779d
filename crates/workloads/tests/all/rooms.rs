//! Tests that the laws of the rooms hold on a correct store and break on a wrong store.

use crate::store::{Event, Mistake, Store};
use kilocore_workloads::micro::rooms::{Rooms, RoomsOptions};
use txn::{Client, Workload};

/// Runs `transactions` of two clients in turn, aborting every fifth attempt at some access. Returns the
/// verdict of the law.
fn verdict(options: RoomsOptions, mistake: Mistake, transactions: u64) -> Result<(), String> {
    let workload = Rooms::new(options).unwrap();
    let mut store = Store::loaded(&workload, mistake);
    let mut clients = [workload.client(0, 2, 9), workload.client(1, 2, 9)];
    for i in 0..transactions {
        let client = &mut clients[(i % 2) as usize];
        client.next();
        if i % 5 == 0 {
            store.abort_after = Some(i / 5 % 9);
        }
        store.commit(client);
    }
    store.abort_after = None;
    workload.conservation().unwrap()(&mut store, transactions).unwrap()
}

#[test]
fn the_laws_hold_on_a_right_store_and_break_on_a_wrong_one() {
    for options in [RoomsOptions::mixed(), RoomsOptions { people: 300, ..Default::default() }] {
        assert_eq!(verdict(options, Mistake::None, 5000), Ok(()));
    }
    for mistake in [
        Mistake::LostUpdate,
        Mistake::LostDelete,
        Mistake::NoUndo,
        Mistake::StaleEntry,
        Mistake::DoubledEntry,
    ] {
        let said = verdict(RoomsOptions::mixed(), mistake, 5000);
        assert!(said.is_err(), "{mistake:?}");
    }
}

#[test]
fn every_kind_is_drawn_and_a_retry_repeats_it() {
    let workload = Rooms::new(RoomsOptions::mixed()).unwrap();
    let mut store = Store::loaded(&workload, Mistake::None);
    store.record_events = true;
    let mut client = workload.client(0, 1, 3);
    let mut kinds = [0u32; 6];
    for _ in 0..4000 {
        client.next();
        kinds[client.kind()] += 1;
        store.events.clear();
        store.abort_after = Some(2);
        let aborted = store.attempt(&mut client).is_err();
        store.abort_after = None;
        let first: Vec<Event> = std::mem::take(&mut store.events);
        if aborted {
            store.commit(&mut client);
            assert_eq!(first[..], store.events[..first.len()]);
        }
    }
    assert!(kinds[..5].iter().all(|n| *n > 600) && kinds[5] == 0, "{kinds:?}");
}
