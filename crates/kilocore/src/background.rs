//! The background thread: it advances epochs while the database is open.

use crate::Error;
use engine::Engine;
use machine::{
    Native, Word,
    cold::{Arc, Condvar, Mutex},
};
use std::{
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Request to stop, from the owner to the thread.
#[derive(Default)]
struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

/// The background thread. Dropping this stops and joins it.
pub(crate) struct Background {
    stop: Arc<Stop>,
    /// Number of intervals that have passed.
    ticks: Arc<Word>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts a thread that ticks the engine's services every `interval`, as core number `core`.
    pub fn start(
        machine: Arc<Native>,
        engine: Arc<dyn Engine<Native>>,
        core: usize,
        interval: Duration,
    ) -> Result<Background, Error> {
        let (stop, ticks) = (Arc::new(Stop::default()), Arc::new(Word::new(0)));
        let (theirs, counted) = (stop.clone(), ticks.clone());
        let body = move || {
            let core = machine.core(core);
            let services = engine.services();
            let mut asked = theirs.asked.lock();
            loop {
                let next = Instant::now() + interval;
                while !*asked && !theirs.changed.wait_until(&mut asked, next).timed_out() {}
                if *asked {
                    return;
                }
                counted.poke(counted.peek() + 1);
                services.iter().for_each(|service| (service.tick)(&core));
            }
        };
        let thread = thread::Builder::new().name("kilocore-epochs".into()).spawn(body);
        let refused = |error: std::io::Error| Error::System {
            what: "a thread for the epochs",
            message: error.to_string(),
        };
        Ok(Background { stop, ticks, thread: Some(thread.map_err(refused)?) })
    }

    /// Returns the number of intervals that have passed since the start.
    #[inline]
    pub fn ticks(&self) -> &Word {
        &self.ticks
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        *self.stop.asked.lock() = true;
        self.stop.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // The panic hook has already reported a panic of that thread. A drop must not raise another panic.
            let _ = thread.join();
        }
    }
}
