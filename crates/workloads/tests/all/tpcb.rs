//! Tests that TPC-B's balances agree with its history on a correct store and disagree on a wrong store.

use crate::store::{Event, Mistake, Store};
use kilocore_workloads::tpcb::{ACCOUNTS, BRANCHES, HISTORY, TELLERS, Tpcb, TpcbOptions};
use txn::{Client, Intent, Workload};

fn small() -> TpcbOptions {
    TpcbOptions { branches: 3, accounts: 5, history: 100, ..TpcbOptions::default() }
}

/// Runs two clients in turn, aborting every fifth attempt at some access. Returns the verdict of the law for
/// a number of commits increased by `more`.
fn verdict(mistake: Mistake, more: i64) -> Result<(), String> {
    let workload = Tpcb::new(small()).unwrap();
    let mut store = Store::loaded(&workload, mistake);
    let mut clients = [workload.client(0, 3, 9), workload.client(2, 3, 9)];
    for i in 0..1000 {
        let client = &mut clients[i % 2];
        client.next();
        if i % 5 == 0 {
            store.abort_after = Some(i as u64 / 5 % 7);
        }
        store.commit(client);
    }
    store.abort_after = None;
    workload.conservation().unwrap()(&mut store, (1000 + more) as u64).unwrap()
}

#[test]
fn balances_agree_with_the_history_on_a_right_store() {
    assert_eq!(verdict(Mistake::None, 0), Ok(()));
}

#[test]
fn lost_updates_break_the_law() {
    let told = verdict(Mistake::LostUpdate, 0).unwrap_err();
    assert!(told.contains("the history adds up to"), "{told}");
}

#[test]
fn rows_too_few_or_too_many_are_noticed() {
    let told = verdict(Mistake::None, 1).unwrap_err();
    assert_eq!(told, "the history has 1000 rows, 1001 updates committed");
    // The second worker's row exceeds the number of commits.
    let told = verdict(Mistake::None, -1).unwrap_err();
    assert_eq!(told, "the history has 1000 rows, 999 updates committed");
}

#[test]
#[should_panic(expected = "before its transaction")]
fn a_row_that_an_abort_left_behind_is_noticed() {
    let _ = verdict(Mistake::NoUndo, 0);
}

#[test]
fn an_update_is_four_accesses_in_the_order_of_tables() {
    let workload = Tpcb::new(small()).unwrap();
    assert!(workload.in_key_order() && Store::keeps_order(&workload, 1000));
    let mut store = Store::loaded(&workload, Mistake::None);
    store.record_events = true;
    let mut client = workload.client(0, 1, 4);
    let mut numbers = [0; 16];
    for _ in 0..100 {
        client.next();
        store.commit(&mut client);
        let mut touched = Vec::new();
        for event in std::mem::take(&mut store.events) {
            match event {
                Event::Read(table, key, _, intent) => {
                    assert_eq!(intent, Intent::Update);
                    touched.push((table, key));
                }
                Event::Update(table, key, ..) => assert_eq!(touched.last(), Some(&(table, key))),
                Event::Insert(table, key) => touched.push((table, key)),
                other => panic!("{other:?}"),
            }
        }
        let (branch, branches) = (client.teller() / 10, workload.options().branches);
        let number = numbers[branch as usize];
        numbers[branch as usize] += 1;
        let rows = [
            (ACCOUNTS, client.account()),
            (HISTORY, number * branches + branch),
            (TELLERS, client.teller()),
            (BRANCHES, branch),
        ];
        assert_eq!(touched, rows);
        // All of these rows are in the partitions that the transaction declares.
        let (mut declared, schema) = (Vec::new(), workload.schema());
        client.partitions(&mut declared);
        for (table, key) in rows {
            let of = schema.tables[usize::from(table.0)].partitioning.of(key);
            assert!(of.is_some_and(|of| declared.contains(&of)), "{table:?} {key}");
        }
    }
}

#[test]
fn accounts_and_amounts_are_drawn_as_specified() {
    let remote_share = |branches, remote| {
        let options = TpcbOptions { branches, remote, ..TpcbOptions::default() };
        let mut client = Tpcb::new(options).unwrap().client(0, 1, 3);
        let (mut away, mut sum, mut most) = (0, 0, 0);
        for _ in 0..40_000 {
            client.next();
            away += u32::from(client.account() / 100_000 != client.teller() / 10);
            assert!(client.teller() < branches * 10 && client.account() < branches * 100_000);
            sum += client.amount();
            most = most.max(client.amount().abs());
        }
        assert!((990_000..1_000_000).contains(&most), "{most}");
        assert!((sum / 40_000).abs() < 15_000, "{sum}");
        f64::from(away) / 40_000.0
    };
    assert!((remote_share(8, 0.15) - 0.15).abs() < 0.01);
    assert_eq!([remote_share(8, 0.0), remote_share(8, 1.0), remote_share(1, 1.0)], [0.0, 1.0, 0.0]);
}
