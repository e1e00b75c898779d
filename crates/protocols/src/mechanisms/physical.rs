//! Physical synchronisation of a protocol's metadata: how a protocol changes a word that other sessions change too.
//!
//! Under most architectures any core can change the word of a record at any time, so changes are atomic
//! ([`Atomics`]). Under delegation all changes of a record's words are made by the core that owns the record (Trireme 3.4).
//! Plain loads and stores then suffice ([`OneOwner`]), because a core does one job at a time.
//!
//! Protocols take the way as a type parameter. Each has a form for one owner, which the engine asks for with
//! [`crate::ProtocolOptions::owned_metadata`].

use crate::ProtocolOptions;
use machine::{Core, Word};

/// A way to change words of metadata.
pub trait Physical: Send + Sync + 'static {
    /// True if one core alone touches the metadata of a record.
    const OWNED: bool;

    /// Returns true if metadata is synchronised in this way under `options`. At weaker levels of isolation sessions lock
    /// records while they read them, so there is no form for one owner.
    fn fits(options: &ProtocolOptions) -> bool {
        let owned = options.owned_metadata && options.asks_for_full_isolation();
        owned == Self::OWNED
    }

    /// Replaces `seen`, which the caller has just read, by `wanted`. Fails with the actual value if the word has changed
    /// since.
    fn exchange<C: Core>(
        core: &C,
        line: &C::Line,
        word: &Word,
        seen: u64,
        wanted: u64,
    ) -> Result<(), u64>;

    /// Adds `value`, wrapping, and returns what was there before.
    fn add<C: Core>(core: &C, line: &C::Line, word: &Word, value: u64) -> u64;
}

/// Atomic instructions.
pub struct Atomics;

impl Physical for Atomics {
    const OWNED: bool = false;

    #[inline(always)]
    fn exchange<C: Core>(
        core: &C,
        line: &C::Line,
        word: &Word,
        seen: u64,
        wanted: u64,
    ) -> Result<(), u64> {
        core.cas(line, word, seen, wanted).map(|_| ())
    }

    #[inline(always)]
    fn add<C: Core>(core: &C, line: &C::Line, word: &Word, value: u64) -> u64 {
        core.fetch_add(line, word, value)
    }
}

/// Plain loads and stores, for metadata that one core alone touches.
pub struct OneOwner;

impl Physical for OneOwner {
    const OWNED: bool = true;

    #[inline(always)]
    fn exchange<C: Core>(
        core: &C,
        line: &C::Line,
        word: &Word,
        _: u64,
        wanted: u64,
    ) -> Result<(), u64> {
        core.store(line, word, wanted);
        Ok(())
    }

    #[inline(always)]
    fn add<C: Core>(core: &C, line: &C::Line, word: &Word, value: u64) -> u64 {
        let before = core.load(line, word);
        core.store(line, word, before.wrapping_add(value));
        before
    }
}
