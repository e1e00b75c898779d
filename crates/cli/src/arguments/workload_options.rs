//! The options of workloads, each set of them over its defaults.

use super::numbers::{real, whole};
use clap::Args;
use workloads::IndexChoice;
use workloads::micro::counters::CountersOptions;
use workloads::micro::ranges::RangesOptions;
use workloads::micro::rooms::RoomsOptions;
use workloads::tpcc_accesses::TpccAccessesOptions;
use workloads::ycsb::{PRESETS, YcsbOptions};

/// YCSB's options.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct YcsbArguments {
    /// Settings by name, to which further options are changes: a to f are YCSB's own, one access a transaction
    #[arg(long, value_name = "NAME", value_parser = PRESETS.map(|(name, _)| name))]
    preset: Option<String>,
    /// Rows of the table [default: 1M]
    #[arg(long, value_name = "N", value_parser = whole)]
    records: Option<u64>,
    /// Fields of a row [default: 10]
    #[arg(long, value_name = "N", value_parser = whole)]
    fields: Option<u64>,
    /// Bytes of a field [default: 100]
    #[arg(long, value_name = "N", value_parser = whole)]
    field_bytes: Option<u64>,
    /// Skew of the keys, from 0 (uniform) to less than 1 [default: 0; compare: 0.6]
    #[arg(long, value_name = "X", value_parser = real)]
    theta: Option<f64>,
    /// Share of accesses that are scans, 0 to 1; with any the table is ordered [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    scan_ratio: Option<f64>,
    /// Share of accesses that insert a row, 0 to 1 [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    insert_ratio: Option<f64>,
    /// Share of the other accesses that are reads, 0 to 1; the rest are updates [default: 1; compare: 0.5]
    #[arg(long, value_name = "X", value_parser = real)]
    read_ratio: Option<f64>,
    /// The most rows of a scan [default: 100]
    #[arg(long, value_name = "N", value_parser = whole)]
    scan_length: Option<u64>,
    /// Skew of the scans' lengths towards one row, from 0 (uniform) to less than 1 [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    scan_theta: Option<f64>,
    /// A read or a scan copies all fields of a row; else one
    #[arg(long)]
    all_fields: bool,
    /// The hottest rows are those that the worker inserted last
    #[arg(long)]
    latest: bool,
    /// Keys lie in the ordered table in no order
    #[arg(long)]
    hashed_keys: bool,
    /// Accesses of a transaction [default: 16]
    #[arg(long, value_name = "N", value_parser = whole)]
    accesses: Option<u64>,
    /// An update reads the field first, and writes what it makes of it
    #[arg(long)]
    read_modify_write: bool,
    /// An update adds to the field, whatever is in it; with --field-bytes 8
    #[arg(long)]
    add: bool,
    /// A transaction may access a key twice
    #[arg(long)]
    no_distinct: bool,
    /// Partitions of the table, by key modulo their number [default: 1]
    #[arg(long, value_name = "N", value_parser = whole)]
    partitions: Option<u64>,
    /// Share of the transactions that access several partitions, 0 to 1 [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    multi_partition_share: Option<f64>,
    /// Partitions that such a transaction accesses [default: 2]
    #[arg(long, value_name = "N", value_parser = whole)]
    partitions_per_transaction: Option<u64>,
    /// Draw a transaction's first partition; else it is its worker's own
    #[arg(long)]
    no_local_partition: bool,
    /// A transaction accesses its keys in ascending order
    #[arg(long)]
    key_order: bool,
    /// Don't announce a transaction's keys before the first access
    #[arg(long)]
    no_prefetch: bool,
    /// Declare transactions that drew no update read-only at their begin
    #[arg(long)]
    declare_read_only: bool,
    /// Share of the transactions that only read and declare it, 0 to 1 [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    read_only_share: Option<f64>,
    /// Bind workers: so many only read and declare it, the others only write [default: 0, none is bound]
    #[arg(long, value_name = "N", value_parser = whole)]
    reader_workers: Option<u64>,
    /// How rows are found: hash, perfect, btree, rbtree [default: hash]
    #[arg(long, value_name = "KIND")]
    index: Option<IndexChoice>,
}

