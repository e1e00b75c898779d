//! Runs a fixed number of transactions of one worker through a native session, for counting instructions.
//!
//! Usage: `transaction_cost WORKLOAD PROTOCOL TRANSACTIONS`. WORKLOAD is one of:
//!
//! - `ycsb-reads`: 16 reads of one field of 100 bytes.
//! - `ycsb-rows`: 16 reads of all ten fields.
//! - `ycsb`: 16 accesses to one field, half of them updates.
//! - `tpcc-narrow`: New-Order and Payment, in equal shares.
//! - `tpcc`: the full mix.
//!
//! `transaction_cost protocols` lists the protocols.

use engine::{
    EngineOptions, Session, Start, TypedEngine,
    registry::{self, EngineVisitor, with_engine},
};
use machine::{ArenaOptions, Machine, Native, NativeOptions, cold::Arc};
use protocols::ProtocolOptions;
use protocols::registry::declarations;
use std::any::Any;
use txn::{AbortReason, Client, Workload};
use workloads::tpcc::{Mix, Tpcc, TpccOptions};
use workloads::ycsb::{Ycsb, YcsbOptions};

struct Count<'w, W> {
    workload: &'w W,
    protocol: &'w str,
    transactions: u64,
}

impl<W: Workload> EngineVisitor<Native> for Count<'_, W> {
    type Output = u64;

    fn visit<E: TypedEngine<Native>>(self) -> u64 {
        let arena = ArenaOptions { reserve_bytes: 2 << 30, ..ArenaOptions::default() };
        let options = NativeOptions { arena, pin: false, ..NativeOptions::default() };
        let machine = Arc::new(Native::new(options).expect("address space"));
        let partitions = Some(self.workload.schema().partitions());
        let options = EngineOptions {
            protocol: ProtocolOptions { partitions, ..ProtocolOptions::default() },
            epoch_interval_ticks: machine.clock_hz(),
            ..EngineOptions::for_sessions(2)
        };
        let engine = registry::native(registry::DEFAULT, self.protocol, &machine, &options)
            .expect("room for an engine");
        engine.load(self.workload, 1).expect("room for the rows");
        let core = machine.core(0);
        let engine: &dyn Any = &*engine;
        let engine: &E = engine.downcast_ref().expect("the engine of that protocol");
        let mut session = engine.typed_session(&core, 0);
        let mut client = self.workload.client(0, 1, 1);
        let (mut partitions, mut plan) = (Vec::new(), Vec::new());
        let mut committed = 0;
        for _ in 0..self.transactions {
            client.next();
            // As in `harness::drive`, a client is asked only for what has an effect.
            if session.locks_partitions() {
                partitions.clear();
                client.partitions(&mut partitions);
            }
            if session.plans() {
                plan.clear();
                client.plan(&mut plan);
            }
            session.begin(Start {
                attempt: 0,
                age: None,
                read_only: client.read_only(),
                partitions: &partitions,
                plan: &plan,
            });
            match client.run(&mut session) {
                Ok(()) => {
                    session.commit().expect("alone, nothing conflicts");
                    committed += 1;
                }
                Err(abort) => {
                    assert_eq!(abort.reason, AbortReason::User, "alone, nothing conflicts");
                    session.rollback();
                }
            }
            session.maintain();
        }
        drop(session);
        committed
    }
}

fn count<W: Workload>(workload: &W, protocol: &str, transactions: u64) -> Option<u64> {
    let count = Count { workload, protocol, transactions };
    with_engine::<Native, _>(registry::DEFAULT, protocol, &ProtocolOptions::default(), count).ok()
}

fn ycsb(read_ratio: f64, all_fields: bool) -> Ycsb {
    let options = YcsbOptions { records: 4096, read_ratio, all_fields, ..YcsbOptions::default() };
    Ycsb::new(options).expect("good options")
}

fn tpcc(mix: Mix) -> Tpcc {
    let options =
        TpccOptions { items: 1000, customers_per_district: 30, mix, ..TpccOptions::default() };
    Tpcc::new(options).expect("good options")
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["protocols"] {
        let declared = declarations::<Native>(&ProtocolOptions::default());
        declared.iter().for_each(|declaration| println!("{}", declaration.name));
        return;
    }
    let outcome = match &arguments[..] {
        [workload, protocol, transactions] => {
            transactions.parse().ok().and_then(|transactions| match workload.as_str() {
                "ycsb-reads" => count(&ycsb(1.0, false), protocol, transactions),
                "ycsb-rows" => count(&ycsb(1.0, true), protocol, transactions),
                "ycsb" => count(&ycsb(0.5, false), protocol, transactions),
                "tpcc-narrow" => count(&tpcc(Mix::NARROW), protocol, transactions),
                "tpcc" => count(&tpcc(Mix::FULL), protocol, transactions),
                _ => None,
            })
        }
        _ => None,
    };
    match outcome {
        Some(committed) => println!("{committed} committed"),
        None => {
            eprintln!(
                "usage: transaction_cost ycsb-reads|ycsb-rows|ycsb|tpcc-narrow|tpcc PROTOCOL TRANSACTIONS"
            );
            std::process::exit(2);
        }
    }
}
