//! Handles Ctrl-C, SIGTERM and SIGHUP. The first signal ends the running command, so that finished measurements are
//! kept. The second signal ends the program.

use crate::failure::Failure;
use machine::Word;

static STOP: Word = Word::new(0);

/// Starts to listen for the signals. The returned word becomes 1 when a signal arrives.
pub fn listen() -> Result<&'static Word, Failure> {
    ctrlc::set_handler(|| {
        if STOP.peek() != 0 {
            std::process::exit(130);
        }
        STOP.poke(1);
    })
    .map_err(|error| Failure::refused(format!("cannot listen for Ctrl-C: {error}")))?;
    Ok(&STOP)
}

/// Returns whether a signal has arrived.
pub fn requested() -> bool {
    STOP.peek() != 0
}
