//! The background thread: moves epochs on while the database is open.

use crate::Error;
use engine::Engine;
use machine::{
    Native,
    cold::{Arc, Condvar, Mutex},
};
use std::{
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

#[derive(Default)]
struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

/// The thread; stopped and joined on drop.
pub(crate) struct Background {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts the engine's services as core number `core`, every `interval`.
    pub fn start(
        machine: Arc<Native>,
        engine: Arc<dyn Engine<Native>>,
        core: usize,
        interval: Duration,
    ) -> Result<Background, Error> {
        let stop = Arc::new(Stop::default());
        let theirs = stop.clone();
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
                services.iter().for_each(|service| (service.tick)(&core));
            }
        };
        let thread = thread::Builder::new().name("kilocore-epochs".into()).spawn(body);
        let refused = |error: std::io::Error| Error::System {
            what: "a thread for the epochs",
            message: error.to_string(),
        };
        Ok(Background { stop, thread: Some(thread.map_err(refused)?) })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        *self.stop.asked.lock() = true;
        self.stop.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by the panic hook; dropping must not start another.
            let _ = thread.join();
        }
    }
}
