//! Finds architectures by name, and checks what runs under them.

use super::declarations;
use super::numbers::whole;
use crate::failure::Failure;
use crate::suggestion;
use engine::registry::{DEFAULT, declaration, declarations as architectures};
use engine::{ArchitectureDeclaration, OwnersWork, pair};
use protocols::{Declaration, ProtocolOptions};
use workloads::registry::{Declaration as Workload, declarations as workloads};

/// Parses an architecture's name.
pub fn architecture(text: &str) -> Result<String, String> {
    let known: Vec<_> = architectures().into_iter().map(|declared| declared.name).collect();
    match known.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(suggestion::unknown("architecture", text, &known)),
    }
}

/// Parses a number of partitions. It stays a text, because workloads have an option of the same name.
pub fn partitions(text: &str) -> Result<String, String> {
    match whole(text) {
        Ok(1..) => Ok(text.to_owned()),
        _ => Err("allowed: whole numbers from 1".into()),
    }
}

/// Returns the declaration of the architecture `name`, which the command line has accepted.
fn known(name: &str) -> ArchitectureDeclaration {
    declaration(name).expect("the command line knows the registry's architectures alone")
}

/// Returns the declarations of the protocols that run under `architecture`, as they are there.
pub fn declarations_under(architecture: &str, options: &ProtocolOptions) -> Vec<Declaration> {
    let architecture = known(architecture);
    let protocols = declarations(options).into_iter();
    protocols.filter_map(|protocol| pair(&architecture, protocol).ok()).collect()
}

/// Returns those of `names` that the architecture supports. Fails if a protocol `asked` for by name is not supported.
pub fn protocols_under(
    architecture: &str,
    asked: &[String],
    mut names: Vec<&'static str>,
) -> Result<Vec<&'static str>, Failure> {
    let declared = known(architecture);
    for protocol in declarations(&ProtocolOptions::default()) {
        let Err(error) = pair(&declared, protocol) else { continue };
        if asked.iter().any(|name| name.eq_ignore_ascii_case(protocol.name)) {
            return Err(Failure::refused(format!("--architecture {architecture}: {error}")));
        }
        names.retain(|name| *name != protocol.name);
    }
    Ok(names)
}

/// Fails if the architecture stores partitions apart and `workload` has none.
pub fn check_partitioned(architecture: &str, workload: &Workload) -> Result<(), Failure> {
    if known(architecture).sites.is_some() || workload.partitioned_by.is_some() {
        return Ok(());
    }
    let can = |workload: Workload| {
        workload.partitioned_by.map(|option| format!("{} (--{option})", workload.name))
    };
    let allowed: Vec<String> = workloads().into_iter().filter_map(can).collect();
    let (name, allowed) = (workload.name, allowed.join(", "));
    Err(Failure::refused(format!(
        "--architecture {architecture}: {name} cannot be partitioned; allowed: {allowed}"
    )))
}

/// Returns the number of owners that `--partitions` asks for. Returns none if it is the number of partitions of
/// `workload`. Fails if the architecture does not store partitions apart, or if it does and `workload` has none.
pub fn owners(
    architecture: &str,
    workload: &Workload,
    asked: Option<&str>,
) -> Result<Option<u64>, Failure> {
    check_partitioned(architecture, workload)?;
    let Some(text) = asked.filter(|_| workload.partitioned_by != Some("partitions")) else {
        return Ok(None);
    };
    let apart = |architecture: &ArchitectureDeclaration| architecture.sites.is_none();
    if !apart(&known(architecture)) {
        let allowed = architectures().into_iter().filter(apart).map(|a| a.name);
        let allowed: Vec<_> = allowed.collect();
        return Err(Failure::refused(format!(
            "--partitions {text}: {architecture} does not store partitions apart; allowed with \
             --architecture {}",
            allowed.join(", ")
        )));
    }
    whole(text).map(Some).map_err(|error| Failure::refused(format!("--partitions {text}: {error}")))
}

