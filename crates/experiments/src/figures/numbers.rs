//! Compares values of a figure's records, and writes them as text.

use super::{Data, Measure, Missing};

/// Returns a number with three digits and a unit: `1.23 M`.
pub(super) fn short(value: f64) -> String {
    let (unit, factor) = match value.abs() {
        v if v >= 1e9 => (" G", 1e9),
        v if v >= 1e6 => (" M", 1e6),
        v if v >= 1e3 => (" k", 1e3),
        _ => ("", 1.0),
    };
    let scaled = value / factor;
    let digits = match scaled.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{scaled:.digits$}{unit}")
}

/// Returns a share as a percentage.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Returns the throughputs of `names` at `x`, highest first.
pub(super) fn ranked<'n>(
    data: Data<'_>,
    names: &[&'n str],
    x: f64,
) -> Result<Vec<(&'n str, f64)>, Missing> {
    ranked_by(data, names, x, Measure::Throughput)
}

/// Returns the values of `names` at `x`, highest first.
pub(super) fn ranked_by<'n>(
    data: Data<'_>,
    names: &[&'n str],
    x: f64,
    measure: Measure,
) -> Result<Vec<(&'n str, f64)>, Missing> {
    let mut ranked = Vec::new();
    for &name in names {
        ranked.push((name, data.value(name, x, measure)?));
    }
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(ranked)
}

/// Returns ranked values as a text.
pub(super) fn listed(ranked: &[(&str, f64)]) -> String {
    let parts = ranked.iter().map(|(name, value)| format!("{name} {}", short(*value)));
    parts.collect::<Vec<_>>().join(", ")
}

/// Returns the throughput of `name` at `x` as a share of linear scaling from its fewest cores.
pub(super) fn of_linear(data: Data<'_>, name: &str, x: f64) -> Result<f64, Missing> {
    let first = data.throughputs(name)?[0];
    Ok(data.throughput(name, x)? / (first.1 * x / first.0))
}

/// Returns the fewest cores at which `name` has less than `share` of linear throughput.
pub(super) fn leaves_linear(
    data: Data<'_>,
    name: &str,
    share: f64,
) -> Result<Option<f64>, Missing> {
    for (x, _) in data.throughputs(name)? {
        if of_linear(data, name, x)? < share {
            return Ok(Some(x));
        }
    }
    Ok(None)
}

/// Returns whether no value is higher than the one before it by more than `tolerance`.
pub(super) fn never_rises(values: &[(f64, f64)], tolerance: f64) -> bool {
    values.windows(2).all(|pair| pair[1].1 <= pair[0].1 * (1.0 + tolerance))
}

/// Returns whether no value is lower than the one before it by more than `tolerance`.
pub(super) fn never_falls(values: &[(f64, f64)], tolerance: f64) -> bool {
    values.windows(2).all(|pair| pair[1].1 >= pair[0].1 * (1.0 - tolerance))
}

/// Returns places and values as a text.
pub(super) fn curve(values: &[(f64, f64)]) -> String {
    let parts = values.iter().map(|(x, y)| format!("{} at {x}", short(*y)));
    parts.collect::<Vec<_>>().join(", ")
}
