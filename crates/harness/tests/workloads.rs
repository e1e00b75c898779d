//! Runs every workload under every protocol, explored, natively and simulated. Protocols must keep their promises,
//! and the workloads' laws must hold.

use engine::admission::AdmissionPolicy;
use kilocore_harness::{
    assemble::{certify, declaration, promised},
    back_off::BackOff,
    engines::Engines,
    explore::{Exploration, explore},
    run::{Moves, Plan, TablePlaces, run},
};
use machine::{Explored, Native, NativeOptions, OutOfMemory, Word, cold::Arc};
use protocols::{Isolation, ProtocolOptions, registry::declarations};
use simulator::{MachineDescription, Simulated, SimulatedOptions};
use std::thread;
use txn::{AbortReason, Workload};
use workloads::{
    IndexChoice, Options,
    micro::{
        counters::{Counters, CountersOptions},
        hot_cold::{HotCold, HotColdOptions},
        key_value::{KeyValue, KeyValueOptions},
        long_reader::{LongReader, LongReaderOptions},
        ranges::{Ranges, RangesOptions},
        rooms::{Rooms, RoomsOptions},
        sites::{Sites, SitesOptions},
    },
    registry::{self, declarations as listed},
    smallbank::{SmallBank, SmallBankOptions},
    tatp::{Tatp, TatpOptions},
    tpcb::{Tpcb, TpcbOptions},
    tpcc::{Mix, SchemaSize, Tpcc, TpccOptions},
    variation::{Explored as Variation, Explorer},
    ycsb::{Ycsb, YcsbOptions},
};

/// Returns the protocols that promise an isolation level.
fn protocols() -> Vec<&'static str> {
    let declared = declarations::<Explored>(&ProtocolOptions::default());
    let promising = declared.iter().filter(|declared| declared.isolation != Isolation::None);
    promising.map(|declared| declared.name).collect()
}

/// Explores a workload. No protocol may show a violation, and NO_CC must show one.
fn explored<W: Workload>(workload: &dyn Fn(u64) -> W) {
    let outcome = |protocol: &str, schedules| {
        let exploration =
            Exploration { protocol: protocol.into(), schedules, ..Exploration::default() };
        explore(workload, &exploration, &Word::new(0), &mut |_| {}).expect("can run")
    };
    for protocol in protocols() {
        let outcome = outcome(protocol, 250);
        if let Some(finding) = outcome.finding {
            panic!("{protocol} seed {}: {}", finding.seed, finding.violation);
        }
        assert!(outcome.schedules == 250 && outcome.commits > 0, "{protocol}");
    }
    assert!(outcome("NO_CC", 2000).finding.is_some(), "this workload would notice nothing");
}

struct Everywhere;

impl Explorer for Everywhere {
    type Output = ();

    fn explore<W: Workload>(self, of_seed: &(dyn Fn(u64) -> W + Sync)) {
        explored(of_seed);
    }
}

/// Explores every workload of the registry in all its forms, including workloads that are added later.
#[test]
fn whatever_is_listed_keeps_its_law() {
    let explored = listed().into_iter().filter_map(|listed| Some((listed.name, listed.explored?)));
    thread::scope(|scope| {
        for (name, Variation { forms, .. }) in explored {
            scope.spawn(move || {
                for form in [None].into_iter().chain(forms.iter().copied().map(Some)) {
                    assert!(registry::explore(name, form, Everywhere).is_ok(), "{name} {form:?}");
                }
            });
        }
    });
}

/// Name of an architecture, and of a protocol that runs under it.
type Pair<'p> = (&'p str, &'p str);

/// Pairs with architectures that store partitions apart: one isolates transactions itself, and in the others cores do work
/// for each other.
const APART: [Pair<'static>; 8] = [
    SERIAL,
    ("delegation", "NO_WAIT"),
    ("delegation", "2V_NO_WAIT"),
    ("delegation", "SILO"),
    ("delegation", "TICTOC"),
    ("data_oriented", "NO_WAIT"),
    ("data_oriented", "DL_DETECT"),
    SPLIT,
];

/// The pair under which workers have executors, and tables have owners of their own.
const SPLIT: Pair<'static> = ("data_oriented", "WAIT_DIE");

