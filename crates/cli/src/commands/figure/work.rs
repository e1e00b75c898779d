//! Runs of the measured program: those that are known, the fitted work of its procedures, and their simulation.

use crate::failure::Failure;
use crate::interrupt;
use crate::load::Moment;
use crate::measurement::Measured;
use crate::origin::Origin;
use experiments::figures::{Length, Program, fitted_work, work_cycles_of};
use harness::run_record::RunRecord;
use machine::Word;
use std::collections::BTreeMap;

/// Cycles that a record costs the procedures, by platform.
pub struct Work(BTreeMap<String, u64>);

/// Returns the record of `program` from this build on this computer, of this length.
pub fn known<'a>(
    program: &Program,
    known: &'a [RunRecord],
    length: Length,
    origin: &Origin,
) -> Option<&'a RunRecord> {
    known.iter().find(|record| {
        record.commit == origin.commit
            && record.host == origin.host
            && program.is_of(record)
            && program.is_as_long(length, record)
    })
}

impl Work {
    /// Returns the work for the platforms of `programs`. It is fitted only for platforms without a known record, because the
    /// fit takes some seconds.
    pub fn of(
        programs: &[&Program],
        records: &[RunRecord],
        length: Length,
        origin: &Origin,
        stop: &Word,
    ) -> Result<Work, Failure> {
        let (mut work, mut unknown) = (BTreeMap::new(), Vec::new());
        for program in programs {
            let record = known(program, records, length, origin);
            if let Some(cycles) = record.and_then(work_cycles_of) {
                work.insert(program.platform.to_owned(), cycles);
            } else if !unknown.contains(&program.platform) {
                unknown.push(program.platform);
            }
        }
        unknown.retain(|platform| !work.contains_key(*platform));
        if !unknown.is_empty() {
            eprintln!("fitting the procedures' own work on {}", unknown.join(", "));
            match fitted_work(&unknown, length, stop) {
                Ok(fitted) => work.extend(fitted),
                // The runs see the same request, and end without a record.
                Err(_) if interrupt::requested() => {}
                Err(error) => return Err(Failure::refused(error)),
            }
        }
        Ok(Work(work))
    }

    /// Simulates `program`. Returns none if it was stopped.
    pub fn simulate(
        &self,
        program: &Program,
        length: Length,
        origin: &Origin,
        stop: &Word,
    ) -> Result<Option<(Measured, bool)>, Failure> {
        let Some(cycles) = self.0.get(program.platform) else { return Ok(None) };
        let (begin, provenance) = (Moment::now(), origin.provenance());
        let record = program.simulate(length, *cycles, stop).map_err(Failure::refused)?;
        Ok(record.filter(|record| !record.interrupted).map(|record| {
            let record = RunRecord {
                commit: origin.commit.to_owned(),
                host: origin.host.clone(),
                provenance: Some(provenance),
                host_load: begin.zip(Moment::now()).map(|(begin, end)| end.since(&begin)),
                ..record
            };
            (Measured::earlier(record), true)
        }))
    }
}
