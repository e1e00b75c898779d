//! Rows for actions: a session's executors work on parts of its attempts, each with a state of its own, and the session adds what
//! they have done to its own state.

use super::{Recorder, Rows};
use machine::Machine;
use txn::Abort;

impl<'s, M: Machine> Rows<'s, M> {
    /// Makes a state for an executor of the session. It has no attempt yet.
    pub fn apart(&self) -> Rows<'s, M> {
        let recorder = self.recorder.as_ref().map(|_| Recorder::default());
        let batch = self.purge.batch();
        Rows::watched_by(self.core, self.store, self.session, (recorder, None), batch)
    }

    /// Returns true if the session's attempts are logged.
    pub fn is_logged(&self) -> bool {
        self.logger.is_some()
    }

    /// Opens the attempt of `session` in the state of an executor.
    pub fn take_part(&mut self, session: &Rows<'s, M>) {
        self.attempts = session.attempts;
        self.open = true;
        self.bare = self.unwatched;
        self.accessed = 0;
        if let (Some(own), Some(recorder)) = (&mut self.recorder, &session.recorder) {
            own.take_part(recorder);
        }
    }

    /// Adds what an executor has done to the state of the session, and closes the executor's attempt.
    pub fn take_back(&mut self, executor: &mut Rows<'s, M>) {
        executor.open = false;
        executor.bare = false;
        if let Some(abort) = executor.doomed.take() {
            self.doom(abort);
        }
        if let (Some(recorder), Some(part)) = (&mut self.recorder, &mut executor.recorder) {
            recorder.take_back(part);
        }
        self.purge.take_back(&mut executor.purge);
        self.values.take_back(&mut executor.values);
    }

    /// Forgets that an access has failed. For a planted bug.
    pub fn forgive(&mut self) {
        self.doomed = None;
    }

    /// Returns the reason for which an access of the running attempt has failed, if one has.
    pub fn doomed(&self) -> Option<Abort> {
        self.doomed
    }

    /// Has the session's work done on `core`.
    pub fn use_core(&mut self, core: &'s M::Core) {
        self.core = core;
    }
}
