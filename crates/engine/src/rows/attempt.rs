//! The life of an attempt: begin, prepare at every site, commit at every site, or abort at every site.

use super::{Rows, Work};
use crate::{Start, site::Site};
use machine::{Category, Core, Machine};
use protocols::{CommitLog, faults};
use txn::Abort;

/// The end of an attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    /// It commits with this timestamp.
    Commit(u64),
    Abort,
}

impl<'s, M: Machine> Rows<'s, M> {
    /// Begins an attempt here. The caller then begins it at its sites.
    #[inline(always)]
    pub fn begin(&mut self) {
        assert!(!self.open, "begin inside a transaction");
        let breakdown = self.core.breakdown();
        if breakdown.enabled() {
            breakdown.attempt_begins(self.core.now());
        }
        self.open = true;
        self.attempts += 1;
        self.accessed = 0;
        if !self.unwatched
            && let Some(recorder) = &mut self.recorder
        {
            recorder.begin(self.core);
        }
        self.bare = self.unwatched && !breakdown.enabled();
    }

    /// Ends the attempt at a site. Installed writes go to the history.
    #[inline]
    pub fn end_at(&mut self, site: &mut dyn Site<'s, M>, ending: Ending) {
        match ending {
            Ending::Commit(timestamp) => {
                let version = self.version();
                let writes = self.recorder.as_mut().map(|recorder| recorder.writes());
                site.commit(timestamp, &mut CommitLog { version, writes });
            }
            Ending::Abort => site.abort(),
        }
    }

    /// Ends an attempt that has committed and stayed [bare](Rows::is_bare). The caller has left the sites
    /// already.
    #[inline(always)]
    pub fn committed_barely(&mut self) {
        self.purge.committed();
        self.open = false;
        self.bare = false;
    }

    /// Fails if the attempt is doomed. Panics if there is no attempt.
    #[inline]
    fn check_alive(&self) -> Result<(), Abort> {
        if let Some(abort) = self.doomed {
            return Err(abort);
        }
        assert!(self.open, "an access outside a transaction");
        Ok(())
    }
}

