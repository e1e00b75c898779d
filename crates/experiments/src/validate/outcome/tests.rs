//! Tests errors of invented rows.

use super::*;
use crate::validate::ThreadOrder;

fn row(scheme: &str, cores: u64, measured: f64, simulated: f64, split: Role) -> Row {
    let measured = Measurement {
        platform: "hpe".into(),
        variant: "opt8".into(),
        scheme: scheme.into(),
        warehouses: 4,
        cores,
        threads: ThreadOrder { steps: vec![2], first_socket: 0 },
        numa: "all".into(),
        remote_lines_pct: 1.0,
        remote_payments_pct: 15.0,
        throughput_txn_per_s: measured,
        abort_ratio: 0.25,
        split,
        merged: 1,
    };
    Row {
        placement: String::new(),
        simulated_txn_per_s: simulated,
        ln_error: (simulated / measured.throughput_txn_per_s).ln(),
        simulated_abort_ratio: 0.5,
        abort_ratio_error: 0.25,
        breakdown: BTreeMap::new(),
        measured_breakdown: BTreeMap::new(),
        commits: 1,
        steady: None,
        wall_s: 0.0,
        measured,
    }
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
    assert_eq!(all.median_abort_ratio_error, 0.25);
    let ranks = ranks(&rows);
    // SILO-NO_WAIT is in the wrong order, SILO-WAIT_DIE in the right one, and NO_WAIT-WAIT_DIE is within the noise.
    assert_eq!((ranks[0].cores, ranks[0].pairs, ranks[0].kendall), (8, 2, Some(0.0)));
    assert_eq!((ranks[1].cores, ranks[1].pairs), (0, 2));
}
