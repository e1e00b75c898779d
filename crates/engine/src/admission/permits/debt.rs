//! The number of permits that are out beyond the limit, because it was lowered.
//!
//! A payment is one addition, and its result says whether there was a debt left to pay. A payment that comes too late has no
//! effect: the session keeps its permit, or grants it. So many sessions can pay at the same time, and the debt is known
//! exactly at each moment. For that, the debt is two counts in one word: permits owed, and payments. When the debt rises, both
//! begin anew, so payments that came too late do not count against later debts.
//!
//! Two other ways were wrong:
//!
//! - A compare-and-swap made nearly all attempts of many sessions fail. (Measured: SmallBank with 100 hot accounts, HEKATON,
//!   1024 Graphite cores. A debt of 181 permits took 20 ms, and nothing committed meanwhile.)
//! - A subtraction that is taken back if it came too late hides the next debt for a moment, in which a raise grants a permit
//!   instead of paying that debt: one transaction more than the limit was admitted.

use machine::{Core, Word};
use protocols::faults;

/// The number that a payment adds to the word.
const PAYMENT: u64 = 1;
/// Number of bits of each count.
const BITS: u32 = 32;

/// A debt: permits owed in the upper half of the word, and payments since the debt last rose in the lower half. Payments
/// beyond those owed had no effect, and there are at most as many as sessions.
#[repr(transparent)]
pub(super) struct Debt(Word);

impl Debt {
    /// Adds `permits` to the debt, which is on `line`. Only one core at a time calls this.
    pub fn rise<C: Core>(&self, core: &C, line: &C::Line, permits: u64) {
        if permits == 0 {
            return;
        }
        let mut seen = core.load(line, &self.0);
        loop {
            match core.cas(line, &self.0, seen, (left(seen) + permits) << BITS) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// Pays one unit, if there is a debt.
    pub fn pays<C: Core>(&self, core: &C, line: &C::Line) -> bool {
        if left(core.load(line, &self.0)) == 0 {
            return false;
        }
        left(core.fetch_add(line, &self.0, PAYMENT)) > 0
            || core.is_planted(faults::LATE_PAYMENT_TAKES)
    }

    /// Returns the debt, as a sample.
    pub fn left<C: Core>(&self, core: &C, line: &C::Line) -> u64 {
        left(core.load_relaxed(line, &self.0))
    }
}

/// Returns what is left of the debt that this word says.
fn left(word: u64) -> u64 {
    (word >> BITS).saturating_sub(word & ((1 << BITS) - 1))
}
