//! Tests goals on invented rows.

use super::*;
use crate::validate::outcome::invented::row;
use crate::validate::peaks::peaks;
use crate::validate::{Measurement, Role};

fn found(rows: &[Row], what: &str) -> Goal {
    let all = goals(rows, &[]);
    let named = all.iter().find(|goal| goal.what.contains(what));
    named.unwrap_or_else(|| panic!("{what} is a goal")).clone()
}

#[test]
fn each_regime_has_its_own_error() {
    let rows = [
        row("SILO", 1, 100.0, 100.0),
        row("SILO", 56, 100.0, 110.0),
        row("SILO", 112, 100.0, 1000.0),
        row("SILO", 784, 100.0, 200.0),
    ];
    let few = found(&rows, "up to 56");
    assert_eq!((few.over, few.is_reached()), (2, Some(true)));
    let many = found(&rows, "from 784");
    assert_eq!((many.over, many.found, many.is_reached()), (1, Some(2f64.ln()), Some(false)));
    let aborts = found(&rows, "median error of the abort ratio");
    assert_eq!((aborts.found, aborts.is_reached()), (Some(0.05), Some(true)));
    assert_eq!(found(&rows[..2], "from 784").is_reached(), None);
    let anchor = Measurement { split: Role::Anchor, ..rows[3].measured.clone() };
    let anchor = Row { measured: anchor, ..rows[3].clone() };
    assert_eq!(found(&[anchor], "from 784").over, 0);
}

#[test]
fn the_order_is_judged_where_schemes_differ() {
    let rows = [
        row("SILO", 16, 100.0, 90.0),
        row("NO_WAIT", 16, 200.0, 80.0),
        row("MVCC", 16, 400.0, 100.0),
        row("OCC", 16, 210.0, 1.0),
        // Too few cores.
        row("SILO", 8, 100.0, 90.0),
        row("NO_WAIT", 8, 200.0, 80.0),
    ];
    let few = found(&rows, "few warehouses");
    // Five of the six pairs differ by more than 15 %; SILO and MVCC, NO_WAIT and MVCC, OCC and MVCC agree.
    assert_eq!((few.over, few.found), (5, Some(0.2)));
    assert_eq!(found(&rows, "many warehouses").found, None);
}

#[test]
fn a_curve_is_judged_at_its_peak_and_beyond() {
    let rows = [
        row("SILO", 7, 100.0, 100.0),
        row("SILO", 14, 300.0, 200.0),
        row("SILO", 28, 200.0, 250.0),
        row("SILO", 56, 100.0, 400.0),
        row("SILO", 112, 50.0, 50.0),
    ];
    let shift = found(&rows, "shift");
    assert_eq!((shift.over, shift.found, shift.is_reached()), (1, Some(2.0), Some(false)));
    let peaks = peaks(&rows);
    assert_eq!((peaks.len(), peaks[0].measured_cores, peaks[0].simulated_cores), (1, 14, 56));
    assert!(peaks[0].setting.starts_with("hpe, opt8, 4 warehouses, SMT 2"), "{peaks:?}");
    let beyond = found(&rows, "times the peak");
    assert_eq!((beyond.over, beyond.found), (2, Some(4f64.ln())));
    // A peak at an end says nothing.
    assert_eq!(found(&rows[..2], "shift").found, None);
}

#[test]
fn hstore_is_compared_with_silo() {
    let rows = [
        row("SILO", 112, 100.0, 100.0),
        row("HSTORE", 112, 100.0, 110.0),
        row("SILO", 224, 100.0, 200.0),
        row("HSTORE", 224, 100.0, 100.0),
        row("SILO", 56, 100.0, 900.0),
        row("HSTORE", 56, 100.0, 1.0),
    ];
    let ratio = found(&rows, "HSTORE to SILO");
    assert_eq!((ratio.over, ratio.found), (2, Some(2f64.ln())));
}