impl YcsbArguments {
    /// `default`, or the preset, with what was said in its place.
    pub fn over(&self, default: YcsbOptions) -> YcsbOptions {
        let default = self.preset.as_deref().and_then(YcsbOptions::preset).unwrap_or(default);
        let share = self.multi_partition_share;
        let several = self.partitions_per_transaction;
        YcsbOptions {
            records: self.records.unwrap_or(default.records),
            fields: self.fields.unwrap_or(default.fields),
            field_bytes: self.field_bytes.unwrap_or(default.field_bytes),
            theta: self.theta.unwrap_or(default.theta),
            scan_ratio: self.scan_ratio.unwrap_or(default.scan_ratio),
            insert_ratio: self.insert_ratio.unwrap_or(default.insert_ratio),
            read_ratio: self.read_ratio.unwrap_or(default.read_ratio),
            scan_length: self.scan_length.unwrap_or(default.scan_length),
            scan_theta: self.scan_theta.unwrap_or(default.scan_theta),
            all_fields: self.all_fields || default.all_fields,
            latest: self.latest || default.latest,
            hashed_keys: self.hashed_keys || default.hashed_keys,
            accesses: self.accesses.unwrap_or(default.accesses),
            read_modify_write: self.read_modify_write || default.read_modify_write,
            add: self.add || default.add,
            distinct: !self.no_distinct && default.distinct,
            partitions: self.partitions.unwrap_or(default.partitions),
            multi_partition_share: share.unwrap_or(default.multi_partition_share),
            partitions_per_transaction: several.unwrap_or(default.partitions_per_transaction),
            local_partition: !self.no_local_partition && default.local_partition,
            key_order: self.key_order || default.key_order,
            prefetch: !self.no_prefetch && default.prefetch,
            declare_read_only: self.declare_read_only || default.declare_read_only,
            read_only_share: self.read_only_share.unwrap_or(default.read_only_share),
            reader_workers: self.reader_workers.unwrap_or(default.reader_workers),
            index: self.index.unwrap_or(default.index),
        }
    }
}

/// The counters' options.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct CountersArguments {
    /// How many counters there are [default: 64; compare: 4096]
    #[arg(long, value_name = "N", value_parser = whole)]
    counters: Option<u64>,
    /// Tables that they are spread over [default: 1]
    #[arg(long, value_name = "N", value_parser = whole)]
    tables: Option<u64>,
    /// Counters of an increment or of a sum [default: 2]
    #[arg(long, value_name = "N", value_parser = whole)]
    accesses: Option<u64>,
    /// Skew of the choice, from 0 (uniform) to less than 1 [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    theta: Option<f64>,
    /// An increment may add to a counter twice
    #[arg(long)]
    no_distinct: bool,
    /// Rows are accessed in ascending order of table and key
    #[arg(long)]
    key_order: bool,
    /// Read plainly, then update: a locking protocol has to upgrade its lock
    #[arg(long)]
    lock_upgrade: bool,
    /// Share of the procedures that are transfers [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    transfers: Option<f64>,
    /// Share of the procedures that are sums [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    sums: Option<f64>,
    /// Share of the procedures that are moves; what the shares leave are increments [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    moves: Option<f64>,
    /// Tokens, when there are moves [default: 0]
    #[arg(long, value_name = "N", value_parser = whole)]
    tokens: Option<u64>,
    /// Share of the increments, transfers and moves that are rolled back half way [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    rollbacks: Option<f64>,
    /// Partitions of every table, by key modulo their number [default: 1]
    #[arg(long, value_name = "N", value_parser = whole)]
    partitions: Option<u64>,
    /// A row's second column has words of concurrency control of its own (timestamp splitting)
    #[arg(long)]
    split_columns: bool,
    /// How rows are found: hash, perfect, btree, rbtree [default: hash]
    #[arg(long, value_name = "KIND")]
    index: Option<IndexChoice>,
}

