//! Finds the number of cores at which a scheme is fastest, in the measurements and in the simulation.

use super::Row;
use super::curves::{Curves, Setting, curves};
use serde::{Deserialize, Serialize};

/// Divides the rows of each setting by a key, in the order of their first rows.
pub fn groups<'a, K: PartialEq>(rows: &[&'a Row], key: impl Fn(&'a Row) -> K) -> Vec<Vec<&'a Row>> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    for Curves { rows, .. } in curves(rows.iter().copied()) {
        let first = groups.len();
        for row in rows {
            let own = |group: &&mut Vec<&'a Row>| key(group[0]) == key(row);
            match groups[first..].iter_mut().find(own) {
                Some(group) => group.push(row),
                None => groups.push(vec![row]),
            }
        }
    }
    groups
}

/// The rows of one scheme in one setting, ascending in cores.
pub struct Curve<'a>(Vec<&'a Row>);

impl<'a> Curve<'a> {
    /// Returns the curves of all schemes in all settings.
    pub fn all(rows: &[&'a Row]) -> Vec<Curve<'a>> {
        let groups = groups(rows, |row| row.measured.scheme.as_str()).into_iter();
        groups
            .map(|mut rows| {
                rows.sort_by_key(|row| row.measured.cores);
                Curve(rows)
            })
            .collect()
    }
}

impl Curve<'_> {
    fn peak(&self, of: impl Fn(&Row) -> f64) -> Option<usize> {
        (0..self.0.len()).max_by(|a, b| of(self.0[*a]).total_cmp(&of(self.0[*b])))
    }

    /// Returns the position of the measured peak, if it is at neither end.
    fn inner_peak(&self) -> Option<usize> {
        let peak = self.peak(|row| row.measured.throughput_txn_per_s)?;
        (peak > 0 && peak + 1 < self.0.len()).then_some(peak)
    }

    /// Returns the number of steps between the measured and the simulated peak.
    pub fn shift(&self) -> Option<f64> {
        let measured = self.inner_peak()?;
        let simulated = self.peak(|row| row.simulated_txn_per_s)?;
        Some(measured.abs_diff(simulated) as f64)
    }

    /// Returns the errors at twice and at four times the cores of the measured peak. A point counts if its cores
    /// differ from that by at most a fifth.
    pub fn beyond_the_peak(&self) -> Vec<f64> {
        let Some(peak) = self.inner_peak() else { return Vec::new() };
        let cores = self.0[peak].measured.cores as f64;
        [2.0, 4.0]
            .into_iter()
            .filter_map(|times| {
                let away = |row: &&Row| (row.measured.cores as f64 / (cores * times)).ln().abs();
                let near = self.0[peak + 1..].iter().copied();
                let near = near.min_by(|a, b| away(a).total_cmp(&away(b)))?;
                (away(&near) <= 1.2f64.ln()).then(|| near.ln_error.abs())
            })
            .collect()
    }

    /// Returns the peak of the curve, if the measured one is at neither end.
    fn inner(&self) -> Option<Peak> {
        let (measured, simulated) = (self.inner_peak()?, self.peak(|row| row.simulated_txn_per_s)?);
        let first = &self.0[0].measured;
        Some(Peak {
            setting: Setting::of(first).title(),
            scheme: first.scheme.clone(),
            measured_cores: self.0[measured].measured.cores,
            simulated_cores: self.0[simulated].measured.cores,
            steps: measured.abs_diff(simulated),
        })
    }
}

/// Peak of one scheme in one setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// The setting in one line.
    pub setting: String,
    /// Concurrency-control scheme.
    pub scheme: String,
    /// Number of cores with the largest measured throughput.
    pub measured_cores: u64,
    /// Number of cores with the largest simulated throughput.
    pub simulated_cores: u64,
    /// Number of steps between the two, in the measured numbers of cores.
    pub steps: usize,
}

/// Returns the peaks of all curves whose measured peak is at neither end. Only scored rows count.
pub fn peaks(rows: &[Row]) -> Vec<Peak> {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.is_scored()).collect();
    Curve::all(&rows).iter().filter_map(Curve::inner).collect()
}
