//! Finds protocols by name.

use super::MachineChoice;
use crate::failure::Failure;
use crate::suggestion;
use engine::{ACCESS_KNOBS, AccessOptions, StateLine};
use machine::Native;
use protocols::{
    Declaration, Isolation, IsolationError, KNOBS, Knob, LatchKind, ProtocolOptions,
    TimestampAllocation, registry,
};

/// Returns the declarations of all protocols.
pub fn declarations(options: &ProtocolOptions) -> Vec<Declaration> {
    registry::declarations::<Native>(options)
}

/// Returns the protocols that `asked` names, each once, in the given order. `all` stands for every protocol.
pub fn protocol_names(asked: &[String]) -> Result<Vec<&'static str>, Failure> {
    let known: Vec<_> = declarations(&ProtocolOptions::default()).iter().map(|d| d.name).collect();
    let mut names: Vec<&'static str> = Vec::new();
    for name in asked {
        let mut meant = match known.iter().find(|k| k.eq_ignore_ascii_case(name)) {
            Some(known) => vec![*known],
            None if name.eq_ignore_ascii_case("all") => known.clone(),
            None => {
                let allowed: Vec<_> = known.iter().copied().chain(["all"]).collect();
                return Err(Failure::refused(suggestion::unknown("protocol", name, &allowed)));
            }
        };
        meant.retain(|name| !names.contains(name));
        names.extend(meant);
    }
    Ok(names)
}

/// Returns the protocols that `asked` names, at the requested isolation level. `all` stands for every protocol that
/// gives the level.
pub fn protocols_at(
    asked: &[String],
    isolation: Option<&str>,
) -> Result<(Vec<&'static str>, Option<Isolation>), Failure> {
    let mut names = protocol_names(asked)?;
    let isolation = isolation
        .map(|level| level.parse::<Isolation>())
        .transpose()
        .map_err(|error| Failure::refused(format!("--isolation: {error}")))?;
    let Some(level) = isolation else { return Ok((names, None)) };
    let declared = declarations(&ProtocolOptions::default());
    let levels = registry::levels::<Native>();
    for (declaration, gives) in declared.iter().zip(levels).filter(|(_, g)| !g.contains(&level)) {
        let protocol = declaration.name;
        if asked.iter().any(|name| name.eq_ignore_ascii_case(protocol)) {
            let error = IsolationError { protocol, asked: level, gives };
            return Err(Failure::refused(format!("--isolation {level}: {error}")));
        }
        names.retain(|name| *name != protocol);
    }
    Ok((names, isolation))
}

/// Returns the protocol options that `--timestamps` and `--cc-option` request. Fails if one of `machines` does not
/// provide the timestamps, or if none of `protocols` heeds an option.
pub fn protocol_options(
    timestamps: &str,
    given: &[String],
    protocols: &[&str],
    machines: &[&MachineChoice],
) -> Result<ProtocolOptions, Failure> {
    let timestamps = timestamp_allocation(timestamps, machines)?;
    let mut options = ProtocolOptions { timestamps, ..ProtocolOptions::default() };
    for pair in given {
        let knob = set_knob("--cc-option", KNOBS, &mut options, pair)?;
        let heeding = heeding(knob);
        if !heeding.iter().any(|name| protocols.contains(name)) {
            let (name, heeding) = (knob.name, heeding.join(", "));
            let message = format!("--cc-option {name} is only for {heeding}, not among --cc");
            return Err(Failure::refused(message));
        }
    }
    Ok(options)
}

/// Does the same as [`protocol_options`] for transactions that are going to run on `machines`. Fails also if one of these is native and
/// latches are to be elided. The explorer elides latches on its own machine.
pub fn options_to_run(
    timestamps: &str,
    given: &[String],
    protocols: &[&str],
    machines: &[&MachineChoice],
) -> Result<ProtocolOptions, Failure> {
    let options = protocol_options(timestamps, given, protocols, machines)?;
    can_elide(options.latch, machines)?;
    Ok(options)
}

