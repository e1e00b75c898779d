//! Starts the command `kilocore`.

use std::process::ExitCode;

fn main() -> ExitCode {
    kilocore_cli::main()
}
