use super::*;
use harness::run_record::{HostLoad, LittlesLaw, RunRecord, Setting, Spread, Verdict, to_csv};

#[path = "synthetic.rs"]
mod synthetic;

/// Returns the lengths of the lines, in characters.
fn widths(text: &str) -> impl Iterator<Item = usize> {
    text.lines().map(|line| line.chars().count())
}

#[test]
fn the_table_has_every_record_and_fits_into_eighty_columns() {
    let records = synthetic::records();
    let text = table(&records, Terminal::default());
    for record in &records {
        let row = |line: &&str| {
            let mut words = line.split_whitespace();
            words.next().map(|w| w.trim_end_matches('*')) == Some(&record.protocol)
                && words.next() == Some(&record.cores.to_string())
        };
        assert!(text.lines().any(|line| row(&line)), "{} {}", record.protocol, record.cores);
    }
    assert!(widths(&text).all(|w| w <= 80), "{text}");
    assert!(text.contains("ycsb on graphite (shared everything)"));
    assert!(text.contains("TICTOC*") && text.contains("* interrupted"));
    assert!(text.contains("at 26.0 M operations a second"));
}

#[test]
fn what_makes_a_number_less_than_it_seems_is_said_in_its_row() {
    let mut records = synthetic::records();
    records.truncate(2);
    let bad = &mut records[1];
    bad.steady = Some(false);
    bad.latency_ns.p99 = Some(7_000_000);
    bad.latency_ns.p50 = None;
    bad.latency_ns.at_least = vec!["p99".into()];
    bad.littles_law = Some(LittlesLaw { accounted_workers: 0.5, factor: 2.0, holds: false });
    bad.host_load = Some(HostLoad { others: Some(0.4), ..HostLoad::default() });
    bad.repetitions = 1;
    bad.spread = Spread::within(bad.throughput_txn_per_s, 0.2);
    let text = table(&records, Terminal::default());
    let row = text.lines().find(|line| line.starts_with("NO_WAIT")).expect("a row");
    for sign in ["NO_WAIT!#", " ~", "±20.0%", " – ", "≥7.00 ms"] {
        assert!(row.contains(sign), "{sign} in {row}");
    }
    let other = text.lines().find(|line| line.starts_with("NO_CC")).expect("a row");
    assert!(!other.contains(['!', '#', '~', '≥', '–']), "{other}");
    for meaning in ["! busy host", "# throughput x", "~ not steady", "≥ at least"] {
        assert!(text.contains(meaning), "{meaning} below {text}");
    }
    let plain = table(&records, Terminal { unicode: false, ..Terminal::default() });
    assert!(plain.is_ascii() && plain.contains(">=7.00 ms"), "{plain}");
    let page = page("t", &records);
    let remarks = "[\"busy host, others took 40 %\",\"not steady\",\"Little's law fails by a factor of \
        2.00\",\"latencies are lower bounds\"]";
    assert!(page.contains(remarks) && page.contains("\"unsteady\":true"));
    let csv = to_csv(&records);
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = |name| lines[0].iter().position(|column| *column == name).expect(name);
    for (name, value) in [
        ("steady", "false"),
        ("latency_ns.p50", ""),
        ("latency_ns.at_least", "p99"),
        ("littles_law.holds", "false"),
        ("spread.of", "batches"),
    ] {
        // These columns come before the quoted cells at the end of a line.
        assert_eq!(lines[2][column(name)], value, "{name}");
    }
    assert!(csv.contains(",0.4,true,"), "the load of others, and that it disturbs");
}

#[test]
fn a_promise_stands_beside_what_was_observed() {
    let mut records = synthetic::records();
    records.truncate(1);
    // With a single worker every check passes, although the protocol promises nothing.
    let certificate = &mut records[0].certificate;
    (certificate.serializable, certificate.strict) = (Verdict::Pass, Verdict::Pass);
    let text = table(&records, Terminal::default());
    let row = text.lines().find(|line| line.starts_with("NO_CC")).expect("a row");
    let words: Vec<&str> = row.split_whitespace().rev().take(2).collect();
    assert_eq!(words, ["strict", "nothing"]);
    assert!(page("t", &records).contains("\"kept\":false"), "no merit, so not green");
}

#[test]
fn settings_in_which_protocols_differ_are_named() {
    let mut records = synthetic::records();
    records.truncate(3);
    let mut set = |at: usize, name: &str, value: &str| {
        let value = Setting::Text(value.into());
        records[at].protocol_options.insert(name.into(), value);
    };
    set(0, "commit-locks", "refuse");
    set(1, "commit-locks", "wait");
    set(2, "partitions", "1");
    set(2, "older-at-partition", "goes-first");
    let text = table(&records, Terminal::default());
    for said in
        ["commit-locks refuse (NO_CC)", "commit-locks wait (NO_WAIT)", "WAIT_DIE locks partitions"]
    {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(said), "{said} in {text}");
    }
    assert!(widths(&text).all(|w| w <= 80), "{text}");
}

