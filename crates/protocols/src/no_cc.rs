//! NO_CC: no concurrency control at all.
//!
//! Source: none. NO_CC is the null member of the family, as noop is BenchBase's.
//!
//! NO_CC reads the current rows, installs its writes, and never waits, validates or aborts. So its throughput is an
//! upper bound on what any protocol can reach on a workload, and it measures the harness. Its histories are not
//! serializable as soon as two workers conflict, which proves that the checker can fail.
//!
//! An architecture that isolates transactions itself, such as partitioned serial execution, needs nothing else. Writes are
//! buffered until commit, so a rollback leaves no trace there.

use crate::{
    Change, CommitLog, Declaration, Images, Isolation, Prepared, Protocol, ProtocolOptions, Txn,
    mechanisms::write_set::WriteSet,
};
use machine::{Arena, Machine, OutOfMemory, cold::Arc};
use storage::{Epochs, GuardRef, RecordRef, RowHead};
use txn::{Abort, ColumnSet, Intent};

/// The NO_CC protocol.
pub struct NoCc;

impl<M: Machine> Protocol<M> for NoCc {
    const ISOLATES: bool = false;
    type Words = ();
    type Worker<'s>
        = WriteSet<'s, M, ()>
    where
        M: 's;

    fn declare(_: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "NO_CC",
            summary: "no concurrency control: measures the harness, and proves that the checker can fail",
            source: "BenchBase's noop, as a protocol",
            isolation: Isolation::None,
            strict: false,
            one_site: None,
        }
    }

    fn levels() -> &'static [Isolation] {
        &[Isolation::None]
    }

    fn create(_: &Arc<Arena>, _: &ProtocolOptions, _: usize) -> Result<Self, OutOfMemory> {
        Ok(NoCc)
    }

    fn worker<'s>(&'s self, _: &'s Epochs<M>, _: usize) -> WriteSet<'s, M, ()> {
        WriteSet::default()
    }

    #[inline]
    fn begin<'s>(&'s self, _: &M::Core, _: &mut WriteSet<'s, M, ()>, _: Txn<'_>) {}

    // Two architectures call this, and a hint alone is then not followed.
    #[inline(always)]
    fn read<'s>(
        &'s self,
        core: &M::Core,
        writes: &mut WriteSet<'s, M, ()>,
        record: RecordRef<'s, M, ()>,
        columns: ColumnSet,
        _: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let head = record.copy_out(core, columns, out);
        Ok(match writes.find(&record) {
            None => head,
            Some(at) => writes.overlay(at, columns, out, head),
        })
    }

    #[inline]
    fn write<'s>(
        &'s self,
        core: &M::Core,
        writes: &mut WriteSet<'s, M, ()>,
        record: RecordRef<'s, M, ()>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        let at = writes.find(&record);
        let state = writes.state_over(at, record.head(core).state);
        if change.state.is_none() && !state.is_present() {
            return Ok(false);
        }
        writes.put(core, record, at, change);
        Ok(true)
    }

    #[inline]
    fn scan<'s>(
        &'s self,
        _: &M::Core,
        _: &mut WriteSet<'s, M, ()>,
        _: GuardRef<'s, M, ()>,
    ) -> Result<(), Abort> {
        Ok(())
    }

    #[inline]
    fn prepare<'s>(&'s self, _: &M::Core, _: &mut WriteSet<'s, M, ()>) -> Result<Prepared, Abort> {
        Ok(Prepared::ANY)
    }

    fn images<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut WriteSet<'s, M, ()>,
        log: &mut Images<'_, 's, M>,
    ) {
        worker.tell_images(core, log);
    }

    #[inline]
    fn commit<'s>(
        &'s self,
        core: &M::Core,
        writes: &mut WriteSet<'s, M, ()>,
        _: u64,
        log: &mut CommitLog<'_>,
    ) {
        writes.install_all(core, log);
        writes.clear();
    }

    #[inline]
    fn abort<'s>(&'s self, _: &M::Core, writes: &mut WriteSet<'s, M, ()>) {
        writes.clear();
    }
}
