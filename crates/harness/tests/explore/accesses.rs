//! Tests the options of accesses under adversarial schedules, with every protocol that promises serializability.

use crate::{exploration, passes};
use engine::{
    AccessOptions, Allocator, Announcements, ColumnLookup, ConstantReads, Copies, IndexPointers,
    Shipping, StateLine, Timing,
};
use kilocore_harness::explore::Exploration;
use machine::Explored;
use protocols::{Isolation, ProtocolOptions, registry::declarations};
use txn::{
    Abort, Access, Client, Column, ColumnSet, ColumnType, Conservation, Intent, Loader, Schema,
    TableId, TableSchema, Workload,
};
use workloads::micro::{counters::Counters, rooms::Rooms};
use workloads::smallbank::SmallBank;
use workloads::tpcc::Tpcc;

const TABLE: TableId = TableId(0);
const CONSTANT: ColumnSet = ColumnSet::one(0);
const COUNTER: ColumnSet = ColumnSet::one(1);
const ROWS: u64 = 2;

/// Rows of a constant and a counter. Each transaction reads a constant, which must be the loaded one, and counts.
struct Constants {
    hot: bool,
}

#[derive(Clone)]
struct Counting(u64);

impl Workload for Constants {
    type Client = Counting;
    const COMPILED: bool = false;

    fn schema(&self) -> Schema {
        let columns = ["constant", "counter"].map(|name| Column::new(name, ColumnType::U64));
        let table = TableSchema::new("rows", columns.to_vec()).with_constant_columns(CONSTANT);
        let hot = if self.hot { COUNTER } else { ColumnSet::NONE };
        Schema { tables: vec![table.with_hot_columns(hot)] }
    }

    fn rows(&self, _: TableId) -> u64 {
        ROWS
    }

    fn load(&self, loader: &mut dyn Loader) {
        loader.load_dense(TABLE, ROWS, &|key, row| row[0] = 100 + key as u8);
    }

    fn client(&self, worker: usize, _: usize, seed: u64) -> Counting {
        Counting(seed.wrapping_add(worker as u64))
    }

    fn conservation(&self) -> Option<Conservation> {
        Some(Box::new(|access, committed| {
            let mut sum = 0;
            for key in 0..ROWS {
                let mut counter = [0; 8];
                access.read(TABLE, key.into(), COUNTER, &mut counter)?;
                sum += u64::from_le_bytes(counter);
            }
            Ok(if sum == committed { Ok(()) } else { Err(format!("{sum} of {committed}")) })
        }))
    }
}

impl Client for Counting {
    fn next(&mut self) {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        let (key, mut constant) = (self.0 >> 40, [0; 8]);
        let (read, counted) = (key % ROWS, key / ROWS % ROWS);
        assert!(access.read(TABLE, read.into(), CONSTANT, &mut constant)?);
        assert_eq!(u64::from_le_bytes(constant), 100 + read, "a constant has changed");
        assert!(!access.read(TABLE, ROWS.into(), CONSTANT, &mut constant)?);
        let mut counter = [0; 8];
        access.read_with(TABLE, counted.into(), COUNTER, Intent::Update, &mut counter)?;
        let counter = u64::from_le_bytes(counter) + 1;
        access.update(TABLE, counted.into(), COUNTER, &counter.to_le_bytes())?;
        access.append(&[7; 40])
    }
}

fn protocols() -> Vec<&'static str> {
    let declared = declarations::<Explored>(&ProtocolOptions::default());
    let serializable = declared.iter().filter(|d| d.isolation == Isolation::Serializable);
    serializable.map(|declared| declared.name).collect()
}

fn under(access: AccessOptions, protocol: &str, schedules: u64) -> Exploration {
    Exploration { access, ..exploration(protocol, &[], schedules) }
}

const BYPASS: AccessOptions = AccessOptions {
    constants: ConstantReads::Bypass,
    copies: Copies::Columns,
    columns: ColumnLookup::Compiled,
    rows: Allocator::Arena,
    entries: Allocator::Arena,
    timing: Timing::Accesses,
    announcements: Announcements::Prefetched,
    pointers: IndexPointers::Private,
    shipping: Shipping::LookUps,
    state: StateLine::Front,
};

#[test]
fn constant_columns_are_read_beside_writers_of_their_rows() {
    for protocol in protocols() {
        for copies in [Copies::Columns, Copies::Records] {
            let asked = under(AccessOptions { copies, ..BYPASS }, protocol, 250);
            passes(&|seed| Constants { hot: seed % 8 == 7 }, &asked);
        }
    }
}

#[test]
fn tpcc_without_control_of_constant_columns() {
    for protocol in protocols() {
        passes(&Tpcc::varied, &under(BYPASS, protocol, 40));
    }
}

#[test]
fn whole_records() {
    let columns = ColumnLookup::Catalogue;
    let pointers = IndexPointers::Shared;
    let (copies, state) = (Copies::Records, StateLine::Own);
    let whole = AccessOptions { copies, columns, pointers, state, ..AccessOptions::default() };
    let allocated = AccessOptions { rows: Allocator::Malloc, entries: Allocator::Malloc, ..whole };
    for (access, protocol) in
        protocols().into_iter().flat_map(|name| [(whole, name), (allocated, name)])
    {
        passes(&Counters::varied, &under(access, protocol, 300));
        passes(&Rooms::varied, &under(access, protocol, 100));
        passes(&SmallBank::varied, &under(access, protocol, 100));
    }
}
