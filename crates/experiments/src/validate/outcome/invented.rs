//! Invented rows for tests.

use crate::validate::{Measurement, Role, Row, ThreadOrder};

/// Returns a row with few warehouses and an error of ln(simulated / measured).
pub fn row(scheme: &str, cores: u64, measured: f64, simulated: f64) -> Row {
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
        split: Role::Scored,
        merged: 1,
    };
    Row {
        placement: String::new(),
        simulated_txn_per_s: simulated,
        ln_error: (simulated / measured.throughput_txn_per_s).ln(),
        simulated_abort_ratio: 0.3,
        abort_ratio_error: 0.05,
        breakdown: Default::default(),
        wait_of_aborted: 0.0,
        measured_breakdown: Default::default(),
        lines_per_txn: Default::default(),
        commits: 1,
        steady: None,
        wall_s: 0.0,
        measured,
    }
}