/// The pair in which the architecture isolates transactions.
const SERIAL: Pair<'static> = ("partitioned_serial", "NO_CC");

fn shared(protocol: &str) -> Pair<'_> {
    (engine::registry::DEFAULT, protocol)
}

/// Certifies runs under every protocol that promises anything, and under architectures that store partitions apart.
fn certified<W: Workload>(workload: &W) {
    for pair in protocols().into_iter().map(shared).chain(APART) {
        certified_under(pair, workload);
    }
}

/// Certifies runs under each of [`APART`].
fn certified_apart<W: Workload>(workload: &W) {
    APART.into_iter().for_each(|pair| certified_under(pair, workload));
}

/// Certifies a native run and a simulated one.
fn certified_under<W: Workload>(pair: Pair<'_>, workload: &W) {
    let graphite = MachineDescription::load("graphite").expect("a built-in machine");
    let graphite = Arc::new(graphite);
    let native = |_| Native::new(NativeOptions::default());
    // On a busy computer, two threads that wait for each other may get nothing done in a short time.
    let lengths = [0.02, 0.2, 2.0];
    let committed = lengths.iter().any(|s| certified_on(&native, workload, pair, 2, *s));
    assert!(committed, "{pair:?} commits nothing");
    let simulated = |seed| {
        let options = SimulatedOptions { seed, ..SimulatedOptions::default() };
        Simulated::new(graphite.clone(), options)
    };
    // One transaction at a time in each partition takes longer, and so do messages for each access.
    let lengths = [0.000_3, 0.003, 0.03];
    let committed = lengths.iter().any(|s| certified_on(&simulated, workload, pair, 16, *s));
    assert!(committed, "{pair:?} commits nothing");
}

fn plan(pair: Pair<'_>, cores: usize, measured_s: f64, record: bool) -> Plan {
    let (architecture, protocol) = pair;
    let moves = match pair == SPLIT {
        true => Moves { executors: 2, table_owners: Some(TablePlaces::Apart) },
        false => Moves::default(),
    };
    Plan {
        architecture: architecture.to_owned(),
        protocol: protocol.into(),
        protocol_options: ProtocolOptions::default(),
        commits: None,
        access: Default::default(),
        partitions: None,
        cores,
        fibers: 1,
        time_slice_s: None,
        servers: None,
        moves,
        warm_up_s: measured_s / 10.0,
        measured_s,
        growth: None,
        repetitions: 1,
        seed: 11,
        record_history: record,
        back_off: BackOff::default(),
        admission: AdmissionPolicy::Off,
        arrivals: None,
        load_threads: 1,
        epoch_interval_s: if record { measured_s / 10.0 } else { 0.000_05 },
    }
}

/// Runs the workload and certifies its history. Returns whether any transaction committed.
fn certified_on<M: Engines, W: Workload>(
    make: &dyn Fn(u64) -> Result<M, OutOfMemory>,
    workload: &W,
    pair: Pair<'_>,
    cores: usize,
    measured_s: f64,
) -> bool {
    let plan = plan(pair, cores, measured_s, true);
    let repetitions = run(make, workload, &plan, &Word::new(0), &mut |_| {}).expect("can run");
    let certificate = certify(&repetitions).expect("the history was recorded");
    let promised = promised(&declaration::<M>(&plan).expect("it is listed"));
    // Under a weaker promise, write skew may break the law, and it does.
    if promised.serializable {
        assert_eq!(repetitions[0].broken_law, None, "{pair:?}");
    }
    assert!(certificate.satisfies(promised), "{pair:?}: {:?}", certificate.counterexample);
    let total = &repetitions[0].total;
    for reason in AbortReason::ALL.into_iter().filter(|reason| *reason != AbortReason::User) {
        assert!(pair != SERIAL || total.aborted_for(reason) == 0, "{reason}");
    }
    total.commits() > 0
}

#[test]
fn smallbank_is_kept_from_skewing() {
    let options = SmallBankOptions {
        accounts: 200,
        hot_accounts: 10,
        hot_share: 0.5,
        withdrawals: 0.5,
        least_balance: 0,
        most_balance: 5000,
        partitions: 4,
        ..SmallBankOptions::default()
    };
    for audit in [false, true] {
        let options = SmallBankOptions { audit, ..options.clone() };
        certified(&SmallBank::new(options).expect("good options"));
    }
}

