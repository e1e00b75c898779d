//! Finds machines by name or by file.

use crate::failure::Failure;
use crate::{host, suggestion};
use harness::run_record::MachineKind;
use machine::{Native, cold::Arc};
use simulator::{DescriptionError, MAX_CORES, MachineDescription, builtin_names};

/// Machine on which a run happens.
#[derive(Clone, Debug)]
pub enum MachineChoice {
    /// The cores of this computer.
    Native,
    /// A modelled machine.
    Simulated {
        /// Description of the machine.
        description: Arc<MachineDescription>,
        /// Name or path as it was given.
        given: String,
    },
}

impl MachineChoice {
    /// Returns the machine for `native`, a machine's name, or the path of a machine file.
    pub fn load(text: &str) -> Result<MachineChoice, Failure> {
        if text == "native" {
            return Ok(MachineChoice::Native);
        }
        match MachineDescription::load(text) {
            Ok(description) => Ok(MachineChoice::Simulated {
                description: Arc::new(description),
                given: text.to_owned(),
            }),
            Err(DescriptionError::Unknown { name, known, .. }) => {
                let names: Vec<_> = ["native"].into_iter().chain(known).collect();
                let message = suggestion::unknown("machine", &name, &names);
                Err(Failure::refused(format!("{message}, or the path of a machine file")))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the machine's name in records.
    pub fn name(&self) -> &str {
        match self {
            MachineChoice::Native => "native",
            MachineChoice::Simulated { description, .. } => &description.name,
        }
    }

    /// Returns the name or path with which the machine was requested.
    pub fn given(&self) -> &str {
        match self {
            MachineChoice::Native => "native",
            MachineChoice::Simulated { given, .. } => given,
        }
    }

    /// Returns the way in which the machine runs programs.
    pub fn kind(&self) -> MachineKind {
        match self {
            MachineChoice::Native => MachineKind::Native,
            MachineChoice::Simulated { .. } => MachineKind::Simulated,
        }
    }

    /// Returns a one-line description.
    pub fn description(&self) -> String {
        match self {
            MachineChoice::Native => host::native_machine(),
            MachineChoice::Simulated { description, .. } => description.title.clone(),
        }
    }

    /// Returns the placement of workers and memory, where the architecture stores partitions `apart` or not.
    pub fn placement(&self, apart: bool) -> &'static str {
        match self {
            MachineChoice::Simulated { description, .. }
                if apart && description.sockets.is_some() =>
            {
                "worker i on hardware thread i in the machine file's order, each partition and each session on the \
                 socket of the worker with its number"
            }
            MachineChoice::Native => {
                "worker i on the i-th core that the process may use, memory where its loader touched it"
            }
            MachineChoice::Simulated { .. } => {
                "worker i on hardware thread i in the machine file's order, pages interleaved over the \
                 sockets in use"
            }
        }
    }

    /// Returns the number of cores.
    pub fn cores(&self) -> usize {
        match self {
            MachineChoice::Native => Native::available_cores(),
            MachineChoice::Simulated { description, .. } => description.cores(),
        }
    }

    /// Returns whether the machine has a hardware counter for timestamps.
    pub fn has_hardware_counter(&self) -> bool {
        match self {
            MachineChoice::Native => false,
            MachineChoice::Simulated { description, .. } => description.hardware_counter.is_some(),
        }
    }

    /// Refuses numbers of cores larger than the machine has.
    pub fn check_cores(&self, cores: &[u64]) -> Result<(), Failure> {
        let most = self.cores() as u64;
        match cores.iter().find(|&&n| n > most) {
            None => Ok(()),
            Some(n) => Err(Failure::refused(format!(
                "--cores is {n}; allowed: 1 to {most}, which machine {} has",
                self.name()
            ))),
        }
    }
}

impl MachineChoice {
    /// Refuses numbers of fibers with which a simulated machine would have too many. Each worker has `executors`, and beside the
    /// workers of a core there are `others` on it.
    pub fn check_fibers(
        &self,
        fibers: u64,
        (executors, others): (u64, u64),
        cores: &[usize],
    ) -> Result<(), Failure> {
        let most = MAX_CORES as u64 - 1;
        let of_core = fibers * (1 + executors) + others;
        let too_many = |cores: &&usize| **cores as u64 * of_core > most;
        match cores.iter().find(too_many).filter(|_| self.kind() == MachineKind::Simulated) {
            None => Ok(()),
            Some(cores) => {
                let left = (most / *cores as u64).saturating_sub(others) / (1 + executors);
                Err(Failure::refused(match left {
                    0 => format!(
                        "--executors is {executors}; allowed on {cores} simulated cores: 0 to {}, {most} fibers in all",
                        (most / *cores as u64).saturating_sub(others + 1)
                    ),
                    _ => format!(
                        "--fibers is {fibers}; allowed on {cores} simulated cores: 1 to {left}, {most} in all"
                    ),
                }))
            }
        }
    }
}

/// Returns the names of all machines that have one.
pub fn named() -> Vec<&'static str> {
    ["native"].into_iter().chain(builtin_names()).collect()
}
