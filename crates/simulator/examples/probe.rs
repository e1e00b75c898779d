//! Prints a machine file for the machine on which it runs.

fn main() {
    match kilocore_simulator::probe::probe(&kilocore_simulator::probe::ProbeOptions::default()) {
        Ok(probe) => print!("{}", probe.to_toml()),
        Err(error) => eprintln!("{error}"),
    }
}