#[test]
fn of_many_lines_the_chart_draws_those_that_matter() {
    let mut records = synthetic::records();
    for (at, name) in ["A", "B", "C"].into_iter().enumerate() {
        let like = records.iter().filter(|r| r.protocol == "SILO").cloned();
        let slower = like.map(|mut record| {
            record.protocol = name.into();
            record.throughput_txn_per_s /= 10.0 + at as f64;
            record
        });
        let slower: Vec<_> = slower.collect();
        records.extend(slower);
    }
    let text = chart(&records, Terminal::default());
    assert!(text.contains("SILO") && text.contains("and 3 others in the table"), "{text}");
    assert!(!text.contains("NO_CC"), "a baseline hides what is compared: {text}");
}

#[test]
fn a_broken_promise_stands_out_in_table_and_page() {
    let mut records = synthetic::records();
    records.truncate(2);
    records[1].certificate.serializable = Verdict::Fail;
    assert!(table(&records, Terminal::default()).contains("FAIL: not serializable"));
    assert!(page("t", &records).contains("\"FAIL: not serializable\""));
}

#[test]
fn the_chart_fits_and_shows_every_line() {
    let records = synthetic::records();
    for unicode in [true, false] {
        let terminal = Terminal { unicode, ..Terminal::default() };
        let text = chart(&records, terminal);
        assert!(widths(&text).all(|w| w <= 80), "{text}");
        assert!(unicode || text.is_ascii(), "{text}");
        assert!(!text.contains('\x1b'));
        for name in ["NO_CC", "NO_WAIT", "TICTOC", "1024"] {
            assert!(text.contains(name), "{name}\n{text}");
        }
    }
    let coloured = chart(&records, Terminal { colour: true, ..Terminal::default() });
    assert!(coloured.contains("\x1b[3"));
}

#[test]
fn reports_of_nothing_and_of_zeros_are_made_too() {
    let mut zero = RunRecord { cores: 1, ..RunRecord::blank() };
    let mut two = zero.clone();
    two.cores = 2;
    for records in [vec![], vec![zero.clone()], vec![zero.clone(), two]] {
        let _ = table(&records, Terminal::default());
        let _ = chart(&records, Terminal { width: 1, ..Terminal::default() });
        assert!(page("t", &records).ends_with("</html>\n"));
    }
    zero.throughput_txn_per_s = 5.0;
    assert_eq!(chart(&[zero], Terminal::default()), "", "one point is no line");
}

#[test]
fn lines_of_one_protocol_are_told_apart_by_their_options() {
    let mut records: Vec<_> = synthetic::records().into_iter().take(1).collect();
    let mut other = records[0].clone();
    other.protocol_options =
        [("timestamp_allocation".into(), Setting::Text("clock".into()))].into();
    records.push(other);
    let text = table(&records, Terminal::default());
    assert!(text.contains("NO_CC (atomic)") && text.contains("NO_CC (clock)"), "{text}");
}

#[test]
fn groups_are_told_apart_by_their_options() {
    let mut records: Vec<_> = synthetic::records().into_iter().take(1).collect();
    let mut other = records[0].clone();
    other.workload_options.insert("theta".into(), Setting::Number(0.9));
    records.push(other);
    let text = table(&records, Terminal::default());
    assert!(text.contains("ycsb, theta 0.6 on native"), "{text}");
    assert!(text.contains("ycsb, theta 0.9 on native"), "{text}");
}

#[test]
fn the_page_needs_nothing_from_outside() {
    let text = page("A title", &synthetic::records());
    let namespace = "http://www.w3.org/2000/svg";
    let without = text.replace(namespace, "");
    for outside in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!without.contains(outside), "{outside}");
    }
    assert!(!text.contains("{{"));
    assert!(text.len() < 400_000);
}

#[test]
fn what_stands_in_records_cannot_break_out_of_the_page() {
    let mut records = synthetic::records();
    records[0].host = "</script><script>alert(1)</script>{{style}}".into();
    let text = page("<b>&\"", &records);
    assert_eq!(text.matches("</script>").count(), 3);
    assert!(text.contains("<title>&lt;b&gt;&amp;&quot;</title>"));
    assert!(text.contains("\\u003c/script>\\u003cscript>alert(1)"));
}

#[test]
fn the_page_carries_the_records_as_they_are() {
    let records = synthetic::records();
    let text = page("t", &records);
    let from = text.split_once("id=\"records\">").unwrap().1;
    let json = from.split_once("</script>").unwrap().0;
    assert_eq!(json, serde_json::to_string(&records).unwrap());
    let carried: Vec<RunRecord> = serde_json::from_str(json).unwrap();
    assert_eq!(carried.len(), records.len());
}
