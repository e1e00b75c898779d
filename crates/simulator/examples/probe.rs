//! Prints a machine file for the machine at hand.

fn main() {
    match simulator::probe::probe(&simulator::probe::ProbeOptions::default()) {
        Ok(probe) => print!("{}", probe.to_toml()),
        Err(error) => eprintln!("{error}"),
    }
}
