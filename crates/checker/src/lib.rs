//! Certifies histories: serializable, strict, or the shortest cycle.
//!
//! [`check`] takes what a run recorded ([`txn::History`]) and answers with a [`Certificate`], in time
//! about linear in the number of accesses:
//!
//! 1. `accesses` and `versions`: the recorded reads and writes are joined record by record. Because
//!    each write names the version that it overwrote, the version order is known and no search is
//!    needed (recovering it is what makes the general problem NP-complete: Papadimitriou, "The
//!    serializability of concurrent database updates", JACM 1979; Biswas & Enea, "On the complexity
//!    of checking transactional consistency", OOPSLA 2019). What no correct run can record at all is
//!    reported as a [`Defect`]: aborted and intermediate reads, forked version orders, and so on.
//! 2. `graph`: the direct serialization graph of Adya ("Weak consistency: a generalized theory and
//!    optimistic implementations for distributed transactions", MIT 1999): write dependencies (ww),
//!    read dependencies (wr), anti-dependencies (rw). Reads of absent rows read a version like any
//!    other, so phantoms on a single key need no special case. `scans`: what a scanned range does not
//!    list has been read as well, as the key's first version.
//! 3. `order`: serializable if and only if that graph has no cycle; the same pass tells whether
//!    some serial order also keeps real time.
//! 4. `cycle`, `inversion`: on failure only, a shortest cycle, and `explain` says why each of its
//!    edges is there.
//!
//! [`exhaustive`] is the definition itself, by trying all permutations: slow, obvious, and what the
//! fast path is tested against.
//!
//! Not covered yet: levels weaker than serializability. Edges carry their kind so that weaker levels
//! can select among them.
//!
//! A history must start at the load: versions whose writers were left out look aborted.

mod accesses;
mod certificate;
mod counterexample;
mod cycle;
mod defect;
mod epochs;
pub mod exhaustive;
mod explain;
mod graph;
mod inversion;
mod numbering;
mod order;
mod print;
mod scans;
mod versions;

pub use certificate::{Certificate, EdgeCounts, Requirements, Verdict};
pub use counterexample::{Counterexample, Involved, Phenomenon, Step};
pub use defect::{Defect, RecordVersion};
pub use epochs::against_epochs;
pub use explain::Link;
pub use graph::Dependency;

use numbering::Numbering;
use txn::History;

/// Certifies `history`: each of the `requirements` gets a verdict, and the first that fails a
/// counter-example.
///
/// # Panics
///
/// When the history holds 2^30 transactions or more.
pub fn check(history: &History, requirements: Requirements) -> Certificate {
    let numbering = Numbering::of(history);
    let mut certificate = Certificate::unchecked(history);
    if requirements == Requirements::NOTHING {
        return certificate;
    }
    let mut found = defect::Findings::default();
    let (graph, edges) = versions::dependencies(&numbering, &mut found);
    certificate.edges = edges;
    certificate.defects = found.count();

    let order = order::order(&graph, numbering.spans());
    let acyclic = order.sequence.len() == numbering.len();
    let serializable = acyclic && found.count() == 0;
    let strict = serializable && order.keeps_real_time && found.clock.is_none();
    if requirements.serializable {
        certificate.serializable = Verdict::from_passed(serializable);
    }
    if requirements.strict {
        certificate.strict = Verdict::from_passed(strict);
    }

    certificate.counterexample = if let Some(defect) = found.earliest {
        Some(Counterexample::of_defect(&numbering, defect))
    } else if !acyclic {
        let cycle = cycle::shortest(&graph, &order, numbering.spans());
        Some(Counterexample::of_cycle(&numbering, cycle))
    } else if strict || !requirements.strict {
        None
    } else if let Some(defect) = found.clock {
        Some(Counterexample::of_defect(&numbering, defect))
    } else {
        let cycle = inversion::shortest(&graph, &order.sequence, numbering.spans());
        Some(Counterexample::of_cycle(&numbering, cycle))
    };
    if let Some(counterexample) = &mut certificate.counterexample {
        counterexample.spell(&history.spelled);
    }
    certificate
}
