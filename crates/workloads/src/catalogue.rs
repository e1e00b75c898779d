//! The workloads by name, for a listing.

/// What a listing says of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name on the command line and in records.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Where it is described: paper and section.
    pub source: &'static str,
}

/// Every workload.
pub const CATALOGUE: &[Entry] = &[
    Entry {
        name: "ycsb",
        summary: "independent reads, updates, inserts and scans of one table; A to F are presets",
        source: "Cooper et al., SoCC 2010; as transactions: Staring into the Abyss, 3.3",
    },
    Entry {
        name: "counters",
        summary: "increments, transfers, sums and moves under laws that a wrong protocol breaks",
        source: "ours; it is what the explorer runs",
    },
    Entry {
        name: "ranges",
        summary: "scans, and inserts and deletes that depend on them, under laws that a phantom breaks",
        source: "ours; it is what the explorer runs",
    },
    Entry {
        name: "rooms",
        summary: "people found through secondary indexes that others change, under laws that an index breaks",
        source: "ours; it is what the explorer runs",
    },
    Entry {
        name: "timestamps",
        summary: "each transaction draws one timestamp and does nothing else",
        source: "Staring into the Abyss, 4.3 and figure 6",
    },
    Entry {
        name: "tpcc",
        summary: "TPC-C: five transactions on the nine tables of a wholesale supplier",
        source: "TPC-C 5.11, 2010; Staring into the Abyss, 5.6; The Full Story of 1000 Cores",
    },
    Entry {
        name: "tpcc-accesses",
        summary: "a stand-in for the accesses of TPC-C's orders and payments",
        source: "the narrow mix of The Full Story of 1000 Cores; TPC-C itself is not this",
    },
    Entry {
        name: "smallbank",
        summary: "a bank's deposits, checks and payments, among which write skew can happen",
        source: "Alomari, Cahill, Fekete, Roehm, ICDE 2008; mix and amounts of H-Store's version",
    },
    Entry {
        name: "hot-cold",
        summary: "ten records, some of a hot set, some of other partitions",
        source: "Trireme (VLDB 2017), 4 and 5.1",
    },
    Entry {
        name: "sites",
        summary: "N rows of one site, or one of it and the others of all sites",
        source: "Hardware Islands, 3.2.2 and 3.4.3",
    },
    Entry {
        name: "key-value",
        summary: "1, 10 or 100 random rows of a table of keys and values",
        source: "Micro-architecture of OLTP (2021), 3 and 4",
    },
    Entry {
        name: "long-reader",
        summary: "scans over a tenth of a table beside short updates",
        source: "ours; after what Staring into the Abyss, 2.2, says of versions",
    },
    Entry {
        name: "tatp",
        summary: "TATP: seven transactions of a mobile network's register, many of which find nothing",
        source: "TATP description 1.0, 2009; Hardware Islands, 4.5",
    },
    Entry {
        name: "tpcb",
        summary: "TPC-B: an account, a teller and a branch get an amount, the history a row",
        source: "TPC-B 2.0, 1994; Hardware Islands, 3.5.1; Micro-architecture of OLTP, 5.1",
    },
];

/// The workload called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_find_their_entries() {
        for entry in CATALOGUE {
            assert_eq!(find(entry.name), Some(entry));
            assert!(!entry.summary.contains('\n') && !entry.source.is_empty());
        }
        assert_eq!(find("tpcd"), None);
    }
}
