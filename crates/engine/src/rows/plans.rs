//! Accesses that are announced before the transaction runs.
//!
//! All planned records are looked up before the protocol prepares the first one. A look-up can have to make the record of
//! an absent key, and to wait for the range in which it makes it. The attempt holds nothing then, so it keeps nobody
//! waiting. The sites follow their plans one after another, in the order of their numbers, so that locks have one order
//! for all sites.
//!
//! Natively, where one site has all data, it plans most accesses itself (`site/announced.rs`), and only the others come here.

use super::{Sited, Work};
use machine::{Category, Core, Machine};
use txn::{Abort, Intent, Key, Planned};

impl<'s, M: Machine> Work<'_, 's, M> {
    /// Plans the accesses of the attempt that has just begun, if there are any and the protocol plans accesses. A
    /// failure dooms the attempt.
    pub fn plan(&mut self, plan: &[Planned]) {
        if !plan.is_empty() && self.part(0).plans() {
            self.plan_left(plan);
        }
    }

    /// Plans the accesses `left`. The sites know the other accesses of the plan already.
    pub fn plan_left(&mut self, left: &[Planned]) {
        let category = self.rows.core.account(Category::Index);
        if let Err(abort) = self.look_up(left).and_then(|()| self.follow_plan()) {
            self.rows.doom(abort);
        }
        self.rows.core.account(category);
    }

    fn look_up(&mut self, plan: &[Planned]) -> Result<(), Abort> {
        for access in plan {
            let Planned { table, key, columns, intent } = *access;
            let (at, _) = self.locate(table, Key::Number(key), None)?;
            if !self.bypasses(at.record, columns, intent) {
                self.plan_row(at, columns, intent);
            }
        }
        Ok(())
    }

    /// Announces an access to a record, or to one part of a row with hot columns. The instructions of the access are
    /// charged when it is made.
    pub(super) fn plan_record(&mut self, at: Sited<'s, M>, intent: Intent) {
        self.sites.site(at.site).plan(at.record, intent);
    }

    fn follow_plan(&mut self) -> Result<(), Abort> {
        (0..self.sites.taking_part()).try_for_each(|at| self.part(at).follow_plan())
    }
}
