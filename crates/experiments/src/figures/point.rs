//! Says what is simulated at a place of a figure.

use super::{Measured, Program, Setting};
use harness::run_record::{RunRecord, Settings};

/// The configuration that is simulated for one place of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Point {
    /// A run of `kilocore run` on the figure's machine.
    Setting(Setting),
    /// A run of the program whose measurements `kilocore validate` repeats, on the machine of a platform.
    Program(Program),
}

impl From<Setting> for Point {
    fn from(setting: Setting) -> Point {
        Point::Setting(setting)
    }
}

impl From<Program> for Point {
    fn from(program: Program) -> Point {
        Point::Program(program)
    }
}

impl Point {
    /// Returns a place with its run as a point of a series.
    pub fn placed<T: Into<Point>>((x, run): (f64, T)) -> (f64, Point) {
        (x, run.into())
    }

    /// Returns the number of cores.
    pub fn cores(&self) -> usize {
        match self {
            Point::Setting(setting) => setting.cores,
            Point::Program(program) => program.cores as usize,
        }
    }

    /// Returns the name of the run's machine, or none if it is the figure's.
    pub fn machine(&self) -> Option<&'static str> {
        match self {
            Point::Setting(setting) => setting.machine,
            Point::Program(program) => Some(program.machine()),
        }
    }

    /// Returns the name of the protocol.
    pub fn protocol(&self) -> &'static str {
        match self {
            Point::Setting(setting) => setting.protocol,
            Point::Program(program) => program.scheme,
        }
    }

    /// Returns the reason why the run can't be simulated yet, if there is one.
    pub fn unable(&self) -> Option<String> {
        match self {
            Point::Setting(setting) => setting.unable(),
            Point::Program(program) => program.unable(),
        }
    }

    /// Returns what was measured in the run on a real machine, if the program carries it.
    pub fn measured(&self) -> Option<Measured> {
        match self {
            Point::Setting(_) => None,
            Point::Program(program) => program.measured(),
        }
    }

    /// Returns what recognises the run's record.
    pub(super) fn recognised(&self) -> Option<Recognised<'_>> {
        match self {
            Point::Setting(setting) => {
                let options = setting.workload_options().ok()?;
                Some(Recognised::Setting(setting, options, setting.default_options()))
            }
            Point::Program(program) => Some(Recognised::Program(program, program.title())),
        }
    }
}

/// A run with what its record must say.
pub(super) enum Recognised<'a> {
    Setting(&'a Setting, Settings, Settings),
    Program(&'a Program, String),
}

impl Recognised<'_> {
    /// Returns whether `record` is one of the run.
    pub(super) fn is_of(&self, record: &RunRecord) -> bool {
        match self {
            Recognised::Setting(setting, options, defaults) => {
                setting.is_of(options, defaults, record)
            }
            Recognised::Program(program, title) => program.is_titled(title, record),
        }
    }
}