/// Returns the native machine among `machines`, if there is one.
fn native_of<'a>(machines: &[&'a MachineChoice]) -> Option<&'a MachineChoice> {
    machines.iter().copied().find(|machine| matches!(machine, MachineChoice::Native))
}

/// Refuses elided latches if one of `machines` is native.
fn can_elide(latch: LatchKind, machines: &[&MachineChoice]) -> Result<(), Failure> {
    match native_of(machines) {
        Some(machine) if latch == LatchKind::Elided => Err(Failure::refused(format!(
            "--cc-option latch=elided: the processors of the {} machine no longer elide latches; allowed there: usual, mutex, \
             spin, queue, yielding, and elided on simulated machines",
            machine.name()
        ))),
        _ => Ok(()),
    }
}

/// Returns the options of accesses that `--engine-option` requests, for runs on `machines`.
pub fn access_options(
    given: &[String],
    machines: &[&MachineChoice],
) -> Result<AccessOptions, Failure> {
    let mut options = AccessOptions::default();
    for pair in given {
        set_knob("--engine-option", ACCESS_KNOBS, &mut options, pair)?;
    }
    match native_of(machines) {
        Some(machine) if options.state == StateLine::Own => Err(Failure::refused(format!(
            "--engine-option state-line=own: on the {} machine the state lies beside the key; allowed there: front, and own on \
             simulated machines",
            machine.name()
        ))),
        _ => Ok(options),
    }
}

/// Sets the knob that `pair`, a value of `argument` written as NAME=VALUE, names among `knobs`. Returns the knob.
fn set_knob<O>(
    argument: &str,
    knobs: &'static [Knob<O>],
    options: &mut O,
    pair: &str,
) -> Result<&'static Knob<O>, Failure> {
    let refused = |message: String| Failure::refused(format!("{argument} {message}"));
    let Some((name, value)) = pair.split_once('=') else {
        return Err(refused(format!("'{pair}'; allowed: NAME=VALUE")));
    };
    let Some(knob) = knobs.iter().find(|knob| knob.name == name) else {
        let known: Vec<_> = knobs.iter().map(|knob| knob.name).collect();
        return Err(Failure::refused(suggestion::unknown(argument, name, &known)));
    };
    knob.set(options, value).map_err(|error| refused(error.to_string()))?;
    Ok(knob)
}

/// Returns the protocols that heed `knob`.
pub fn heeding(knob: &Knob) -> Vec<&'static str> {
    let declared = declarations(&ProtocolOptions::default());
    let knobs = registry::knobs::<Native>();
    let heeds = declared.iter().zip(knobs).filter(|(_, knobs)| knobs.contains(&knob.name));
    heeds.map(|(declaration, _)| declaration.name).collect()
}

/// Returns the source of timestamps. Fails if one of `machines` does not provide it.
fn timestamp_allocation(
    asked: &str,
    machines: &[&MachineChoice],
) -> Result<TimestampAllocation, Failure> {
    let allocation: TimestampAllocation =
        asked.parse().map_err(|error| Failure::refused(format!("--timestamps: {error}")))?;
    if allocation == TimestampAllocation::Hardware
        && let Some(machine) = machines.iter().find(|machine| !machine.has_hardware_counter())
    {
        let name = machine.name();
        return Err(Failure::refused(format!(
            "--timestamps hardware: machine {name} has no hardware counter; \
             allowed: mutex, atomic, batchN, clock"
        )));
    }
    Ok(allocation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(asked: &[&str]) -> Result<Vec<&'static str>, Failure> {
        protocol_names(&asked.iter().map(|s| s.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn all_is_every_protocol_once() {
        let all = names(&["all"]).unwrap();
        assert_eq!(all.len(), declarations(&ProtocolOptions::default()).len());
        let silo_first = names(&["silo", "all", "SILO"]).unwrap();
        assert_eq!((silo_first[0], silo_first.len()), ("SILO", all.len()));
        assert!(names(&["SILO", "nope"]).unwrap_err().to_string().contains("'nope'"));
    }
}
