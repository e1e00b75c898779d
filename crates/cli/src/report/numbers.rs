//! Formats numbers for readers: three significant digits and a unit.

use harness::run_record::{Certificate, Promise, Verdict};

/// Formats `1234567.0` as `1.23 M`.
pub fn rate(per_s: f64) -> String {
    with_unit(per_s, &[(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, "")])
}

/// Formats `12345` nanoseconds as `12.3 µs`.
pub fn duration_ns(ns: f64) -> String {
    with_unit(ns, &[(1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns")])
}

/// Formats `0.0123` as `1.23 %`.
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".into(),
        p if p < 0.01 => "<0.01 %".into(),
        p => format!("{} %", three_digits(p)),
    }
}

/// Returns a protocol's promise in as few words as possible.
pub(super) fn promise(promise: &Promise) -> &'static str {
    match promise {
        Promise { strict: true, .. } => "strict",
        Promise { serializable: true, .. } => "serializable",
        Promise { snapshot: true, .. } | Promise { strong_snapshot: true, .. } => "snapshot",
        Promise { read_committed: true, .. } => "read committed",
        _ => "nothing",
    }
}

/// Returns the observed isolation of a run in as few words as possible. A broken promise is shown in capitals.
pub(super) fn observed(certificate: &Certificate) -> &'static str {
    let Certificate { snapshot, strong_snapshot, read_committed, .. } = certificate;
    let Certificate { serializable, strict, promised, .. } = certificate;
    match (serializable, strict) {
        _ if promised.read_committed && *read_committed == Verdict::Fail => {
            "FAIL: not read committed"
        }
        _ if promised.snapshot && *snapshot == Verdict::Fail => "FAIL: not snapshot isolation",
        _ if promised.strong_snapshot && *strong_snapshot == Verdict::Fail => {
            "FAIL: not the latest snapshot"
        }
        (Verdict::Fail, _) if promised.serializable => "FAIL: not serializable",
        (_, Verdict::Fail) if promised.strict => "FAIL: not strict",
        (Verdict::Fail, _) if *snapshot == Verdict::Pass => "snapshot",
        (Verdict::Fail, _) if *read_committed == Verdict::Pass => "read committed",
        (Verdict::Fail, _) if *read_committed == Verdict::Fail => "nothing",
        (Verdict::Fail, _) => "not serializable",
        (Verdict::Pass, Verdict::Pass) => "strict",
        (Verdict::Pass, _) => "serializable",
        (Verdict::NotChecked, Verdict::Pass) => "strict",
        (Verdict::NotChecked, Verdict::Fail) => "not strict",
        (Verdict::NotChecked, Verdict::NotChecked) => "not checked",
    }
}

fn with_unit(value: f64, units: &[(f64, &str)]) -> String {
    // 999.6 would be written as "1000" of its unit, so it uses the next unit.
    let (size, name) = units
        .iter()
        .find(|(size, _)| value >= size * 0.9995)
        .or(units.last())
        .expect("there is a unit");
    format!("{}{name}", three_digits(value / size))
}

fn three_digits(value: f64) -> String {
    let decimals = match value {
        v if v == 0.0 || v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness::run_record::Promise;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        let rates = [0.0, 1.0, 12.0, 999.0, 999.7, 1234.0, 78_000.0, 999_900.0, 3.2e7, 1e9, 2e15];
        let shown = rates.map(rate);
        let expected = [
            "0", "1.00", "12.0", "999", "1.00 k", "1.23 k", "78.0 k", "1.00 M", "32.0 M", "1.00 G",
            "2000 T",
        ];
        assert_eq!(shown, expected);
        assert_eq!(duration_ns(850.0), "850 ns");
        assert_eq!(duration_ns(12_345.0), "12.3 µs");
        assert_eq!(duration_ns(2.5e9), "2.50 s");
        assert_eq!([0.0, 0.00001, 0.0123, 1.0].map(percent), ["0 %", "<0.01 %", "1.23 %", "100 %"]);
    }

    #[test]
    fn a_broken_promise_is_shouted_and_an_unpromised_failure_is_said() {
        let mut c = Certificate {
            serializable: Verdict::Pass,
            strict: Verdict::Fail,
            promised: Promise { serializable: true, ..Promise::default() },
            ..Certificate::default()
        };
        assert_eq!(observed(&c), "serializable");
        c.promised.strict = true;
        assert_eq!(observed(&c), "FAIL: not strict");
        c.serializable = Verdict::Fail;
        assert_eq!(observed(&c), "FAIL: not serializable");
        c.promised = Promise::default();
        assert_eq!(observed(&c), "not serializable");
        c.read_committed = Verdict::Pass;
        assert_eq!(observed(&c), "read committed");
        c.promised.snapshot = true;
        c.snapshot = Verdict::Fail;
        assert_eq!(observed(&c), "FAIL: not snapshot isolation");
        c.snapshot = Verdict::Pass;
        c.strong_snapshot = Verdict::Fail;
        assert_eq!(observed(&c), "snapshot");
        c.promised.strong_snapshot = true;
        assert_eq!(observed(&c), "FAIL: not the latest snapshot");
        assert_eq!(observed(&Certificate::default()), "not checked");
    }
}
