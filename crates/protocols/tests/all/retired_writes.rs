//! Tests of writes that others see before they are committed: who sees them, and what happens to the readers when a
//! write is taken back.

use crate::rig::Rig;
use kilocore_protocols::{Change, ProtocolOptions, bamboo::Bamboo};
use machine::Native;
use storage::RowState;
use txn::{AbortReason, ColumnSet};

fn rig() -> Rig<Bamboo<Native>> {
    Rig::new(&ProtocolOptions { retire_percent: 100, ..ProtocolOptions::default() })
}

#[test]
fn writes_are_seen_in_turn_before_they_are_committed() {
    rig().play(|[mut first, mut second, mut reader, _]| {
        first.write(0, 1);
        assert_eq!(second.read(0), Ok(Some(1)));
        second.write(0, 2);
        assert_eq!(reader.read(0), Ok(Some(2)));
        assert_eq!(first.read(0), Ok(Some(1)));
        assert_eq!(first.commit(), Ok(()));
        assert_eq!(reader.read(0), Ok(Some(2)));
        assert_eq!(second.commit(), Ok(()));
        assert_eq!(reader.commit(), Ok(()));
    });
}

#[test]
fn an_abort_reaches_all_that_have_seen_a_write() {
    rig().play(|[mut first, mut second, mut reader, mut other]| {
        first.write(0, 1);
        second.write(0, 2);
        second.write(1, 2);
        assert_eq!(reader.read(1), Ok(Some(2)));
        assert_eq!(other.read(2), Ok(Some(102)));
        first.abort();
        assert_eq!(second.commit(), Err(AbortReason::Wounded));
        assert_eq!(reader.commit(), Err(AbortReason::Wounded));
        assert_eq!(other.read(0), Ok(Some(100)));
        assert_eq!(other.read(1), Ok(Some(101)));
        assert_eq!(other.commit(), Ok(()));
    });
}

#[test]
fn an_older_read_stands_before_a_younger_write() {
    rig().play(|[mut old, mut middle, mut young, _]| {
        // The first conflict makes `old` older than `middle`, and both older than any transaction that comes later.
        old.write(2, 1);
        assert_eq!(middle.read(2), Ok(Some(1)));
        young.write(0, 3);
        assert_eq!(old.read(0), Ok(Some(100)));
        assert_eq!(young.read(0), Ok(Some(3)));
        // An older write is not placed before a younger write that has been seen already: it wounds the younger
        // writer.
        middle.write(0, 2);
        assert_eq!(old.read(0), Ok(Some(100)));
        assert_eq!(young.commit(), Err(AbortReason::Wounded));
        assert_eq!(old.commit(), Ok(()));
        assert_eq!(middle.commit(), Ok(()));
        young.begin(1);
        assert_eq!(young.read(0), Ok(Some(2)));
        assert_eq!(young.commit(), Ok(()));
    });
}

#[test]
fn a_row_written_again_is_taken_back() {
    rig().play(|[mut writer, mut reader, mut later, _]| {
        writer.write(0, 1);
        assert_eq!(reader.read(0), Ok(Some(1)));
        writer.write(0, 2);
        assert_eq!(reader.commit(), Err(AbortReason::Wounded));
        assert_eq!(later.read(0), Ok(Some(2)));
        assert_eq!(writer.commit(), Ok(()));
        assert_eq!(later.commit(), Ok(()));
    });
}

#[test]
fn what_is_deleted_is_gone_for_those_who_come_later() {
    rig().play(|[mut writer, mut reader, mut inserter, mut last]| {
        let gone = Some(RowState::ABSENT);
        writer.change(0, Change { columns: ColumnSet::NONE, values: &[], state: gone });
        assert_eq!(reader.read(0), Ok(None));
        let state = Some(RowState::PRESENT);
        let values = 7u64.to_le_bytes();
        inserter.change(0, Change { columns: ColumnSet::one(0), values: &values, state });
        assert_eq!(last.read(0), Ok(Some(7)));
        assert_eq!(reader.read(0), Ok(None));
        for session in [&mut writer, &mut reader, &mut inserter, &mut last] {
            assert_eq!(session.commit(), Ok(()));
        }
    });
}
