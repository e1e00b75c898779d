//! Tests of readers beside writers: what they see, and what happens to them when a writer commits.

use crate::rig::Rig;
use kilocore_protocols::{ProtocolOptions, WriteLocks, plor::Plor};
use machine::Native;
use txn::AbortReason;

fn rig(write_locks: WriteLocks) -> Rig<Plor<Native>> {
    Rig::new(&ProtocolOptions { write_locks, ..ProtocolOptions::default() })
}

const WOUNDED: AbortReason = AbortReason::Wounded;

#[test]
fn a_reader_beside_a_writer_sees_what_is_committed_and_may_commit_first() {
    for write_locks in [WriteLocks::Access, WriteLocks::Commit] {
        rig(write_locks).play(|[mut writer, mut reader, mut later, _]| {
            writer.write(0, 7);
            assert_eq!((reader.read(0), writer.read(0)), (Ok(Some(100)), Ok(Some(7))));
            assert_eq!((reader.commit(), writer.commit()), (Ok(()), Ok(())));
            assert_eq!(later.read(0), Ok(Some(7)));
            assert_eq!(later.commit(), Ok(()));
        });
    }
}

#[test]
fn a_writer_that_commits_wounds_younger_readers_and_does_not_await_them() {
    for write_locks in [WriteLocks::Access, WriteLocks::Commit] {
        rig(write_locks).play(|[mut writer, mut reader, mut at_its_end, _]| {
            assert_eq!((reader.read(0), at_its_end.read(0)), (Ok(Some(100)), Ok(Some(100))));
            writer.write(0, 7);
            assert_eq!(writer.commit(), Ok(()));
            // One reader notices the wound when it reads on, the other when it commits.
            assert_eq!(reader.read(1).map_err(|abort| abort.reason), Err(WOUNDED));
            reader.abort();
            assert_eq!(at_its_end.commit(), Err(WOUNDED));
            reader.begin(1);
            assert_eq!((reader.read(0), reader.commit()), (Ok(Some(7)), Ok(())));
        });
    }
}

#[test]
fn an_older_reader_passes_a_write_lock_which_passes_it_when_it_has_ended() {
    rig(WriteLocks::Access).play(|[mut older, mut younger, ..]| {
        younger.write(0, 7);
        assert_eq!(older.read(0), Ok(Some(100)));
        older.write(1, 8);
        assert_eq!(older.commit(), Ok(()));
        assert_eq!((younger.read(1), younger.commit()), (Ok(Some(8)), Ok(())));
    });
}

#[test]
fn a_read_is_as_good_as_its_upgrade() {
    rig(WriteLocks::Access).play(|[mut first, mut second, mut third, _]| {
        assert_eq!((first.read(0), second.read(0)), (Ok(Some(100)), Ok(Some(100))));
        first.write(0, 101);
        assert_eq!(first.commit(), Ok(()));
        assert_eq!(second.commit(), Err(WOUNDED));
        second.begin(1);
        assert_eq!(second.read(0), Ok(Some(101)));
        second.write(0, 102);
        assert_eq!(second.commit(), Ok(()));
        assert_eq!(third.read(0), Ok(Some(102)));
        assert_eq!(third.commit(), Ok(()));
    });
}
