//! Tests accesses to tables that have columns of fixed and of variable length, in native sessions. There, an access to
//! columns of fixed length takes a shorter way than others.

use kilocore_engine::{EngineOptions, Session, Start, registry};
use machine::{ArenaOptions, Machine, Native, NativeOptions, cold::Arc};
use protocols::{ProtocolOptions, registry::declarations};
use std::{
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
};
use txn::{
    Column, ColumnSet, ColumnType, Direction, Intent, Key, KeyRange, RowLayout, TableId,
    TableSchema, held_value, push_variable,
};

const TABLE: TableId = TableId(0);
const NUMBER: ColumnSet = ColumnSet::one(0);
const TEXT: ColumnSet = ColumnSet::one(1);
const SHORT: ColumnSet = ColumnSet::one(2);
const ALL: ColumnSet = ColumnSet::first(3);

fn schema() -> TableSchema {
    let columns = vec![
        Column::new("number", ColumnType::U64),
        Column::new("text", ColumnType::TextUpTo(200)),
        Column::new("short", ColumnType::TextUpTo(9)),
    ];
    TableSchema::new("mixed", columns)
}

fn row(number: u64, text: &str, short: &str) -> Vec<u8> {
    let mut row = number.to_le_bytes().to_vec();
    push_variable(&mut row, Some(text.as_bytes()));
    push_variable(&mut row, Some(short.as_bytes()));
    row
}

fn begin(session: &mut dyn Session) {
    session.begin(Start::default());
}

fn number(session: &mut dyn Session) -> u64 {
    let mut bytes = [0; 8];
    assert!(session.read_for_update(TABLE, 1.into(), NUMBER, &mut bytes).unwrap());
    u64::from_le_bytes(bytes)
}

fn whole(session: &mut dyn Session) -> Vec<u8> {
    let mut found = Vec::new();
    assert!(session.fetch(TABLE, 1.into(), ALL, Intent::Read, &mut found).unwrap());
    found
}

/// Calls `test` with a session of each protocol and a table that has one row.
fn with_each_protocol(commit_updates: bool, test: impl Fn(&mut dyn Session)) {
    with_table_of_each_protocol(commit_updates, &schema(), |session| {
        begin(session);
        assert!(session.insert(TABLE, 1.into(), &row(7, "long text", "short")).unwrap());
        session.commit().unwrap();
        test(session);
    });
}

/// Calls `test` with a session of each protocol and an empty table.
fn with_table_of_each_protocol(
    commit_updates: bool,
    schema: &TableSchema,
    test: impl Fn(&mut dyn Session),
) {
    let protocol = ProtocolOptions { commit_updates, ..ProtocolOptions::default() };
    for declared in declarations::<Native>(&protocol) {
        let arena = ArenaOptions { reserve_bytes: 1 << 28, ..ArenaOptions::default() };
        let options = NativeOptions { arena, pin: false, ..NativeOptions::default() };
        let machine = Arc::new(Native::new(options).expect("address space"));
        let options = EngineOptions {
            protocol: protocol.clone(),
            purge_batch: 4,
            epoch_interval_ticks: machine.clock_hz(),
            ..EngineOptions::for_sessions(1)
        };
        let engine = registry::native(registry::DEFAULT, declared.name, &machine, &options)
            .expect("room for an engine");
        engine.create_table(TABLE, std::slice::from_ref(schema), 10).expect("room for a table");
        let core = machine.core(0);
        let mut session = engine.session(&core, 0);
        test(&mut *session);
        drop(session);
        engine.audit_values(&core).expect("each value is in one place");
    }
}

#[test]
fn columns_of_both_kinds_change_in_one_transaction() {
    for commit_updates in [false, true] {
        with_each_protocol(commit_updates, |session| {
            let mut expected = row(7, "long text", "short");
            for round in 0..30u64 {
                begin(session);
                assert_eq!(whole(session), expected);
                let before = number(session);
                let doubled = before * 2 % 1000;
                session.update(TABLE, 1.into(), NUMBER, &doubled.to_le_bytes()).unwrap();
                let text = "t".repeat(round as usize * 7 % 200);
                let mut packed = Vec::new();
                push_variable(&mut packed, Some(text.as_bytes()));
                session.update(TABLE, 1.into(), TEXT, &packed).unwrap();
                assert_eq!(whole(session), row(doubled, &text, "short"));
                session.add(TABLE, 1.into(), NUMBER, &3u64.to_le_bytes()).unwrap();
                if round % 3 == 2 {
                    session.rollback();
                    continue;
                }
                session.commit().unwrap();
                session.maintain();
                expected = row(doubled + 3, &text, "short");
            }
        });
    }
}