impl<'s, M: Machine> Work<'_, 's, M> {
    /// Begins an attempt that can change an index, too.
    pub fn begin(&mut self, start: Start<'_>) {
        self.begin_with(start, false);
    }

    /// Begins an attempt. `alone` is set if it has one site and accesses rows only ([`protocols::Txn::alone`]).
    pub fn begin_with(&mut self, start: Start<'_>, alone: bool) {
        self.rows.begin();
        let mut txn = self.rows.txn(start, alone);
        let own_ages = self.rows.core.is_planted(faults::SITES_DRAW_THEIR_OWN_AGES);
        self.sites.enter(&txn);
        for at in 0..self.sites.taking_part() {
            let site = self.part(at);
            site.begin(txn);
            // The first site draws a timestamp if the protocol needs one. All other sites use the same
            // timestamp.
            txn.age = txn.age.or(site.age()).filter(|_| !own_ages);
        }
        self.plan(start.plan);
    }

    /// Returns a site that takes part in the running attempt. `at` counts these sites.
    #[inline]
    pub(super) fn part(&mut self, at: usize) -> &mut dyn Site<'s, M> {
        let number = self.sites.part(at);
        self.sites.site(number)
    }

    /// Runs one access of an attempt that is still alive. A failed access dooms the attempt.
    #[inline(always)]
    pub fn access<T>(
        &mut self,
        access: impl FnOnce(&mut Self) -> Result<T, Abort>,
    ) -> Result<T, Abort> {
        self.rows.check_alive()?;
        let result = access(self);
        self.rows.core.account(Category::Useful);
        result.map_err(|abort| self.rows.doom(abort))
    }

    /// Prepares at every site and returns a commit timestamp that all of them accept. This is the first phase
    /// of two-phase commit.
    ///
    /// A prepared site protects the rows that the attempt writes there until the attempt ends. [`Prepared`]
    /// says whether the site also protects the rows that were read from overwriting. If it does not, or not up
    /// to the agreed timestamp, the site confirms after all sites are prepared. The reads at that site were
    /// then valid at a moment at which every site protected the attempt's writes. This moment is the attempt's
    /// serialization point.
    ///
    /// Validating each site before the next one is prepared would not suffice: it would permit write skew.
    fn prepare(&mut self) -> Result<u64, Abort> {
        let count = self.sites.taking_part();
        if count == 1 {
            return Ok(self.part(0).prepare()?.least);
        }
        let mut votes = Vec::with_capacity(count);
        for at in 0..count {
            votes.push(self.part(at).prepare()?);
        }
        let agreed = votes.iter().map(|vote| vote.least).max().unwrap_or(0);
        let confirms = !self.rows.core.is_planted(faults::VOTES_UNCONFIRMED);
        for (at, vote) in votes.iter().enumerate() {
            if confirms && vote.needs_confirmation(agreed) {
                self.part(at).confirm(agreed)?;
            }
        }
        Ok(agreed)
    }

    /// Commits the attempt. On failure it rolls the attempt back and returns the reason.
    pub fn commit(&mut self) -> Result<(), Abort> {
        let committed = self.commit_at_sites();
        self.sites.exit();
        committed
    }

    /// Does the work of [`Work::commit`], except that the attempt stays inside what [`Sites::enter`] has begun.
    pub(super) fn commit_at_sites(&mut self) -> Result<(), Abort> {
        assert!(self.rows.open, "commit outside a transaction");
        let core = self.rows.core;
        let prepared = match self.rows.doomed {
            Some(abort) => Err(abort),
            None => {
                core.account(Category::Commit);
                self.prepare()
            }
        };
        let timestamp = match prepared {
            Ok(timestamp) => timestamp,
            Err(abort) => {
                self.abort();
                return Err(abort);
            }
        };
        let numbers_late = core.is_planted(faults::NUMBERED_AFTER_RELEASE);
        if core.is_planted(faults::LATCHES_RELEASED_EARLY) {
            self.sites.exit();
        }
        self.gather_images();
        self.settle_values(timestamp);
        if !numbers_late {
            self.rows.log(timestamp);
        }
        let id = self.rows.id();
        self.end_at_sites(Ending::Commit(timestamp));
        if numbers_late {
            self.rows.log(timestamp);
        }
        if let Some(recorder) = &mut self.rows.recorder {
            recorder.committed(core, id, timestamp);
        }
        self.rows.purge.committed();
        self.end();
        core.account(Category::Useful);
        Ok(())
    }

    /// Rolls the attempt back.
    pub fn rollback(&mut self) {
        assert!(self.rows.open, "rollback outside a transaction");
        self.abort();
        if !self.rows.core.is_planted(faults::LATCHES_KEPT_AFTER_ROLLBACK) {
            self.sites.exit();
        }
    }

    /// Rolls the attempt back as [`Work::rollback`] does. Returns `Ok` only if everything that the attempt has
    /// read could have been committed.
    pub fn check_and_rollback(&mut self) -> Result<(), Abort> {
        assert!(self.rows.open, "rollback outside a transaction");
        let checked = match self.rows.doomed {
            Some(abort) => Err(abort),
            None => self.prepare().map(|_| ()),
        };
        self.abort();
        self.sites.exit();
        checked
    }

    fn abort(&mut self) {
        self.drop_values();
        self.end_at_sites(Ending::Abort);
        if let Some(recorder) = &mut self.rows.recorder {
            recorder.rolled_back();
        }
        self.rows.purge.rolled_back();
        self.end();
        let core = self.rows.core;
        if core.breakdown().enabled() {
            core.breakdown().attempt_aborted(core.now());
        }
    }

    /// Ends the attempt at all its sites, at some of them by the session's executors, if it has any.
    fn end_at_sites(&mut self, ending: Ending) {
        let count = self.sites.taking_part();
        if count < 2 || !self.sites.splits() {
            for at in 0..count {
                let number = self.sites.part(at);
                self.rows.end_at(self.sites.site(number), ending);
            }
            return;
        }
        for number in self.sites.start_endings(self.rows, ending) {
            self.rows.end_at(self.sites.site(number), ending);
        }
        self.sites.end_actions(self.rows).expect("an end does not fail");
    }

    fn end(&mut self) {
        for at in 0..self.sites.taking_part() {
            self.part(at).leave();
        }
        if let Some(logger) = &mut self.rows.logger {
            logger.end();
        }
        self.rows.open = false;
        self.rows.bare = false;
        self.rows.doomed = None;
    }
}
