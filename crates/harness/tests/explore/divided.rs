//! Workloads of which each table is divided into partitions.

use txn::{Conservation, Loader, Partitioning, Schema, TableId, Workload};

/// A workload whose tables have the same rows in several partitions. Its clients declare what they did before.
pub struct Divided<W> {
    workload: W,
    rule: fn(u64) -> Partitioning,
    partitions: u64,
}

impl<W: Workload> Divided<W> {
    pub fn varied(seed: u64, make: fn(u64) -> W) -> Divided<W> {
        let rules: [fn(u64) -> Partitioning; 3] = [
            |partitions| Partitioning::Modulo { partitions },
            |partitions| Partitioning::Hash { partitions },
            |partitions| Partitioning::Quotient { divisor: 2, partitions },
        ];
        let rule = rules[(seed / 512 % 3) as usize];
        Divided { workload: make(seed), rule, partitions: seed / 128 % 4 + 1 }
    }
}

impl<W: Workload> Workload for Divided<W> {
    type Client = W::Client;
    // The frames of this wrapper hold only buffers of their own and references.
    const MOVABLE: Option<txn::Movable> = W::MOVABLE;

    fn schema(&self) -> Schema {
        let rule = (self.rule)(self.partitions);
        let tables = self.workload.schema().tables.into_iter();
        Schema { tables: tables.map(|table| table.partitioned(rule)).collect() }
    }

    fn rows(&self, table: TableId) -> u64 {
        self.workload.rows(table)
    }

    fn load(&self, loader: &mut dyn Loader) {
        self.workload.load(loader);
    }

    fn client(&self, worker: usize, workers: usize, seed: u64) -> W::Client {
        self.workload.client(worker, workers, seed)
    }

    fn conservation(&self) -> Option<Conservation> {
        self.workload.conservation()
    }

    fn grows(&self) -> bool {
        self.workload.grows()
    }

    fn in_key_order(&self) -> bool {
        self.workload.in_key_order()
    }
}