impl CountersArguments {
    /// `default`, with what was said in its place.
    pub fn over(&self, default: CountersOptions) -> CountersOptions {
        CountersOptions {
            counters: self.counters.unwrap_or(default.counters),
            tables: self.tables.unwrap_or(default.tables),
            accesses: self.accesses.unwrap_or(default.accesses),
            theta: self.theta.unwrap_or(default.theta),
            distinct: !self.no_distinct && default.distinct,
            key_order: self.key_order || default.key_order,
            lock_upgrade: self.lock_upgrade || default.lock_upgrade,
            transfers: self.transfers.unwrap_or(default.transfers),
            sums: self.sums.unwrap_or(default.sums),
            moves: self.moves.unwrap_or(default.moves),
            tokens: self.tokens.unwrap_or(default.tokens),
            rollbacks: self.rollbacks.unwrap_or(default.rollbacks),
            partitions: self.partitions.unwrap_or(default.partitions),
            split_columns: self.split_columns || default.split_columns,
            index: self.index.unwrap_or(default.index),
        }
    }
}

/// The ranges' options.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct RangesArguments {
    /// Keys of the weights, of which every other one is loaded [default: 4096]
    #[arg(long, value_name = "N", value_parser = whole)]
    keys: Option<u64>,
    /// Keys in the range of a shift [default: 16]
    #[arg(long, value_name = "N", value_parser = whole)]
    span: Option<u64>,
    /// Ranges to be claimed [default: 256]
    #[arg(long, value_name = "N", value_parser = whole)]
    slots: Option<u64>,
    /// Keys in each of them [default: 4]
    #[arg(long, value_name = "N", value_parser = whole)]
    width: Option<u64>,
    /// Rows of the queue when it is loaded [default: 64]
    #[arg(long, value_name = "N", value_parser = whole)]
    queued: Option<u64>,
    /// Share of the procedures that scan all weights, twice [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    sums: Option<f64>,
    /// Share of the procedures that claim a range, or give it back [default: 0.25]
    #[arg(long, value_name = "X", value_parser = real)]
    claims: Option<f64>,
    /// Share of the procedures that take from the queue or add to it; what the shares leave are shifts
    /// [default: 0.05]
    #[arg(long, value_name = "X", value_parser = real)]
    turns: Option<f64>,
    /// How rows are found: btree, rbtree [default: btree]
    #[arg(long, value_name = "KIND")]
    index: Option<IndexChoice>,
}

impl RangesArguments {
    /// `default`, with what was said in its place.
    pub fn over(&self, default: RangesOptions) -> RangesOptions {
        RangesOptions {
            keys: self.keys.unwrap_or(default.keys),
            span: self.span.unwrap_or(default.span),
            slots: self.slots.unwrap_or(default.slots),
            width: self.width.unwrap_or(default.width),
            queued: self.queued.unwrap_or(default.queued),
            sums: self.sums.unwrap_or(default.sums),
            claims: self.claims.unwrap_or(default.claims),
            turns: self.turns.unwrap_or(default.turns),
            index: self.index.unwrap_or(default.index),
        }
    }
}

