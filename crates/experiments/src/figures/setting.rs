//! Describes one simulated run in the words of the command line.

use engine::registry::{DEFAULT, declaration};
use engine::{ACCESS_KNOBS, AccessOptions};
use harness::run_record::{RunRecord, Setting as Value, Settings, settings};
use machine::Native;
use protocols::{KNOBS, Knob, ProtocolOptions, registry};
use workloads::Options;
use workloads::registry::{Listed, Visitor, with_workload};

/// A simulated run.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Name of the workload.
    pub workload: &'static str,
    /// Options of the workload, as on the command line.
    pub options: String,
    /// Name of the architecture. The engine need not have it yet.
    pub architecture: &'static str,
    /// Name of the protocol.
    pub protocol: &'static str,
    /// Source of timestamps.
    pub timestamps: &'static str,
    /// Options of the protocol: `NAME=VALUE`, separated by spaces.
    pub protocol_options: String,
    /// Options of the engine's accesses: `NAME=VALUE`, separated by spaces.
    pub access_options: String,
    /// Name of the machine, or none for the figure's.
    pub machine: Option<&'static str>,
    /// Factor of the usual limit of the run's busy time.
    pub longer: f64,
    /// Limit of the run's time, summed over the cores whether they wait or not, as a factor of the usual limit of busy time.
    pub longest: f64,
    /// Number of cores.
    pub cores: usize,
    /// Number of these cores that only serve other cores; 0 if servers are not dedicated.
    pub servers: usize,
}

impl Setting {
    /// Returns a run of `protocol` with atomic timestamps and its usual options, under the default architecture.
    pub fn new(
        workload: &'static str,
        options: impl Into<String>,
        protocol: &'static str,
        cores: usize,
    ) -> Setting {
        Setting {
            workload,
            options: options.into(),
            architecture: DEFAULT,
            protocol,
            timestamps: "atomic",
            protocol_options: String::new(),
            access_options: String::new(),
            machine: None,
            longer: 1.0,
            longest: f64::INFINITY,
            cores,
            servers: 0,
        }
    }

    /// Returns this run under another architecture.
    pub fn under(self, architecture: &'static str) -> Setting {
        Setting { architecture, ..self }
    }

    /// Returns this run on a machine of its own, in a figure of several machines.
    pub fn on(self, machine: &'static str) -> Setting {
        Setting { machine: Some(machine), ..self }
    }

    /// Returns this run with a limit of its busy time that is `longer` times the usual one, and with one of its time that is
    /// `longest` times as high as the usual one of busy time.
    pub fn within(self, longer: f64, longest: f64) -> Setting {
        Setting { longer, longest, ..self }
    }

    /// Returns this run with cores that only serve other cores.
    pub fn served_by(self, servers: usize) -> Setting {
        Setting { servers, ..self }
    }

    /// Returns the reason why the run can't be simulated yet, if there is one: the engine lacks the architecture, or the
    /// protocol does not run under it.
    pub fn unable(&self) -> Option<String> {
        let Ok(architecture) = declaration(self.architecture) else {
            return Some(format!("the engine has no architecture {}", self.architecture));
        };
        let options = self.protocol_options().unwrap_or_default();
        let mut protocols = registry::declarations::<Native>(&options).into_iter();
        let protocol = protocols.find(|declared| declared.name == self.protocol)?;
        engine::pair(&architecture, protocol).err().map(|error| error.to_string())
    }

    /// Returns this run with options of the protocol.
    pub fn with(self, protocol_options: impl Into<String>) -> Setting {
        Setting { protocol_options: protocol_options.into(), ..self }
    }

    /// Returns this run with options of the engine's accesses.
    pub fn accessing(self, access_options: impl Into<String>) -> Setting {
        Setting { access_options: access_options.into(), ..self }
    }

    /// Returns this run with another source of timestamps.
    pub fn drawing(self, timestamps: &'static str) -> Setting {
        Setting { timestamps, ..self }
    }

    /// Returns the options of the protocol, or the reason why they are wrong.
    pub fn protocol_options(&self) -> Result<ProtocolOptions, String> {
        let timestamps = self.timestamps.parse()?;
        let mut options = ProtocolOptions { timestamps, ..ProtocolOptions::default() };
        set(KNOBS, &self.protocol_options, &mut options)?;
        Ok(options)
    }

