//! A protocol's view of a record: the record, and the words in it that are the protocol's own.

use crate::{guard::Guard, record::Record};
use machine::{Machine, Zeroed};
use std::{marker::PhantomData, ops::Deref};

/// A record in which a protocol keeps a `C`. Everything else of it is [`Record`]'s.
pub struct RecordRef<'s, M: Machine, C> {
    record: Record<'s, M>,
    words: PhantomData<&'s C>,
}

impl<M: Machine, C> Clone for RecordRef<'_, M, C> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine, C> Copy for RecordRef<'_, M, C> {}

impl<'s, M: Machine, C> Deref for RecordRef<'s, M, C> {
    type Target = Record<'s, M>;

    #[inline(always)]
    fn deref(&self) -> &Record<'s, M> {
        &self.record
    }
}

impl<'s, M: Machine, C: Zeroed + Send + Sync + 'static> RecordRef<'s, M, C> {
    /// The view of `record` by whoever keeps a `C` in it.
    ///
    /// # Safety
    /// The record's store must have been made for [`ProtocolWords::of`](crate::ProtocolWords::of) `C`.
    #[inline(always)]
    pub unsafe fn new(record: Record<'s, M>) -> Self {
        debug_assert!(record.table().holds::<C>(), "another protocol's record");
        RecordRef { record, words: PhantomData }
    }

    /// As [`RecordRef::new`], of a record that may be any.
    ///
    /// # Panics
    /// If its store was made for another protocol.
    #[inline(always)]
    pub fn checked(record: Record<'s, M>) -> Self {
        assert!(record.table().holds::<C>(), "a record of another protocol's store");
        // SAFETY: was checked just now.
        unsafe { RecordRef::new(record) }
    }

    /// The record as everybody sees it.
    #[inline(always)]
    pub fn record(&self) -> Record<'s, M> {
        self.record
    }

    /// The protocol's words.
    #[inline(always)]
    pub fn cc(&self) -> &'s C {
        // SAFETY: by `new` the store keeps a `C` there; it is zeroed or has been set up, aligned to words, and lives
        // as long as the store.
        unsafe { &*self.record.protocol_words().cast::<C>() }
    }

    /// Another slot of the same shape, which no index leads to: an old version, an image that is to be installed.
    ///
    /// # Safety
    /// As for [`Shape::slot_at`](crate::Shape::slot_at).
    #[inline(always)]
    pub unsafe fn slot_at(&self, offset: u64) -> Self {
        // SAFETY: by the caller's promise, and in the same store.
        unsafe { RecordRef::new(self.table().slot_at(offset)) }
    }

    /// The part of the record that lies behind this one, in a table of records in two parts.
    #[inline(always)]
    pub fn second(&self) -> Option<Self> {
        // SAFETY: it is of the same store.
        self.record.second().map(|second| unsafe { RecordRef::new(second) })
    }
}

/// A guard in which a protocol keeps a `C`, as in records.
pub struct GuardRef<'s, M: Machine, C> {
    guard: Guard<'s, M>,
    words: PhantomData<&'s C>,
}

impl<M: Machine, C> Clone for GuardRef<'_, M, C> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine, C> Copy for GuardRef<'_, M, C> {}

impl<'s, M: Machine, C> Deref for GuardRef<'s, M, C> {
    type Target = Guard<'s, M>;

    #[inline(always)]
    fn deref(&self) -> &Guard<'s, M> {
        &self.guard
    }
}

impl<'s, M: Machine, C: Zeroed + Send + Sync + 'static> GuardRef<'s, M, C> {
    /// The view of `guard` by whoever keeps a `C` in it.
    ///
    /// # Safety
    /// As for [`RecordRef::new`].
    #[inline(always)]
    pub unsafe fn new(guard: Guard<'s, M>) -> Self {
        debug_assert!(guard.record().table().holds::<C>(), "another protocol's guard");
        GuardRef { guard, words: PhantomData }
    }

    /// The guard as a record: for its name, its line and its words.
    #[inline(always)]
    pub fn record(&self) -> RecordRef<'s, M, C> {
        // SAFETY: by `new`.
        unsafe { RecordRef::new(self.guard.record()) }
    }

    /// The protocol's words.
    #[inline(always)]
    pub fn cc(&self) -> &'s C {
        self.record().cc()
    }
}
