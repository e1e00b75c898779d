//! Draws and runs one worker's transactions.

use super::SitesOptions;
use crate::micro::row_set::RowSet;
use crate::stream::Stream;
use crate::zipf::Zipf;
use txn::{Abort, Access, Client, Planned};

/// Names of the kinds of procedures, in the order of [`Client::kind`].
pub const KIND_NAMES: [&str; 2] = ["local", "multisite"];

/// One worker's stream of transactions.
#[derive(Clone, Debug)]
pub struct SitesClient {
    options: SitesOptions,
    home: Zipf,
    all: Zipf,
    site: u64,
    stream: Stream,
    multisite: bool,
    rows: RowSet,
}

impl SitesClient {
    pub(super) fn of_worker(
        options: &SitesOptions,
        [home, all]: [&Zipf; 2],
        worker: usize,
        seed: u64,
    ) -> SitesClient {
        SitesClient {
            options: options.clone(),
            home: home.clone(),
            all: all.clone(),
            site: worker as u64 % options.sites,
            stream: Stream::of_worker(seed, worker),
            multisite: false,
            rows: RowSet::new(options.updates, 1, options.row_bytes as usize),
        }
    }

    /// Returns the keys of the drawn transaction, in access order.
    pub fn keys(&self) -> &[u64] {
        &self.rows.keys
    }

    /// Returns a digest of everything read so far, including aborted attempts.
    pub fn checksum(&self) -> u64 {
        self.rows.checksum()
    }
}

impl Client for SitesClient {
    fn next(&mut self) {
        self.multisite = self.stream.unit() < self.options.multisite;
        let first_of_home = self.site * self.options.site_rows;
        let (multisite, home, all) = (self.multisite, &self.home, &self.all);
        let stream = &mut self.stream;
        self.rows.draw(self.options.accesses as usize, |number| {
            if multisite && number > 0 {
                all.draw(stream)
            } else {
                first_of_home + home.draw(stream)
            }
        });
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        self.rows.run(access)
    }

    fn partitions(&self, out: &mut Vec<u64>) {
        out.extend(self.rows.keys.iter().map(|key| key / self.options.site_rows));
    }

    fn plan(&self, out: &mut Vec<Planned>) {
        self.rows.plan(out);
    }

    fn read_only(&self) -> bool {
        !self.options.updates
    }

    fn kind(&self) -> usize {
        usize::from(self.multisite)
    }
}