    /// Returns the options of the engine's accesses, or the reason why they are wrong.
    pub fn access_options(&self) -> Result<AccessOptions, String> {
        let mut options = AccessOptions::default();
        set(ACCESS_KNOBS, &self.access_options, &mut options)?;
        Ok(options)
    }

    /// Returns all options of the workload, or the reason why they are wrong.
    pub fn workload_options(&self) -> Result<Settings, String> {
        let visited = with_workload(self.workload, Resolve { options: &self.options });
        visited.unwrap_or_else(|_| Err(format!("no workload is called {}", self.workload)))
    }

    /// Returns the command that runs the setting on `machine`.
    pub fn command(&self, machine: &str, cores: &str) -> String {
        let said = format!("{} {}", self.workload, self.options);
        let mut line = format!("kilocore run {} --cc {}", said.trim_end(), self.protocol);
        if self.architecture != DEFAULT {
            line.push_str(&format!(" --architecture {}", self.architecture));
        }
        if self.timestamps != "atomic" {
            line.push_str(&format!(" --timestamps {}", self.timestamps));
        }
        for (name, value) in pairs(&self.protocol_options) {
            line.push_str(&format!(" --cc-option {name}={value}"));
        }
        for (name, value) in pairs(&self.access_options) {
            line.push_str(&format!(" --engine-option {name}={value}"));
        }
        if self.servers > 0 {
            line.push_str(&format!(" --servers {}", self.servers));
        }
        format!("{line} --machine {machine} --cores {cores}")
    }

    /// Returns what the workload's options are if none is given.
    pub fn default_options(&self) -> Settings {
        let plain = Setting::new(self.workload, "", self.protocol, self.cores);
        plain.workload_options().unwrap_or_default()
    }

    /// Returns whether `record` is one of this setting. `options` are the setting's options of the workload, and
    /// `defaults` those that nobody gave. A record that lacks an option is older than the option, which was then as it is by
    /// default. For options of protocols and engines `before` knows what they were.
    pub fn is_of(&self, options: &Settings, defaults: &Settings, record: &RunRecord) -> bool {
        let known = &record.workload_options;
        let as_found = |(name, value): (&String, &Value)| match known.get(name) {
            Some(found) => found == value,
            None => defaults.get(name) == Some(value),
        };
        let shown = |of: &Settings, name: &str| of.get(name).map(ToString::to_string);
        let servers = shown(&record.architecture_options, "servers");
        let servers = servers.map_or(0, |number| number.parse().unwrap_or(0));
        let all_in = |of: &Settings, given| {
            pairs(given)
                .all(|(name, value)| shown(of, name).as_deref().or(before(name)) == Some(value))
        };
        record.workload == self.workload
            && record.architecture == self.architecture
            && record.protocol == self.protocol
            && self.machine.is_none_or(|machine| record.machine == machine)
            && record.cores == self.cores
            && servers == self.servers
            && options.iter().all(as_found)
            && known.keys().all(|name| options.contains_key(name))
            && shown(&record.protocol_options, "timestamp_allocation").as_deref()
                == Some(self.timestamps)
            && all_in(&record.protocol_options, &self.protocol_options)
            && all_in(&record.architecture_options, &self.access_options)
    }
}

/// Returns the value that the option of a protocol or an engine had in records that are older than the option, if it is known.
fn before(name: &str) -> Option<&'static str> {
    (name == "keep-versions").then_some("all")
}

/// Returns names and values of options that are not left as they are.
fn pairs(given: &str) -> impl Iterator<Item = (&str, &str)> {
    given.split_whitespace().map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// Changes the options that `given` names, or returns the reason why it is wrong.
fn set<O>(knobs: &[Knob<O>], given: &str, options: &mut O) -> Result<(), String> {
    for (name, value) in pairs(given) {
        let knob = knobs.iter().find(|knob| knob.name == name);
        let knob = knob.ok_or_else(|| format!("no option is called {name}"))?;
        knob.set(options, value).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Resolves a workload's options from their words.
struct Resolve<'a> {
    options: &'a str,
}

impl Visitor for Resolve<'_> {
    type Output = Result<Settings, String>;

    fn visit<W: Listed>(self) -> Self::Output {
        let options = W::Options::default().changed(self.options).map_err(|e| e.to_string())?;
        options.validate().map_err(|error| error.to_string())?;
        Ok(settings(options.list()))
    }
}
