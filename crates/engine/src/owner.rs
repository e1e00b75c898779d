//! One owner of data: tables, and the protocol that isolates transactions on them.

use crate::EngineOptions;
use machine::{Machine, Service, cold::Arc};
use protocols::{Protocol, mechanisms::timestamp_allocator::TimestampAllocator};
use storage::{ProtocolWords, Store, StoreError, StoreOptions};
use txn::Share;

/// A store and its protocol. The store is made for the protocol: its records hold the protocol's words.
pub(crate) struct Owner<M: Machine, P: Protocol<M>> {
    store: Store<M>,
    protocol: P,
    /// Allocator for workloads that measure the cost of drawing timestamps.
    allocator: TimestampAllocator<M>,
}

impl<M: Machine, P: Protocol<M>> Owner<M, P> {
    /// Makes an owner of all rows, without tables.
    pub fn create(machine: &Arc<M>, options: &EngineOptions) -> Result<Self, StoreError> {
        Owner::of_share(machine, options, Share::WHOLE, options.sessions, None)
    }

    /// Makes an owner of a share of the rows, without tables. At most `pins` sessions use the owner at the same time.
    /// If its transactions are those of another owner too, `first` is that owner ([`Protocol::beside`]).
    pub fn of_share(
        machine: &Arc<M>,
        options: &EngineOptions,
        share: Share,
        pins: usize,
        first: Option<&Self>,
    ) -> Result<Self, StoreError> {
        let store_options = StoreOptions {
            sessions: pins,
            keep_versions: options.record_history,
            keep_digests: options.record_values,
            words: ProtocolWords::of::<P::Words>(),
            access: options.access,
        };
        let (arena, timestamps) = (machine.arena(), options.protocol.timestamps);
        Ok(Owner {
            protocol: match first {
                None => P::create(arena, &options.protocol, options.sessions)?,
                Some(first) => {
                    P::beside(&first.protocol, arena, &options.protocol, options.sessions)?
                }
            },
            allocator: TimestampAllocator::new(arena, timestamps, options.sessions)?,
            store: Store::new(machine.clone(), store_options)?.with_share(share),
        })
    }

    /// Returns the store with its tables.
    pub fn store(&self) -> &Store<M> {
        &self.store
    }

    /// Returns the protocol.
    pub fn protocol(&self) -> &P {
        &self.protocol
    }

    /// Returns the allocator of timestamps.
    pub fn allocator(&self) -> &TimestampAllocator<M> {
        &self.allocator
    }

    /// Returns the service that advances the epochs of this owner, at the interval of `options`.
    pub fn epochs_service(&self, options: &EngineOptions) -> Service<'_, M> {
        Service {
            name: "epochs",
            interval_ticks: options.epoch_interval_ticks,
            tick: Box::new(|core| {
                self.store.epochs().try_advance(core);
            }),
        }
    }
}

/// Returns the arena on the node where the rows of partition `number` lie.
pub(crate) fn arena_of<M: Machine>(machine: &Arc<M>, number: usize) -> Arc<machine::Arena> {
    let arena = machine.arena();
    let node = arena.partition_nodes().and_then(|nodes| nodes.get(number).copied());
    node.map_or_else(|| arena.clone(), |node| arena.on(node))
}
