//! A protocol's view of a record: the record, and the words in it that belong to the protocol.
//!
//! [`Record`] knows where the protocol's words lie, but not their type. [`RecordRef`] adds the type `C`. A store is
//! made for the words of one protocol, so the type is checked once for each store and not at every access.
//! [`GuardRef`] does the same for the guards of leaves, which have the same words.

use crate::{guard::Guard, record::Record};
use machine::{Machine, Zeroed};
use std::{marker::PhantomData, ops::Deref};

/// Record in which a protocol keeps a `C`. All other parts of the record are accessed through [`Record`].
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
    /// Returns the view of `record` for a protocol that keeps a `C` in it.
    ///
    /// # Safety
    /// The record's store must have been made for [`ProtocolWords::of`](crate::ProtocolWords::of) `C`.
    #[inline(always)]
    pub unsafe fn new(record: Record<'s, M>) -> Self {
        debug_assert!(record.table().holds::<C>(), "another protocol's record");
        RecordRef { record, words: PhantomData }
    }

    /// Like [`RecordRef::new`], but checks that the record belongs to a store made for `C`. The record can be any
    /// record.
    ///
    /// # Panics
    /// If the record's store was made for another protocol.
    #[inline(always)]
    pub fn checked(record: Record<'s, M>) -> Self {
        assert!(record.table().holds::<C>(), "a record of another protocol's store");
        // SAFETY: the assertion above has checked that the record's store keeps a `C` in its records.
        unsafe { RecordRef::new(record) }
    }

    /// Returns the record without the protocol's type.
    #[inline(always)]
    pub fn record(&self) -> Record<'s, M> {
        self.record
    }

    /// Returns the protocol's words.
    #[inline(always)]
    pub fn cc(&self) -> &'s C {
        // SAFETY: by the contract of `new` the store keeps a `C` at this address. The `C` is zeroed or has been set
        // up, it is aligned to words, and it lives as long as the store.
        unsafe { &*self.record.protocol_words().cast::<C>() }
    }

    /// Returns another slot of the same shape that no index refers to: an old version, or an image that is to be
    /// installed.
    ///
    /// # Safety
    /// The same conditions as for [`Shape::slot_at`](crate::Shape::slot_at).
    #[inline(always)]
    pub unsafe fn slot_at(&self, offset: u64) -> Self {
        // SAFETY: the caller promises that `offset` names a slot of this shape, and the slot belongs to the same
        // store.
        unsafe { RecordRef::new(self.table().slot_at(offset)) }
    }

    /// Returns the second part of the record, which lies behind this part, if the table has records in two parts.
    #[inline(always)]
    pub fn second(&self) -> Option<Self> {
        // SAFETY: the second part belongs to the same store as the first.
        self.record.second().map(|second| unsafe { RecordRef::new(second) })
    }
}

/// Guard in which a protocol keeps a `C`, as it does in records.
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
    /// Returns the view of `guard` for a protocol that keeps a `C` in it.
    ///
    /// # Safety
    /// The same condition as for [`RecordRef::new`].
    #[inline(always)]
    pub unsafe fn new(guard: Guard<'s, M>) -> Self {
        debug_assert!(guard.record().table().holds::<C>(), "another protocol's guard");
        GuardRef { guard, words: PhantomData }
    }

    /// Returns the guard as a record: for its name, its line and its words.
    #[inline(always)]
    pub fn record(&self) -> RecordRef<'s, M, C> {
        // SAFETY: by the contract of `new` the guard's store keeps a `C` in its records and guards.
        unsafe { RecordRef::new(self.guard.record()) }
    }

    /// Returns the protocol's words.
    #[inline(always)]
    pub fn cc(&self) -> &'s C {
        self.record().cc()
    }
}