/// The rooms' options.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct RoomsArguments {
    /// People [default: 10000]
    #[arg(long, value_name = "N", value_parser = whole)]
    people: Option<u64>,
    /// Rooms that they are in [default: 1000]
    #[arg(long, value_name = "N", value_parser = whole)]
    rooms: Option<u64>,
    /// Badges beyond those that they have [default: 10000]
    #[arg(long, value_name = "N", value_parser = whole)]
    spare_badges: Option<u64>,
    /// Share of the procedures that move a coin within a room [default: 0.25]
    #[arg(long, value_name = "X", value_parser = real)]
    payments: Option<f64>,
    /// Share of the procedures that change a badge, which is unique [default: 0.25]
    #[arg(long, value_name = "X", value_parser = real)]
    badges: Option<f64>,
    /// Share of the procedures that replace a person by another [default: 0.1]
    #[arg(long, value_name = "X", value_parser = real)]
    replacements: Option<f64>,
    /// Share of the procedures that scan everybody; what the shares leave goes to other rooms [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    censuses: Option<f64>,
    /// How people are found by number: hash, perfect, btree, rbtree [default: hash]
    #[arg(long, value_name = "KIND")]
    index: Option<IndexChoice>,
}

impl RoomsArguments {
    /// `default`, with what was said in its place.
    pub fn over(&self, default: RoomsOptions) -> RoomsOptions {
        RoomsOptions {
            people: self.people.unwrap_or(default.people),
            rooms: self.rooms.unwrap_or(default.rooms),
            spare_badges: self.spare_badges.unwrap_or(default.spare_badges),
            payments: self.payments.unwrap_or(default.payments),
            badges: self.badges.unwrap_or(default.badges),
            replacements: self.replacements.unwrap_or(default.replacements),
            censuses: self.censuses.unwrap_or(default.censuses),
            index: self.index.unwrap_or(default.index),
        }
    }
}

/// Options of the stand-in for TPC-C's accesses.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct TpccAccessesArguments {
    /// Warehouses; each is about 84 MB of memory natively [default: 4]
    #[arg(long, value_name = "N", value_parser = whole)]
    warehouses: Option<u64>,
    /// DBx1000's small schema: shorter and fewer records
    #[arg(long)]
    no_full_schema: bool,
    /// Warehouse and items are read without concurrency control, for a fixed number of cycles
    #[arg(long)]
    bypass: bool,
    /// Share of the lines whose stock is another warehouse's, 0 to 1 [default: 0.01]
    #[arg(long, value_name = "X", value_parser = real)]
    remote_lines: Option<f64>,
    /// Share of the payments for a customer of another warehouse, 0 to 1 [default: 0.15]
    #[arg(long, value_name = "X", value_parser = real)]
    remote_payments: Option<f64>,
    /// Copies of the item table [default: 1]
    #[arg(long, value_name = "N", value_parser = whole)]
    item_replicas: Option<u64>,
    /// Cycles of a read that bypasses concurrency control, of the warehouse [default: 100]
    #[arg(long, value_name = "N", value_parser = whole)]
    bypassed_warehouse_cycles: Option<u64>,
    /// Cycles of a read that bypasses concurrency control, of an item [default: 100]
    #[arg(long, value_name = "N", value_parser = whole)]
    bypassed_item_cycles: Option<u64>,
    /// Cycles of 64 bytes of an inserted row [default: 2]
    #[arg(long, value_name = "N", value_parser = whole)]
    insert_line_cycles: Option<u64>,
}

impl TpccAccessesArguments {
    /// `default`, with what was said in its place.
    pub fn over(&self, default: TpccAccessesOptions) -> TpccAccessesOptions {
        let warehouse = self.bypassed_warehouse_cycles;
        let item = self.bypassed_item_cycles;
        TpccAccessesOptions {
            warehouses: self.warehouses.unwrap_or(default.warehouses),
            full_schema: !self.no_full_schema && default.full_schema,
            bypass: self.bypass || default.bypass,
            remote_lines: self.remote_lines.unwrap_or(default.remote_lines),
            remote_payments: self.remote_payments.unwrap_or(default.remote_payments),
            item_replicas: self.item_replicas.unwrap_or(default.item_replicas),
            bypassed_warehouse_cycles: warehouse.unwrap_or(default.bypassed_warehouse_cycles),
            bypassed_item_cycles: item.unwrap_or(default.bypassed_item_cycles),
            insert_line_cycles: self.insert_line_cycles.unwrap_or(default.insert_line_cycles),
        }
    }
}
