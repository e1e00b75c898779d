//! YCSB transactions of one worker through a native shared-everything session, a fixed number of them:
//! for counting instructions. `transaction_cost PROTOCOL READ_RATIO TRANSACTIONS`

use architectures::{Architecture, EngineOptions, Session, SharedEverything};
use machine::{ArenaOptions, Machine, Native, NativeOptions, cold::Arc};
use protocols::{
    Protocol, ProtocolOptions, Start,
    registry::{Visitor, with_protocol},
};
use txn::{Client, Workload};
use workloads::ycsb::{Ycsb, YcsbOptions};

struct Count {
    read_ratio: f64,
    transactions: u64,
}

impl Visitor<Native> for Count {
    type Output = u64;

    fn visit<P: Protocol<Native>>(self) -> u64 {
        let workload = Ycsb::new(YcsbOptions {
            records: 4096,
            read_ratio: self.read_ratio,
            ..YcsbOptions::default()
        })
        .expect("good options");
        let arena = ArenaOptions { reserve_bytes: 256 << 20, ..ArenaOptions::default() };
        let options = NativeOptions { arena, pin: false, ..NativeOptions::default() };
        let machine = Arc::new(Native::new(options).expect("address space"));
        let options = EngineOptions {
            protocol: ProtocolOptions::default(),
            sessions: 2,
            record_history: false,
            purge_batch: 64,
            epoch_interval_ticks: machine.clock_hz(),
        };
        let engine = SharedEverything::<Native, P>::create(machine.clone(), &options)
            .expect("room for an engine");
        engine.load(&workload, 1).expect("room for 4096 records");
        let core = machine.core(0);
        let mut session = engine.session(&core, 0);
        let mut client = workload.client(0, 1, 1);
        for _ in 0..self.transactions {
            client.next();
            session.begin(Start { attempt: 0, read_only: client.read_only(), partitions: &[] });
            client.run(&mut session).expect("alone, nothing conflicts");
            session.commit().expect("alone, nothing conflicts");
            session.maintain();
        }
        drop(session);
        client.checksum()
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match &arguments[..] {
        [protocol, read_ratio, transactions] => read_ratio
            .parse()
            .ok()
            .zip(transactions.parse().ok())
            .map(|(read_ratio, transactions)| (protocol, Count { read_ratio, transactions })),
        _ => None,
    };
    let outcome = parsed.and_then(|(name, count)| {
        with_protocol::<Native, _>(name, &ProtocolOptions::default(), count).ok()
    });
    match outcome {
        Some(checksum) => println!("checksum {checksum:016x}"),
        None => {
            eprintln!("usage: transaction_cost PROTOCOL READ_RATIO TRANSACTIONS");
            std::process::exit(2);
        }
    }
}
