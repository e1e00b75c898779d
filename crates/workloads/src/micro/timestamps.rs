//! Each transaction allocates one timestamp: measures only the cost of the allocator.
//!
//! Source: "Staring into the Abyss" (2014), section 4.3, figure 6. Run it with a protocol that allocates no
//! timestamp of its own. Otherwise every transaction allocates more than one.

use crate::options::OptionError;
use crate::registry::Listed;
use txn::{Abort, Access, Client, Loader, Schema, TableId, Workload};

/// The workload. It stores nothing and has no options.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timestamps;

impl Listed for Timestamps {
    type Options = ();
    const NAME: &'static str = "timestamps";
    const SUMMARY: &'static str = "each transaction draws one timestamp and does nothing else";
    const SOURCE: &'static str = "Staring into the Abyss, 4.3 and figure 6";
    const EXAMPLES: &'static [&'static str] =
        &["--cc NO_CC --machine graphite --cores 1,64,1024 --timestamps atomic"];

    fn with((): Self::Options) -> Result<Timestamps, OptionError> {
        Ok(Timestamps)
    }
}

impl Workload for Timestamps {
    type Client = TimestampsClient;
    const MOVABLE: Option<txn::Movable> = Some(txn::Movable::of::<Self>());

    fn schema(&self) -> Schema {
        Schema::default()
    }

    fn rows(&self, _table: TableId) -> u64 {
        0
    }

    fn load(&self, _loader: &mut dyn Loader) {}

    fn client(&self, _worker: usize, _workers: usize, _seed: u64) -> TimestampsClient {
        TimestampsClient { last: 0 }
    }
}

/// One worker's stream of allocations.
#[derive(Clone, Debug)]
pub struct TimestampsClient {
    last: u64,
}

impl TimestampsClient {
    /// Returns the timestamp that was allocated last. It is 0 before the first.
    pub fn last(&self) -> u64 {
        self.last
    }
}

impl Client for TimestampsClient {
    fn next(&mut self) {}

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        self.last = access.allocate_timestamp();
        Ok(())
    }
}
