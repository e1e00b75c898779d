//! Prints a machine file for the machine on which it runs.

fn main() {
    match simulator::probe::probe(&simulator::probe::ProbeOptions::default()) {
        Ok(probe) => print!("{}", probe.to_toml()),
        Err(error) => eprintln!("{error}"),
    }
}
