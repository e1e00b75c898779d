//! Measures what is left of the peak under contention, with and without a limit on the number of transactions.

use super::{Measurement, measurement};

/// Work whose throughput falls when too many transactions run at the same time.
pub struct Contended {
    /// Name of the files.
    pub name: &'static str,
    pub title: &'static str,
    /// Workload and machine.
    pub work: &'static str,
    /// Numbers of cores without a limit, among which the peak is looked for. The lengths of these runs follow.
    peak: &'static str,
    /// Numbers of cores with a limit. The lengths of these runs follow.
    limited: &'static str,
    /// Cores of the whole machine. It is measured without a limit, too: for a short time, because a collapsed run simulates
    /// slowly.
    most: usize,
}

/// The work that is measured. On the chip all numbers of cores are on the same 1024 tiles, so that few cores are compared with many on
/// the same machine.
pub const CONTENDED: [Contended; 6] = [
    Contended {
        name: "ycsb-theta0.6",
        title: "YCSB, theta 0.6",
        work: "ycsb --theta 0.6 --read-ratio 0.5 --machine results/admission/chip1024.toml",
        peak: "64,128,256,512 --warm-up 0.05 --seconds 0.05",
        limited: "256,1024 --warm-up 0.5 --seconds 0.1",
        most: 1024,
    },
    Contended {
        name: "ycsb-theta0.8",
        title: "YCSB, theta 0.8",
        work: "ycsb --theta 0.8 --read-ratio 0.5 --machine results/admission/chip1024.toml",
        peak: "16,24,32,64,128,256 --warm-up 0.05 --seconds 0.1",
        limited: "64,256,1024 --warm-up 1 --seconds 0.2",
        most: 1024,
    },
    Contended {
        name: "ycsb-theta0.9",
        title: "YCSB, theta 0.9",
        work: "ycsb --theta 0.9 --read-ratio 0.5 --machine results/admission/chip1024.toml",
        peak: "8,12,16,32,64,128,256 --warm-up 0.1 --seconds 0.2",
        limited: "64,256,1024 --warm-up 1.5 --seconds 0.3",
        most: 1024,
    },
    Contended {
        name: "smallbank-hot",
        title: "SmallBank, 90 % of the transactions for 100 hot accounts",
        work: "smallbank --hot-accounts 100 --hot-share 0.9 --machine results/admission/chip1024.toml",
        peak: "32,64,128,256,512 --warm-up 0.03 --seconds 0.03",
        limited: "256,1024 --warm-up 0.3 --seconds 0.1",
        most: 1024,
    },
    Contended {
        name: "tpcc-4wh",
        title: "TPC-C, 4 warehouses, New-Order and Payment",
        work: "tpcc --warehouses 4 --mix narrow --machine results/admission/chip1024.toml",
        peak: "8,16,32,64,128,256 --warm-up 0.05 --seconds 0.1",
        limited: "64,256,1024 --warm-up 0.6 --seconds 0.2",
        most: 1024,
    },
    Contended {
        name: "superdome-flex",
        title: "YCSB, theta 0.8, on the Superdome Flex",
        work: "ycsb --theta 0.8 --read-ratio 0.5 --machine superdome-flex",
        peak: "14,28,56,112 --warm-up 0.005 --seconds 0.005",
        limited: "56,224,896 --warm-up 0.03 --seconds 0.01",
        most: 896,
    },
];

/// Protocols whose transactions contend. NO_CC's do not, and HSTORE's wait for their partition.
const PROTOCOLS: &str = "DL_DETECT,NO_WAIT,WAIT_DIE,WOUND_WAIT,BAMBOO,PLOR,OCC,SILO,TICTOC,MOCC,2V_NO_WAIT,MVCC,HEKATON,CICADA,SNAPSHOT,\
                         SSN,TIMESTAMP,ORDERED_2PL,ARIA";

impl Contended {
    /// Returns the names of the records of this work, without their endings: without a limit, without a limit on the whole
    /// machine, and with a limit.
    pub fn files(&self) -> [String; 3] {
        ["off", "off-most", "on"].map(|rule| format!("admission/{}-{rule}", self.name))
    }

    fn measurements(&self) -> [Measurement; 3] {
        let [off, off_most, on] = self.files();
        let run = |file: &str, rest: &str| {
            measurement(file, &format!("{} --cc {PROTOCOLS} --cores {rest}", self.work))
        };
        let most = format!("{} --warm-up 0.005 --seconds 0.01", self.most);
        [
            run(&off, self.peak),
            run(&off_most, &most),
            run(&on, &format!("{} --admission adaptive", self.limited)),
        ]
    }
}

/// Returns all measurements of this kind.
pub fn all() -> Vec<Measurement> {
    CONTENDED.iter().flat_map(Contended::measurements).collect()
}