/// Fails if there are more owners than cores that can have one.
pub fn check_owners(
    owners: Option<u64>,
    servers: Option<u64>,
    cores: &[usize],
) -> Result<(), Failure> {
    let (Some(owners), Some(&least)) = (owners, cores.iter().min()) else { return Ok(()) };
    if let Some(servers) = servers.filter(|servers| owners > *servers) {
        return Err(Failure::refused(format!(
            "--partitions is {owners}; allowed: 1 to {servers}, the number of servers"
        )));
    }
    match owners <= least as u64 {
        true => Ok(()),
        false => Err(Failure::refused(format!(
            "--partitions is {owners}; allowed: 1 to {least}, the number of cores"
        ))),
    }
}

/// Fails if servers are asked for and the architecture delegates no work, or if one of the numbers of `cores` leaves no core
/// to execute transactions.
pub fn check_servers(
    architecture: &str,
    servers: Option<u64>,
    cores: &[usize],
) -> Result<(), Failure> {
    let Some(servers) = servers else { return Ok(()) };
    let serves = |architecture: &ArchitectureDeclaration| architecture.work == OwnersWork::Served;
    if !serves(&known(architecture)) {
        let allowed = architectures().into_iter().filter(serves).map(|a| a.name);
        let allowed: Vec<_> = allowed.collect();
        return Err(Failure::refused(format!(
            "--servers {servers}: {architecture} has no servers; allowed with --architecture {}",
            allowed.join(", ")
        )));
    }
    match cores.iter().min() {
        Some(&1) => Err(Failure::refused(format!(
            "--servers is {servers}; allowed on 1 core: none, because one core executes and serves"
        ))),
        Some(&least) if servers >= least as u64 => Err(Failure::refused(format!(
            "--servers is {servers}; allowed on {least} cores: 1 to {}, and the other cores execute",
            least - 1
        ))),
        _ => Ok(()),
    }
}

/// Returns true if the architecture has a server beside the workers of each core.
pub fn serves_beside_workers(architecture: &str, servers: Option<u64>) -> bool {
    known(architecture).work == OwnersWork::Served && servers.is_none()
}

/// Returns the arguments that name an architecture, its number of owners and its number of dedicated servers, with a space
/// in front of each. There are none for the defaults.
pub fn architecture_arguments(
    architecture: &str,
    partitions: Option<u64>,
    servers: Option<usize>,
) -> String {
    let mut line = String::new();
    if architecture != DEFAULT {
        line.push_str(&format!(" --architecture {architecture}"));
    }
    if let Some(partitions) = partitions {
        line.push_str(&format!(" --partitions {partitions}"));
    }
    if let Some(servers) = servers {
        line.push_str(&format!(" --servers {servers}"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use workloads::registry::declaration as workload;

    #[test]
    fn partitions_are_the_workloads_or_the_architectures() {
        let owners = |architecture, name, asked| {
            let workload = workload(name).expect("it is listed");
            owners(architecture, &workload, asked).map_err(|error| error.to_string())
        };
        assert_eq!(owners("partitioned_serial", "tpcc", Some("2k")), Ok(Some(2000)));
        assert_eq!(owners("partitioned_serial", "tpcc", None), Ok(None));
        // The workload has this option itself, under any architecture.
        assert_eq!(owners("partitioned_serial", "ycsb", Some("8")), Ok(None));
        assert_eq!(owners(DEFAULT, "ycsb", Some("8")), Ok(None));
        let told = owners(DEFAULT, "tpcc", Some("8")).unwrap_err();
        assert!(told.contains("allowed with --architecture partitioned_serial"), "{told}");
    }

    #[test]
    fn the_option_that_a_workload_names_exists() {
        for workload in workloads() {
            let Some(option) = workload.partitioned_by else { continue };
            let known = workload.options.iter().any(|known| known.word() == option);
            assert!(known, "{} --{option}", workload.name);
        }
    }

    #[test]
    fn an_architecture_that_isolates_makes_promises() {
        let options = ProtocolOptions::default();
        let under = declarations_under("partitioned_serial", &options);
        let [declared] = &under[..] else { panic!("{under:?}") };
        assert!(declared.name == "NO_CC" && declared.strict);
        assert_eq!(declarations_under(DEFAULT, &options), declarations(&options));
    }
}
