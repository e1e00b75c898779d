//! Ctrl-C, SIGTERM and SIGHUP: the first one ends what is running, so that what was measured is kept; the second one
//! ends the program.

use crate::failure::Failure;
use machine::Word;

static STOP: Word = Word::new(0);

/// Listens for them from now on. The word becomes 1 when it comes.
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

/// Whether one has come.
pub fn requested() -> bool {
    STOP.peek() != 0
}
