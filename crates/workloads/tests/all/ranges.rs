//! Tests that the laws of the ranges hold on a correct store and break on a wrong store.

use crate::store::{Event, Mistake, Store};
use kilocore_workloads::micro::ranges::{KIND_NAMES, Ranges, RangesOptions};
use txn::{Client, Workload};

/// Runs `transactions` of two clients in turn, aborting every fifth attempt at some access. Returns the
/// verdict of the law.
fn verdict(options: RangesOptions, mistake: Mistake, transactions: u64) -> Result<(), String> {
    let workload = Ranges::new(options).unwrap();
    let mut store = Store::loaded(&workload, mistake);
    let mut clients = [workload.client(0, 2, 9), workload.client(1, 2, 9)];
    for i in 0..transactions {
        let client = &mut clients[(i % 2) as usize];
        client.next();
        if i % 5 == 0 {
            store.abort_after = Some(i / 5 % 7);
        }
        store.commit(client);
    }
    store.abort_after = None;
    workload.conservation().unwrap()(&mut store, transactions).unwrap()
}

#[test]
fn the_laws_hold_on_a_right_store_and_break_on_a_wrong_one() {
    for options in [RangesOptions::mixed(), RangesOptions::default()] {
        assert_eq!(verdict(options, Mistake::None, 5000), Ok(()));
    }
    for mistake in [Mistake::LostUpdate, Mistake::LostDelete, Mistake::NoUndo, Mistake::ShortScan] {
        let said = verdict(RangesOptions::mixed(), mistake, 5000);
        assert!(said.is_err(), "{mistake:?}");
    }
}

#[test]
fn every_kind_is_drawn_and_a_retry_repeats_it() {
    let workload = Ranges::new(RangesOptions::mixed()).unwrap();
    let mut store = Store::loaded(&workload, Mistake::None);
    store.record_events = true;
    let mut client = workload.client(0, 1, 3);
    let mut kinds = [0u32; 5];
    for _ in 0..4000 {
        client.next();
        kinds[client.kind()] += 1;
        store.events.clear();
        store.abort_after = Some(1);
        let aborted = store.attempt(&mut client).is_err();
        store.abort_after = None;
        let first = store.events.clone();
        store.events.clear();
        assert!(matches!(first[0], Event::Scan(..)), "{}", KIND_NAMES[client.kind()]);
        if aborted {
            store.commit(&mut client);
            assert_eq!(first[..], store.events[..first.len()]);
        }
    }
    assert!(kinds[..4].iter().all(|n| *n > 900) && kinds[4] == 0, "{kinds:?}");
}