#[test]
fn balances_of_tpcb_are_sums_of_its_history() {
    let options = TpcbOptions { branches: 2, accounts: 50, history: 10_000, ..Default::default() };
    certified(&Tpcb::new(options.clone()).expect("good options"));
    let perfect = TpcbOptions { index: IndexChoice::Perfect, ..options };
    certified(&Tpcb::new(perfect).expect("good options"));
}

/// People must be found in the rooms where they are, even while other transactions move them.
#[test]
fn indexes_agree_with_their_tables() {
    let options = RoomsOptions { people: 60, rooms: 8, censuses: 0.02, ..Default::default() };
    certified(&Rooms::new(options).expect("good options"));
}

/// Rows that are inserted and deleted must be found through every kind of index.
#[test]
fn every_index_will_do() {
    for index in IndexChoice::ALL {
        explored(&|seed| {
            let options = Counters::varied(seed).options().clone();
            // Rows in two parts need an unordered index.
            let options = CountersOptions { index, split_columns: false, ..options };
            Counters::new(options).expect("good for every seed")
        });
    }
    for index in IndexChoice::ORDERED {
        explored(&|seed| {
            let options = RangesOptions { index, ..Ranges::varied(seed).options().clone() };
            Ranges::new(options).expect("good for every seed")
        });
    }
    let options = RangesOptions { index: IndexChoice::RedBlack, keys: 64, ..Default::default() };
    certified(&Ranges::new(options).expect("good options"));
}

#[test]
fn rows_that_are_inserted_into_scanned_ranges_are_no_phantoms() {
    for preset in ["d", "e"] {
        let options = YcsbOptions::preset(preset).expect("one of them");
        let options = YcsbOptions { records: 200, accesses: 4, scan_length: 20, ..options };
        certified(&Ycsb::new(options).expect("good options"));
    }
}

#[test]
fn long_readers_see_no_half_of_an_update() {
    for long_readers in [1, 0] {
        let long_share = if long_readers == 0 { 0.2 } else { 0.0 };
        let options =
            LongReaderOptions { records: 400, long_readers, long_share, ..Default::default() };
        certified(&LongReader::new(options).expect("good options"));
    }
}

/// Versions that no transaction needs must be reused even during long reads. Ten times as many updates must not take
/// more memory.
#[test]
fn a_long_reader_bounds_what_versions_take() {
    let options = LongReaderOptions { records: 2000, sections: 2, ..LongReaderOptions::default() };
    let workload = LongReader::new(options).expect("good options");
    let mut graphite = MachineDescription::load("graphite").expect("a built-in machine");
    // Many short transactions.
    graphite.core.record_access_cycles = 0;
    let graphite = Arc::new(graphite);
    for protocol in protocols() {
        let measured = |measured_s: f64| {
            let plan = plan(shared(protocol), 8, measured_s, false);
            let make = |seed| {
                let options = SimulatedOptions { seed, ..SimulatedOptions::default() };
                Simulated::new(graphite.clone(), options)
            };
            let repetitions = run(&make, &workload, &plan, &Word::new(0), &mut |_| {});
            let total = &repetitions.as_ref().expect("can run")[0];
            println!(
                "{protocol:12} {measured_s} s: {} scans, {} updates, {} bytes more",
                total.total.commits[0], total.total.commits[1], total.grown_bytes
            );
            (total.total.commits[1], total.grown_bytes)
        };
        let ((few, less), (many, more)) = (measured(0.000_4), measured(0.004));
        assert!(many > 4 * few, "{protocol}: {few} and {many} updates");
        // Random variation may take one more slab of versions.
        assert!(more <= less + less / 2 + 65_536, "{protocol}: {less}, then {more} bytes");
    }
}

#[test]
fn the_register_changes_as_its_ledger_says() {
    for audit in [false, true] {
        let options =
            TatpOptions { subscribers: 300, partitions: 4, audit, ..TatpOptions::default() };
        certified(&Tatp::new(options).expect("good options"));
    }
}

