//! Admission: a limit on the number of transactions that run at the same time.
//!
//! Sources: Heiss and Wagner, "Adaptive Load Control in Transaction Processing Systems", VLDB 1991 (a limit that is
//! regulated by its effect on throughput); Moenkeberg and Weikum, "Performance Evaluation of an Adaptive and Robust Load
//! Control Method for the Avoidance of Data-Contention Thrashing", VLDB 1992 (control before a collapse, not after it).
//!
//! **Why.** Each transaction that runs makes conflicts likelier for all others. Beyond some number of transactions the
//! work that is lost to waiting and to aborts grows faster than the work that is done: throughput falls although cores
//! are added. Which number that is depends on the protocol, the workload and the machine. So a transaction needs a
//! *permit* before its first attempt begins, and the *limit* is the number of permits. It is fixed, or a [`Regulator`]
//! sets it by its effect on the rate of commits. No protocol knows of it.
//!
//! A transaction has these states:
//!
//! ```text
//!          enter                granted              commit, given up, put aside, gives way, panic
//! outside -------> waiting ----------------> admitted ------------------------------------------> outside
//!                  (nothing is held)         (attempts, back-offs)        the permit is released
//! ```
//!
//! - **Nothing is held by a transaction that waits for a permit.** It has not begun: it has no locks, no timestamp, no
//!   place in a batch, no epoch. So no admitted transaction waits for one that is not admitted, and permits add no edge to
//!   a cycle of waits. If the admitted transactions end under a protocol without a limit, they end with one.
//! - **A permit is kept over the retries of its transaction**, and over its back-offs. So those that were aborted go before
//!   those that have not begun. A transaction that is put aside (its worker goes on with another one) releases its permit,
//!   because its worker asks for another one.
//! - **After an abort a transaction gives way** if more transactions run than the limit allows, because it was lowered. It
//!   releases its permit, and asks for another one before its next attempt. Between two attempts it holds nothing, as
//!   before the first one. So a system that aborts a lot has few transactions soon after the limit fell.
//! - **No permit is lost.** A [`Permit`] releases itself when it is dropped, also by a panic.
//! - **No transaction starves** where the permits are granted in the order of requests (`permits.rs`): each session has at
//!   most one request, a group's next turn serves all that wait in it, and before that each other group has at most one turn.
//!   So a request waits for about as many grants as there are sessions. A transaction that gives
//!   way waits once more, which a limit that falls again and again could repeat. The regulator raises a ceiling later after
//!   each collapse, so that collapses become rare. Where the system can take the processor from a session, the first running
//!   session that comes takes a free permit, as with latches ([`machine::Core::overtakes`]). There it is likely but not
//!   certain that each gets its turn.
//! - **There are never more transactions admitted than the largest limit in force since they were admitted.** A lower limit
//!   interrupts nobody: permits that are released are not granted again until few enough are out.
//!
//! **What was measured and left out.** A worker that runs several transactions with one permit finds more of its lines in
//! its cache. On the 1024 modelled tiles this changed throughput by less than the noise, and the others waited that much
//! longer. So each transaction gets a permit of its own.
//!
//! If the limit is not below the number of sessions, a transaction enters without a permit. That costs one load of a
//! word that hardly ever changes.

mod limits;
mod options;
mod permits;
mod regulator;

pub use limits::Limits;
pub use options::{AdmissionPolicy, NotAnAdmission};
pub use permits::{Applicant, Permit, Permits};
pub use regulator::{Regulator, Sample};
