//! Tests that the law of the long readers holds on a correct store and breaks on a wrong store.

use crate::store::{Event, Mistake, Store};
use kilocore_workloads::micro::long_reader::{KIND_NAMES, LongReader, LongReaderOptions};
use txn::{Client, Workload};

fn small() -> LongReaderOptions {
    LongReaderOptions { records: 43, sections: 4, filler_bytes: 5, ..LongReaderOptions::default() }
}

/// Runs two clients in turn, aborting every fifth attempt at some access. Returns the verdict of the law.
fn verdict(mistake: Mistake) -> Result<(), String> {
    let workload = LongReader::new(small()).unwrap();
    let mut store = Store::loaded(&workload, mistake);
    let mut clients = [workload.client(0, 2, 9), workload.client(1, 2, 9)];
    for i in 0..4000 {
        let client = &mut clients[i % 2];
        client.next();
        if i % 5 == 0 {
            store.abort_after = Some(i as u64 / 5 % 4);
        }
        store.commit(client);
    }
    store.abort_after = None;
    workload.conservation().unwrap()(&mut store, 4000).unwrap()
}

#[test]
fn the_law_holds_on_a_right_store_and_breaks_on_a_wrong_one() {
    assert_eq!(verdict(Mistake::None), Ok(()));
    for mistake in [Mistake::LostUpdate, Mistake::NoUndo, Mistake::ShortScan] {
        // A scan has seen the wrong sum too, and its client reported it.
        assert!(verdict(mistake).unwrap_err().contains("saw a wrong sum"), "{mistake:?}");
    }
}

#[test]
fn readers_scan_a_section_and_updates_stay_in_one() {
    let counts = |options: LongReaderOptions, worker| {
        let workload = LongReader::new(options).unwrap();
        let mut store = Store::loaded(&workload, Mistake::None);
        store.record_events = true;
        let mut client = workload.client(worker, 3, 4);
        let mut kinds = [0; 3];
        for _ in 0..1000 {
            client.next();
            store.visited = 0;
            store.commit(&mut client);
            let events = std::mem::take(&mut store.events);
            assert_eq!(client.read_only(), KIND_NAMES[client.kind()] == "scan");
            match events[0] {
                Event::Scan(_, range, _) => {
                    assert!((store.visited, events.len()) == (10, 1) && range.first() % 10 == 0);
                }
                Event::Read(_, from, ..) => {
                    let Event::Read(_, to, ..) = events[2] else { panic!("{events:?}") };
                    assert!(from != to && from / 10 == to / 10 && from < 40 && events.len() == 4);
                }
                _ => panic!("{events:?}"),
            }
            kinds[client.kind()] += 1;
        }
        kinds
    };
    assert_eq!([counts(small(), 0), counts(small(), 1)], [[1000, 0, 0], [0, 1000, 0]]);
    let unbound = LongReaderOptions { long_readers: 0, long_share: 0.2, ..small() };
    let [scans, updates, reports] = counts(unbound, 0);
    assert!((150..250).contains(&scans) && scans + updates == 1000 && reports == 0, "{scans}");
}
