//! The life of an attempt: begin, prepare at every site, commit at every site, or abort at every site.

use super::{Rows, Work};
use crate::Start;
use machine::{Category, Core, Machine};
use protocols::{CommitLog, faults};
use txn::Abort;

impl<'s, M: Machine> Rows<'s, M> {
    /// An attempt begins; then it begins at its sites.
    #[inline(always)]
    pub fn begin(&mut self) {
        assert!(!self.open, "begin inside a transaction");
        let breakdown = self.core.breakdown();
        if breakdown.enabled() {
            breakdown.attempt_begins(self.core.now());
        }
        self.open = true;
        self.attempts += 1;
        if !self.unwatched
            && let Some(recorder) = &mut self.recorder
        {
            recorder.begin(self.core);
        }
        self.bare = self.unwatched && !breakdown.enabled();
    }

    /// An attempt that was [bare](Rows::is_bare) to its end has committed; its sites have been left.
    #[inline(always)]
    pub fn committed_barely(&mut self) {
        self.purge.committed();
        self.open = false;
        self.bare = false;
    }

    /// Fails when the attempt is doomed, or when there is none.
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
    /// Begins an attempt.
    pub fn begin(&mut self, start: Start<'_>) {
        self.rows.begin();
        let mut txn = self.rows.txn(start);
        let own_ages = self.rows.core.is_planted(faults::SITES_DRAW_THEIR_OWN_AGES);
        for at in 0..self.sites.count() {
            let site = self.sites.site(at);
            site.begin(txn);
            // The first site draws a timestamp if the protocol needs one, and all others go by it.
            txn.age = txn.age.or(site.age()).filter(|_| !own_ages);
        }
    }

    /// Runs one access of an attempt that is still alive; a failure dooms the attempt.
    pub fn access<T>(
        &mut self,
        access: impl FnOnce(&mut Self) -> Result<T, Abort>,
    ) -> Result<T, Abort> {
        self.rows.check_alive()?;
        let result = access(self);
        self.rows.core.account(Category::Useful);
        result.map_err(|abort| self.rows.doom(abort))
    }

    /// Prepares at every site, and returns the commit timestamp that all of them can accept: the first phase.
    ///
    /// A site that has been prepared keeps others from what the attempt writes there, until the attempt ends. Whether
    /// it also keeps them from overwriting what was read is told by [`Prepared`]: if not, or not up to the timestamp
    /// that is agreed on, the site confirms once all sites are prepared. What was read there was then valid at a
    /// moment at which the attempt's writes were kept from others at every site: the moment at which it is serialized.
    /// (Validating each site only before the next is prepared lets write skew through.)
    fn prepare(&mut self) -> Result<u64, Abort> {
        let count = self.sites.count();
        if count == 1 {
            return Ok(self.sites.site(0).prepare()?.least);
        }
        let mut votes = Vec::with_capacity(count);
        for at in 0..count {
            votes.push(self.sites.site(at).prepare()?);
        }
        let agreed = votes.iter().map(|vote| vote.least).max().unwrap_or(0);
        let confirms = !self.rows.core.is_planted(faults::VOTES_UNCONFIRMED);
        for (at, vote) in votes.iter().enumerate() {
            if confirms && vote.needs_confirmation(agreed) {
                self.sites.site(at).confirm(agreed)?;
            }
        }
        Ok(agreed)
    }

    /// Commits the attempt; on failure it is rolled back and the reason returned.
    pub fn commit(&mut self) -> Result<(), Abort> {
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
        self.gather_images();
        if !numbers_late {
            self.rows.log(timestamp);
        }
        let (version, id) = (self.rows.version(), self.rows.id());
        for at in 0..self.sites.count() {
            let writes = self.rows.recorder.as_mut().map(|recorder| recorder.writes());
            let mut log = CommitLog { version, writes };
            self.sites.site(at).commit(timestamp, &mut log);
        }
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

    /// Ends the attempt as if it had never been.
    pub fn rollback(&mut self) {
        assert!(self.rows.open, "rollback outside a transaction");
        self.abort();
    }

    /// As [`Work::rollback`], and says whether all that the attempt has read could have been committed.
    pub fn check_and_rollback(&mut self) -> Result<(), Abort> {
        assert!(self.rows.open, "rollback outside a transaction");
        let checked = match self.rows.doomed {
            Some(abort) => Err(abort),
            None => self.prepare().map(|_| ()),
        };
        self.abort();
        checked
    }

    fn abort(&mut self) {
        for at in 0..self.sites.count() {
            self.sites.site(at).abort();
        }
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

    fn end(&mut self) {
        for at in 0..self.sites.count() {
            self.sites.site(at).leave();
        }
        if let Some(logger) = &mut self.rows.logger {
            logger.end();
        }
        self.rows.open = false;
        self.rows.bare = false;
        self.rows.doomed = None;
    }
}
