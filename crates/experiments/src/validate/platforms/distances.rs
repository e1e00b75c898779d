//! Finds the level of distance between each two sockets.
//!
//! The firmware's matrix in `numa_slit.csv` says so, if it has the platform's sockets. A number in it means the level of
//! `[numa.PLATFORM]` with the same `slit`. Without the matrix, sockets of one chassis are at the first level beyond local
//! memory, and all others are at the last one.

use super::Source;
use crate::validate::ValidateError;

/// A level of distance.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub name: String,
    /// The firmware's number.
    pub slit: Option<u64>,
    pub latency_ns: f64,
    pub bandwidth_gbps: f64,
}

/// Levels between sockets, in the form of a machine file.
#[derive(Debug, PartialEq)]
pub(super) struct Distances {
    pub chassis_sockets: u64,
    pub within_chassis: Vec<Vec<u64>>,
    pub between_chassis: Option<u64>,
    pub same_position: Option<u64>,
}

impl Distances {
    /// Returns the distances of `count` sockets, `chassis` of them in each chassis.
    pub(super) fn of(
        source: &Source,
        table: &str,
        (count, chassis): (u64, u64),
        levels: &mut Vec<Level>,
    ) -> Result<Distances, ValidateError> {
        let last = levels.len() as u64 - 1;
        if count > 1 && last == 0 {
            let problem = format!("only local memory, but {count} sockets; allowed: another level");
            return Err(source.bad(&format!("numa.{table}"), problem));
        }
        let mut matrix = source.matrix(table, count, levels)?.unwrap_or_else(|| {
            let level = |a: u64, b: u64| match (a == b, a / chassis == b / chassis) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => last,
            };
            (0..count).map(|a| (0..count).map(|b| level(a, b)).collect()).collect()
        });
        source.divide_levels(table, chassis as usize, levels, &mut matrix)?;
        Ok(Self::compressed(matrix, chassis as usize))
    }

    /// Returns the distances by chassis if all chassis are alike. Otherwise all sockets are listed as one chassis.
    fn compressed(matrix: Vec<Vec<u64>>, chassis: usize) -> Distances {
        let pairs = || (0..matrix.len()).flat_map(|a| (0..matrix.len()).map(move |b| (a, b)));
        let first_between = |same: bool| {
            let other_chassis = |(a, b): &(usize, usize)| {
                a / chassis != b / chassis && (a % chassis == b % chassis) == same
            };
            pairs().find(other_chassis).map(|(a, b)| matrix[a][b])
        };
        let (between, same) = (first_between(false), first_between(true));
        let alike = pairs().all(|(a, b)| {
            let expected = match (a / chassis == b / chassis, a % chassis == b % chassis) {
                (true, _) => Some(matrix[a % chassis][b % chassis]),
                (false, true) => same,
                (false, false) => between,
            };
            expected == Some(matrix[a][b])
        });
        if !alike {
            return Distances {
                chassis_sockets: matrix.len() as u64,
                within_chassis: matrix,
                between_chassis: None,
                same_position: None,
            };
        }
        let between_chassis = between.or(same);
        Distances {
            chassis_sockets: chassis as u64,
            within_chassis: matrix
                .iter()
                .take(chassis)
                .map(|row| row[..chassis].to_vec())
                .collect(),
            between_chassis,
            same_position: same.filter(|_| same != between_chassis),
        }
    }
}

impl Source {
    /// Returns the levels between all sockets, by the firmware's matrix, or none if there is no matrix of the platform.
    fn matrix(
        &self,
        table: &str,
        count: u64,
        levels: &[Level],
    ) -> Result<Option<Vec<Vec<u64>>>, ValidateError> {
        let bad = |line: usize, problem: String| {
            let file = format!("numa_slit.csv beside {}", self.file);
            ValidateError::BadHardware { file, key: format!("line {line}, {table}"), problem }
        };
        let mut matrix = Vec::new();
        for (at, line) in self.distances.lines().enumerate() {
            let values: Vec<&str> = line.split(',').map(str::trim).collect();
            if values[0] != table {
                continue;
            }
            // A platform's name and the number of the node come first.
            let numbers = &values[values.len().min(2)..];
            if numbers.len() as u64 != count {
                let problem =
                    format!("{} distances; allowed: {count}, as sockets says", numbers.len());
                return Err(bad(at + 1, problem));
            }
            let own = matrix.len();
            let level = |(to, number): (usize, &&str)| -> Result<u64, String> {
                let slit = number.parse().ok();
                let found = levels.iter().position(|level| slit.is_some() && level.slit == slit);
                // A socket's own memory is the first level, and no other socket's is.
                let good = found.filter(|level| (*level == 0) == (to == own));
                good.map(|level| level as u64).ok_or_else(|| (*number).to_owned())
            };
            let row: Result<Vec<u64>, _> = numbers.iter().enumerate().map(level).collect();
            let row = row.map_err(|number| {
                let known = levels.iter().filter_map(|level| Some(level.slit?.to_string()));
                let known: Vec<String> = known.collect();
                let problem = format!("{number:?} is no slit of [numa.{table}]; allowed: ");
                bad(at + 1, problem + &known.join(", ") + ", the first for a socket itself only")
            })?;
            matrix.push(row);
        }
        match matrix.len() as u64 {
            0 => Ok(None),
            rows if rows == count => Ok(Some(matrix)),
            rows => Err(bad(1, format!("{rows} rows; allowed: {count}, as sockets says"))),
        }
    }
}