#[test]
fn no_update_of_the_papers_micro_benchmarks_is_lost() {
    let hot = HotColdOptions {
        records: 1000,
        partitions: 8,
        remote: 2,
        updates: true,
        ..Default::default()
    };
    certified(&HotCold::new(hot.clone()).expect("good options"));
    let anywhere = HotColdOptions { remote: 0, anywhere: true, whole_records: true, ..hot };
    certified_apart(&HotCold::new(anywhere).expect("good options"));
    let sites = SitesOptions { site_rows: 50, updates: true, ..SitesOptions::default() };
    certified(&Sites::new(sites).expect("good options"));
    let pairs = KeyValueOptions { records: 100, accesses: 10, updates: true, strings: true };
    certified(&KeyValue::new(pairs).expect("good options"));
}

/// Returns options of transactions of several partitions, among transactions of one.
fn of_several_partitions() -> YcsbOptions {
    YcsbOptions {
        records: 400,
        partitions: 8,
        multi_partition_share: 0.4,
        partitions_per_transaction: 3,
        read_ratio: 0.5,
        theta: 0.8,
        ..YcsbOptions::default()
    }
}

/// Checks runs of YCSB under every architecture.
fn partitions_are_isolated(options: YcsbOptions) {
    certified_apart(&Ycsb::new(options).expect("good options"));
}

#[test]
fn partitions_are_isolated_from_a_local_one() {
    partitions_are_isolated(YcsbOptions { local_partition: true, ..of_several_partitions() });
}

#[test]
fn partitions_are_isolated_from_any() {
    partitions_are_isolated(YcsbOptions { local_partition: false, ..of_several_partitions() });
}

#[test]
fn partitions_are_isolated_where_accesses_are_scattered() {
    let scattered =
        YcsbOptions { scattered: true, multi_partition_share: 0.0, ..of_several_partitions() };
    partitions_are_isolated(scattered);
}

#[test]
fn partitions_are_isolated_where_scans_cross_them() {
    let scans = YcsbOptions { scan_ratio: 0.2, scan_length: 20, ..of_several_partitions() };
    partitions_are_isolated(scans);
}

#[test]
fn partitions_of_counters_are_isolated() {
    let counters = CountersOptions { partitions: 5, ..CountersOptions::mixed() };
    certified_apart(&Counters::new(counters).expect("good options"));
}

#[test]
fn warehouses_are_isolated() {
    let narrow = TpccOptions { warehouses: 4, items: 100, mix: Mix::NARROW, ..Default::default() };
    certified_apart(&Tpcc::new(narrow).expect("good options"));
}

#[test]
fn tpcc_keeps_its_consistency_conditions() {
    let options = TpccOptions {
        warehouses: 2,
        districts: 3,
        customers_per_district: 40,
        items: 100,
        remote_new_order: 0.1,
        ..TpccOptions::default()
    };
    for (mix, schema) in [(Mix::FULL, SchemaSize::Full), (Mix([2, 2, 1, 2, 1]), SchemaSize::Small)]
    {
        let options = TpccOptions { mix, schema, ..options.clone() };
        certified(&Tpcc::new(options).expect("good options"));
    }
}

/// The law covers every commit, including those of the warm-up. It holds after every run with concurrency control,
/// and a violation shows after a run without.
#[test]
fn a_law_that_a_run_broke_is_told() {
    let graphite = MachineDescription::load("graphite").expect("a built-in machine");
    let graphite = Arc::new(graphite);
    let workload = Tpcb::new(TpcbOptions { branches: 1, accounts: 50, ..TpcbOptions::default() });
    let workload = workload.expect("good options");
    let broken = |protocol| {
        let make = |seed| {
            let options = SimulatedOptions { seed, ..SimulatedOptions::default() };
            Simulated::new(graphite.clone(), options)
        };
        let plan = plan(shared(protocol), 16, 0.000_3, true);
        let repetitions = run(&make, &workload, &plan, &Word::new(0), &mut |_| {});
        repetitions.expect("can run").remove(0).broken_law
    };
    assert_eq!(broken("NO_WAIT"), None);
    let told = broken("NO_CC").expect("updates are lost at the only branch");
    assert!(told.contains("the history adds up to"), "{told}");
}
