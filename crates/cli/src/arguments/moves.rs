//! Options of architectures whose transactions move between cores.

use super::numbers::count;
use crate::failure::Failure;
use engine::registry::declarations as architectures;
use engine::{ArchitectureDeclaration, EngineError, OwnersWork, with_executors};
use harness::run::{Moves, TablePlaces};

/// Largest number of executors of a worker.
const MOST_EXECUTORS: u64 = 64;

/// Arguments for an architecture whose transactions move.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct MovesArguments {
    /// Fibers beside each worker that run parts of its transactions on other cores at the same time, if transactions move and
    /// the workload splits them into actions
    #[arg(long, value_name = "N", value_parser = executors)]
    pub executors: Option<u64>,
    /// Each table of a partition has an owner of its own, if transactions move: together on the partition's core, apart on
    /// different cores, or together as threads, between which a simulated core switches (the naive scheme of ATraPos) [default:
    /// one owner for all tables of a partition]
    #[arg(long, value_name = "PLACES", value_parser = table_places)]
    pub table_owners: Option<TablePlaces>,
}

fn executors(text: &str) -> Result<u64, String> {
    match count(text) {
        Ok(executors) if executors <= MOST_EXECUTORS => Ok(executors),
        _ => Err(format!("allowed: whole numbers from 1 to {MOST_EXECUTORS}")),
    }
}

fn table_places(text: &str) -> Result<TablePlaces, String> {
    let all = [TablePlaces::Together, TablePlaces::Apart, TablePlaces::Threads];
    let found = all.into_iter().find(|places| table_places_name(*places) == text);
    found.ok_or_else(|| "allowed: together, apart, threads".to_owned())
}

/// Returns the name of places on the command line and in records.
pub fn table_places_name(places: TablePlaces) -> &'static str {
    match places {
        TablePlaces::Together => "together",
        TablePlaces::Apart => "apart",
        TablePlaces::Threads => "threads",
    }
}

impl MovesArguments {
    /// Returns what is asked for. Fails if one of the options is given and the architecture moves no transactions, or if owners are
    /// to be threads where that makes no difference, because time is not `modelled`.
    pub fn of(&self, architecture: &str, modelled: bool) -> Result<Moves, Failure> {
        if self.table_owners == Some(TablePlaces::Threads) && !modelled {
            return Err(Failure::refused(
                "--table-owners threads: only a simulated core pays for switches between threads; allowed here: together, apart"
                    .to_owned(),
            ));
        }
        let moves = |declared: &ArchitectureDeclaration| declared.work == OwnersWork::Visited;
        let moving: Vec<_> = architectures().into_iter().filter(moves).map(|a| a.name).collect();
        let given = match (self.executors, self.table_owners) {
            (Some(executors), _) => format!("--executors {executors}"),
            (None, Some(places)) => format!("--table-owners {}", table_places_name(places)),
            (None, None) => return Ok(Moves::default()),
        };
        match moving.contains(&architecture) {
            true => Ok(Moves {
                executors: self.executors.unwrap_or(0) as usize,
                table_owners: self.table_owners,
            }),
            false => Err(Failure::refused(format!(
                "{given}: transactions do not move under {architecture}; allowed with --architecture {}",
                moving.join(", ")
            ))),
        }
    }
}

/// Returns those of `names` whose workers can have `executors` executors. Fails if a protocol `asked` for by name cannot.
pub fn protocols_with_executors(
    executors: usize,
    asked: &[String],
    mut names: Vec<&'static str>,
) -> Result<Vec<&'static str>, Failure> {
    if executors == 0 {
        return Ok(names);
    }
    let supported = with_executors();
    let refused = |name: &&&str| !supported.contains(*name);
    let named = |name: &&&str| asked.iter().any(|asked| asked.eq_ignore_ascii_case(name));
    if let Some(protocol) = names.iter().filter(refused).find(named) {
        let error = EngineError::WaitsOnce { protocol, supported };
        return Err(Failure::refused(format!("--executors {executors}: {error}")));
    }
    names.retain(|name| supported.contains(name));
    Ok(names)
}

/// Returns the arguments for `moves`, with a space in front of each.
pub fn moves_arguments(moves: Moves) -> String {
    let mut line = String::new();
    if moves.executors > 0 {
        line.push_str(&format!(" --executors {}", moves.executors));
    }
    if let Some(places) = moves.table_owners {
        line.push_str(&format!(" --table-owners {}", table_places_name(places)));
    }
    line
}