#[test]
fn a_number_changes_and_its_row_goes() {
    with_each_protocol(false, |session| {
        begin(session);
        let next = number(session) + 1;
        session.update(TABLE, 1.into(), NUMBER, &next.to_le_bytes()).unwrap();
        assert!(session.delete(TABLE, 1.into()).unwrap());
        assert!(session.insert(TABLE, 1.into(), &row(1, "another", "")).unwrap());
        assert_eq!(number(session), 1);
        session.update(TABLE, 1.into(), NUMBER, &2u64.to_le_bytes()).unwrap();
        session.commit().unwrap();
        begin(session);
        assert_eq!(whole(session), row(2, "another", ""));
        assert!(session.delete(TABLE, 1.into()).unwrap());
        session.commit().unwrap();
    });
}

#[test]
fn a_short_text_is_read_in_held_form() {
    with_each_protocol(false, |session| {
        let columns = NUMBER.with(SHORT);
        let held = RowLayout::of(&schema()).held_bytes(columns);
        for (number, text) in [(8u64, "another"), (9, ""), (10, "ninechars")] {
            begin(session);
            let mut packed = number.to_le_bytes().to_vec();
            push_variable(&mut packed, Some(text.as_bytes()));
            assert!(session.update(TABLE, 1.into(), columns, &packed).unwrap());
            // The transaction sees its own write, and the next one sees it installed.
            for own in [true, false] {
                let mut read = vec![0xFF; held];
                assert!(session.read(TABLE, 1.into(), columns, &mut read).unwrap());
                let (front, short) = read.split_at(8);
                assert_eq!((front, held_value(short)), (&packed[..8], Some(text.as_bytes())));
                session.commit().unwrap();
                if own {
                    begin(session);
                }
            }
        }
    });
}

/// Returns the rows of a table in key order, or in the opposite one, as a scan finds them.
fn scanned(
    session: &mut dyn Session,
    columns: ColumnSet,
    direction: Direction,
) -> Vec<(u64, Vec<u8>)> {
    let mut rows = Vec::new();
    let range = KeyRange::new(0, 1000).unwrap();
    let visit = &mut |key: Key<'_>, row: &[u8]| {
        rows.push((key.number(), row.to_vec()));
        ControlFlow::Continue(())
    };
    session.scan(TABLE, range.into(), direction, columns, visit).unwrap();
    rows
}

#[test]
fn a_scan_finds_texts_as_single_reads_do() {
    let columns = vec![
        Column::new("number", ColumnType::U64),
        Column::new("short", ColumnType::TextUpTo(9)),
        Column::new("nick", ColumnType::TextUpTo(60)).nullable(),
    ];
    let schema = TableSchema::new("in order", columns).ordered();
    with_table_of_each_protocol(false, &schema, |session| {
        let row = |key: u64| {
            let mut row = key.to_le_bytes().to_vec();
            push_variable(&mut row, Some(&b"123456789"[..key as usize % 10]));
            push_variable(
                &mut row,
                (!key.is_multiple_of(3)).then_some(&[b'n'; 60][..key as usize]),
            );
            row
        };
        begin(session);
        for key in 0..50 {
            assert!(session.insert(TABLE, key.into(), &row(key)).unwrap());
        }
        session.commit().unwrap();
        begin(session);
        assert!(session.delete(TABLE, 7.into()).unwrap());
        assert!(session.update(TABLE, 8.into(), ALL, &row(9)).unwrap());
        // The transaction sees its own writes, and the next one sees them installed.
        for own in [true, false] {
            for set in 1..8 {
                let columns = ColumnSet(set);
                let mut expected = Vec::new();
                for key in 0..50u64 {
                    let mut row = Vec::new();
                    if session.fetch(TABLE, key.into(), columns, Intent::Read, &mut row).unwrap() {
                        expected.push((key, row));
                    }
                }
                assert_eq!(expected.len(), 49);
                assert_eq!(scanned(session, columns, Direction::Forward), expected);
                expected.reverse();
                assert_eq!(scanned(session, columns, Direction::Backward), expected);
            }
            assert_eq!(scanned(session, ALL, Direction::Forward)[7], (8, row(9)));
            session.commit().unwrap();
            if own {
                begin(session);
            }
        }
    });
}

#[test]
fn a_read_of_a_value_outside_the_record_into_a_buffer_panics() {
    with_each_protocol(false, |session| {
        begin(session);
        for columns in [TEXT, ALL, NUMBER.with(TEXT)] {
            let held = RowLayout::of(&schema()).held_bytes(columns);
            let read = || session.read(TABLE, 1.into(), columns, &mut vec![0; held]);
            let panic = catch_unwind(AssertUnwindSafe(read)).unwrap_err();
            let told = panic.downcast_ref::<String>().unwrap();
            let expected =
                "table \"mixed\": a column whose values lie outside the record is fetched";
            assert_eq!(told, expected);
        }
        session.rollback();
    });
}
