//! 2V_NO_WAIT: two-version two-phase locking in which a conflict aborts the requester at once.
//!
//! Source: Bernstein, Hadzilacos and Goodman 1987, 5.4 (two-version locking, certify locks); Trireme 3.1; the
//! latch-free word after Sadoghi et al., VLDB 2014, as Trireme 3.2 describes it.
//!
//! - A write lock keeps other writers out, but not readers. Readers go on reading the committed version while the
//!   writer works on a private one.
//! - At commit each write lock becomes a certify lock, which excludes all other transactions. If a reader still
//!   holds its lock, the writer aborts.
//! - All locks are held until the end. So a transaction is serialized when its last write is certified, and the
//!   order is strict.
//!
//! Deviations:
//!
//! - One word holds the count, the write flag and the certify flag, so each step is one atomic instruction. Trireme
//!   has a counter, in which -1 is the certify lock, and a separate flag. Readers add themselves to the count as
//!   under NO_WAIT ([`crate::no_wait`]).
//! - Guards of ranges are certified at once.
//! - The second version is the write set's buffer.
//! - A reader that becomes a writer releases its own read lock, because its write lock covers it.

use crate::{
    Declaration, Isolation, ProtocolOptions, Txn, faults,
    mechanisms::{
        physical::{Atomics, OneOwner, Physical},
        two_phase_locking::{Locks, Mode, TwoPhaseLocking},
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, cold::Arc};
use std::marker::PhantomData;
use storage::RecordRef;
use txn::{Abort, AbortReason};

/// The 2V_NO_WAIT protocol.
pub type TwoVersionNoWait = TwoPhaseLocking<CertifiedLocks>;
/// 2V_NO_WAIT for metadata that one core alone touches.
pub type TwoVersionNoWaitOwned = TwoPhaseLocking<CertifiedLocks<OneOwner>>;

/// Set while a transaction works on the second version.
const WRITER: u64 = 1 << 63;
/// Set beside [`WRITER`] while that transaction installs the second version. There are no readers then, and the bits below mean
/// nothing.
const CERTIFIED: u64 = 1 << 62;

/// Locks of one word per record: `| writer: 1 bit | certified: 1 bit | readers: 62 bits |`.
pub struct CertifiedLocks<W = Atomics>(PhantomData<W>);

/// The mode in which a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Shared with readers and with one writer that is not certified.
    Read,
    /// Shared with readers.
    Write,
    /// Exclusive.
    Certify,
}

fn conflict() -> Abort {
    Abort::because(AbortReason::LockConflict)
}

impl<M: Machine, W: Physical> Locks<M> for CertifiedLocks<W> {
    const OWNED: bool = W::OWNED;
    const ONE_COPY: bool = W::OWNED;
    type Words = Word;
    type Held = Held;
    type Owner = ();

    const CERTIFIES: bool = true;

    fn declare(_: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "2V_NO_WAIT",
            summary: "two-phase locking with two versions: readers beside a writer until it certifies",
            source: "Bernstein et al. 1987; Trireme 3.1, 3.2",
            isolation: Isolation::Serializable,
            strict: true,
            one_site: None,
        }
    }

    fn is_asked_for(options: &ProtocolOptions) -> bool {
        W::fits(options)
    }

    fn create(_: &Arc<Arena>, _: &ProtocolOptions, _: usize) -> Result<Self, OutOfMemory> {
        Ok(CertifiedLocks(PhantomData))
    }

    fn owner(&self, _: usize) {}

    #[inline(always)]
    fn begin(&self, _: &M::Core, _: &mut (), _: Txn<'_>) {}

    #[inline(always)]
    fn acquire(
        &self,
        core: &M::Core,
        _: &mut (),
        record: &RecordRef<'_, M, Word>,
        mode: Mode,
    ) -> Result<Held, Abort> {
        let (line, lock) = (record.line(), record.cc());
        // The word is read first, because an atomic instruction takes the cache line even where the lock is not free.
        let mut seen = core.load(line, lock);
        if mode == Mode::Shared {
            let free = seen & CERTIFIED == 0
                && (W::add(core, line, lock, 1) & CERTIFIED == 0
                    || core.is_planted(faults::TWO_VERSION_TRUSTS_A_LOOK));
            return if free { Ok(Held::Read) } else { Err(conflict()) };
        }
        while seen & WRITER == 0 {
            match W::exchange(core, line, lock, seen, seen | WRITER) {
                Ok(()) => return Ok(Held::Write),
                Err(now) => seen = now,
            }
        }
        Err(conflict())
    }

    fn upgrade(
        &self,
        core: &M::Core,
        _: &mut (),
        record: &RecordRef<'_, M, Word>,
        held: &mut Held,
    ) -> Result<(), Abort> {
        let (line, lock) = (record.line(), record.cc());
        let mut seen = core.load(line, lock);
        // The write lock replaces the read lock. No other transaction can write, so what was read stays valid.
        while seen & WRITER == 0 {
            match W::exchange(core, line, lock, seen, (seen - 1) | WRITER) {
                Ok(()) => {
                    *held = Held::Write;
                    return Ok(());
                }
                Err(now) => seen = now,
            }
        }
        Err(conflict())
    }

    #[inline(always)]
    fn certify(
        &self,
        core: &M::Core,
        _: &mut (),
        record: &RecordRef<'_, M, Word>,
        held: &mut Held,
    ) -> Result<(), Abort> {
        if *held == Held::Certify {
            return Ok(());
        }
        let (line, lock) = (record.line(), record.cc());
        // The word is checked first, for the same reason as above.
        if core.load_relaxed(line, lock) != WRITER {
            return Err(conflict());
        }
        W::exchange(core, line, lock, WRITER, WRITER | CERTIFIED).map_err(|_| conflict())?;
        *held = Held::Certify;
        Ok(())
    }

    #[inline(always)]
    fn release(&self, core: &M::Core, _: &mut (), record: &RecordRef<'_, M, Word>, held: Held) {
        let (line, lock) = (record.line(), record.cc());
        match held {
            // Readers can have added themselves to the word of a certified record. They have aborted.
            Held::Certify => core.store(line, lock, 0),
            // Adding the highest bit once more clears it.
            Held::Write => _ = W::add(core, line, lock, WRITER),
            Held::Read => _ = W::add(core, line, lock, u64::MAX),
        }
    }

    #[inline(always)]
    fn mode(held: &Held) -> Mode {
        match held {
            Held::Read => Mode::Shared,
            Held::Write | Held::Certify => Mode::Exclusive,
        }
    }
}
