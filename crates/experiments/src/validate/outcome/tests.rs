//! Tests errors of invented rows.

use super::*;

fn row(scheme: &str, cores: u64, measured: f64, simulated: f64, split: Role) -> Row {
    let mut row = invented::row(scheme, cores, measured, simulated);
    row.measured.split = split;
    row
}

#[test]
fn blocks_and_ranks_leave_anchors_out() {
    let rows = [
        row("TICTOC", 8, 100.0, 100.0, Role::Anchor),
        row("SILO", 8, 100.0, 200.0, Role::Scored),
        row("NO_WAIT", 8, 200.0, 100.0, Role::Scored),
        row("WAIT_DIE", 8, 210.0, 400.0, Role::Scored),
    ];
    let blocks = blocks(&rows);
    assert_eq!(blocks.len(), 4);
    let all = &blocks[3];
    assert_eq!((all.scheme.as_str(), all.rows), ("", 3));
    assert!((all.median_abs_ln - 2f64.ln()).abs() < 1e-9);
    assert_eq!(all.median_abort_ratio_error, 0.05);
    let ranks = ranks(&rows);
    // SILO-NO_WAIT is in the wrong order, SILO-WAIT_DIE in the right one, and NO_WAIT-WAIT_DIE is within the noise.
    assert_eq!((ranks[0].cores, ranks[0].pairs, ranks[0].kendall), (8, 2, Some(0.0)));
    assert_eq!((ranks[1].cores, ranks[1].pairs), (0, 2));
}
