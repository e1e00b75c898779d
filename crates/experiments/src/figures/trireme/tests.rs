//! Tests checks on invented records: each with numbers under which it holds, and with others under which it does not. Also
//! tests what happens while the engine lacks an architecture.

use super::*;
use crate::figures::data::lines_of;
use crate::figures::judging::{at, both, line, run};
use crate::figures::{Line, Verdict};
use harness::run_record::RunRecord;
use std::collections::BTreeMap;

fn grouped(group: &'static str, lines: Vec<Line>) -> Vec<Line> {
    lines.into_iter().map(|line| Line { group, ..line }).collect()
}

/// Returns a line of one record on 72 threads, with a throughput in millions and aborts a commit.
fn aborting(name: &str, throughput: f64, aborts: u64) -> Line {
    let aborts = BTreeMap::from([("lock conflict".to_owned(), 100 * aborts)]);
    let record = RunRecord { aborts, ..run(throughput) };
    Line { name: name.to_owned(), points: vec![(ALL, record)], ..Line::default() }
}

/// Returns a line of one record on 72 threads, whose attempts that commit take `us` microseconds. As much time is lost.
fn attempts(name: &str, us: f64) -> Line {
    let shares = [("useful", 0.5), ("abort", 0.3), ("back_off", 0.2)];
    let breakdown = shares.map(|(name, share)| (name.to_owned(), share));
    let record =
        RunRecord { cores: 72, breakdown: Some(BTreeMap::from(breakdown)), ..run(0.5 * 72.0 / us) };
    Line { name: name.to_owned(), points: vec![(ALL, record)], ..Line::default() }
}

#[test]
fn reads_by_architecture() {
    let few = |se| {
        [line("SE", &[(2.0, se)]), line("Delegation", &[(2.0, 1.0)]), line("DORA", &[(2.0, 0.5)])]
    };
    both(&fig02::FIGURE_A, 0, &few(1.5), &few(0.9));
    let many = |dora| at(ALL, &[("SE", 1.0), ("Delegation", 6.0), ("DORA", dora)]);
    both(&fig02::FIGURE_A, 1, &many(3.0), &many(1.2));
    both(
        &fig02::FIGURE_B,
        0,
        &at(ALL, &[("SE", 3.0), ("Delegation", 2.0), ("DORA", 1.0)]),
        &many(3.0),
    );
    let flat = |last| [line("SE", &[(54.0, 10.0), (ALL, last)])];
    both(&fig02::FIGURE_B, 2, &flat(10.5), &flat(13.0));
}

#[test]
fn best_pairs_of_reads() {
    let of = |silo, pse| {
        let mut lines = at(ALL, &[("NO_WAIT", 5.0), ("2V_NO_WAIT", 5.0), ("DL_DETECT", 0.5)]);
        lines.push(line("SILO", &[(1.0, 0.2), (ALL, silo)]));
        lines.push(line("PSE", &[(1.0, 0.2), (ALL, pse)]));
        lines.push(line("Delegation", &[(ALL, 3.5)]));
        lines
    };
    for check in 0..6 {
        let bad = match check {
            0 | 1 | 4 => of(4.0, 1.0),
            2 => of(20.0, 1.0),
            3 => of(10.0, 6.0),
            _ => at(ALL, &[("SILO", 1.0), ("DL_DETECT", 0.5), ("Delegation", 0.6)]),
        };
        both(&fig02cd::FIGURE_C, check, &of(10.0, 1.0), &bad);
    }
}

#[test]
fn remote_reads() {
    let of = |name: &str, values: [f64; 3]| {
        line(name, &[(0.0, values[0]), (1.0, values[1]), (10.0, values[2])])
    };
    let all = |pse: [f64; 3]| {
        vec![
            of("SE", [7.0, 7.1, 7.0]),
            of("PSE", pse),
            of("Delegation", [9.0, 6.0, 1.0]),
            of("DORA", [9.0, 6.0, 1.0]),
        ]
    };
    let (good, bad) = (all([10.0, 3.0, 0.1]), all([6.0, 5.0, 0.5]));
    for check in [0, 1, 2, 4, 5] {
        both(&fig02cd::FIGURE_D, check, &good, &bad);
    }
    let slower = |after| [of("Delegation", [9.0, after, 1.0]), of("DORA", [9.0, 6.0, 1.0])];
    both(&fig02cd::FIGURE_D, 3, &slower(6.0), &slower(9.5));
    both(&fig02cd::FIGURE_D, 6, &[of("SE", [7.0, 7.1, 7.2])], &[of("SE", [7.0, 7.1, 7.7])]);
}

#[test]
fn updates_under_dl_detect() {
    let against = |left| {
        let reads = grouped("reads", at(ALL, &[("SE", 10.0)]));
        [at(ALL, &[("SE", left)]), reads].concat()
    };
    both(&fig03::FIGURE_A, 0, &against(0.9), &against(2.0));
    let one = |aborts| [aborting("SE", 1.0, aborts)];
    both(&fig03::FIGURE_B, 0, &one(1), &one(0));
    let peak = |last| [line("SE", &[(18.0, 5.0), (ALL, last)])];
    both(&fig03::FIGURE_C, 2, &peak(3.0), &peak(4.9));
    both(&fig03::FIGURE_C, 0, &one(0), &one(1));
}

#[test]
fn updates_without_waits() {
    let second = |of| [line("SE", &[(1.0, 1.0), (2.0, of)])];
    both(&fig04::FIGURE_A, 1, &second(1.5), &second(0.5));
    let fewer = |own| {
        [aborting("SE", 1.0, own), aborting("Delegation", 1.0, 50), aborting("DORA", 1.0, 90)]
    };
    both(&fig04::FIGURE_C, 0, &fewer(3), &fewer(9));
    both(&fig04::FIGURE_C, 1, &[attempts("SE", 7.0)], &[attempts("SE", 20.0)]);
    let later = |us| [attempts("Delegation", us), attempts("DORA", 600.0)];
    both(&fig04::FIGURE_C, 2, &later(70.0), &later(500.0));
    let calm = |us| [vec![attempts("SE", 9.0)], grouped("calm", vec![attempts("SE", us)])].concat();
    both(&fig04::FIGURE_C, 4, &calm(8.0), &calm(3.0));
}

#[test]
fn best_pairs_of_updates() {
    let protocols = [("SILO", 2.0), ("NO_WAIT", 1.5), ("2V_NO_WAIT", 1.5), ("DL_DETECT", 1.0)];
    let with = |pse: f64| {
        let mut lines: Vec<Line> =
            protocols.iter().map(|(name, y)| line(name, &[(54.0, *y), (ALL, *y)])).collect();
        lines.push(line("PSE", &[(18.0, 3.0), (54.0, pse), (ALL, pse)]));
        lines.extend(grouped("reads", vec![line("PSE", &[(18.0, 3.0), (54.0, 3.1), (ALL, 3.1)])]));
        lines.extend(grouped("packed", at(ALL, &[("PSE", 0.3)])));
        lines
    };
    for (check, bad) in [(3, 1.9), (4, 3.9), (5, 4.0), (6, 1.0)] {
        both(&fig05::FIGURE, check, &with(3.0), &with(bad));
    }
    let few = |detect| {
        at(8.0, &[("SILO", 2.0), ("NO_WAIT", 1.5), ("2V_NO_WAIT", 1.5), ("DL_DETECT", detect)])
    };
    both(&fig05::FIGURE, 1, &few(3.0), &few(1.0));
    let many = |aborts| {
        [aborting("SILO", 2.0, 2), aborting("NO_WAIT", 2.0, 3), aborting("DL_DETECT", 1.0, aborts)]
    };
    both(&fig05::FIGURE, 2, &many(4), &many(1));
    let second = |y| at(8.0, &[("NO_WAIT", 2.0), ("2V_NO_WAIT", y)]);
    both(&fig05::FIGURE, 0, &second(2.1), &second(3.0));
    let pse = |aborts| [aborting("PSE", 1.0, aborts)];
    both(&fig05::FIGURE, 7, &pse(0), &pse(1));
}

#[test]
fn ycsb() {
    let reads = |silo| at(ALL, &[("SILO", silo), ("NO_WAIT", 2.0), ("2V_NO_WAIT", 2.0)]);
    both(&fig06::FIGURE_A, 1, &reads(1.0), &reads(3.0));
    let same = |last| {
        [
            line("Delegation", &[(18.0, 0.5), (ALL, last)]),
            line("DL_DETECT", &[(18.0, 1.0), (ALL, 2.0)]),
        ]
    };
    both(&fig06::FIGURE_A, 2, &same(2.1), &same(4.0));
    let updates = |pse: f64| {
        vec![
            aborting("SILO", 3.0, 1),
            aborting("NO_WAIT", 2.0, 2),
            aborting("2V_NO_WAIT", 2.0, 2),
            aborting("DL_DETECT", 1.0, 3),
            aborting("PSE", pse, 0),
        ]
    };
    both(&fig06::FIGURE_B, 2, &updates(0.1), &updates(0.5));
    both(
        &fig06::FIGURE_B,
        1,
        &updates(0.1),
        &at(ALL, &[("SILO", 0.5), ("NO_WAIT", 2.0), ("2V_NO_WAIT", 2.0), ("DL_DETECT", 1.0)]),
    );
    let skewed = |pse| {
        let best = [("SILO", 1.0), ("NO_WAIT", 2.0), ("2V_NO_WAIT", 2.0), ("DL_DETECT", 1.0)];
        let mut lines: Vec<Line> =
            best.iter().map(|(name, y)| line(name, &[(0.0, 15.0 * y), (0.9, *y)])).collect();
        lines.push(line("PSE", &[(0.0, 1.0), (0.9, pse)]));
        lines
    };
    both(&fig06cd::FIGURE_C, 0, &skewed(0.4), &skewed(0.05));
    both(&fig06cd::FIGURE_C, 1, &skewed(0.4), &skewed(0.1));
    let mixed = |half| {
        [
            line("NO_WAIT", &[(0.0, 3.0), (36.0, 1.0), (ALL, 0.5)]),
            line("2V_NO_WAIT", &[(0.0, 3.0), (36.0, half), (ALL, 0.5)]),
        ]
    };
    both(&fig06cd::FIGURE_D, 0, &mixed(1.4), &mixed(1.1));
    let flat = |half| [line("PSE", &[(0.0, 0.1), (36.0, half), (ALL, 0.1)])];
    both(&fig06cd::FIGURE_D, 2, &flat(0.11), &flat(0.2));
}

#[test]
fn more_protocols() {
    let of = |tictoc, wait_die| {
        at(
            ALL,
            &[
                ("SILO", 10.0),
                ("TICTOC", tictoc),
                ("OCC", 5.0),
                ("NO_WAIT", 2.0),
                ("WAIT_DIE", wait_die),
            ],
        )
    };
    for figure in [&fig07::FIGURE_A, &fig07::FIGURE_B] {
        let first = usize::from(figure.number == "7b");
        both(figure, first, &of(9.5, 1.0), &of(7.0, 1.0));
        both(figure, first + 1, &of(9.5, 1.0), &of(9.5, 2.5));
    }
    let foedus = |mocc| at(ALL, &[("MOCC", mocc), ("OCC", 1.0), ("PCC", 0.8)]);
    both(&fig07cde::FIGURE_C, 0, &foedus(1.3), &foedus(1.1));
    let locks = |own| {
        [vec![aborting("NO_WAIT", own, 2)], grouped("7c", vec![aborting("PCC", 1.0, 5)])].concat()
    };
    both(&fig07cde::FIGURE_D, 1, &locks(2.0), &locks(1.0));
    let later = |own| {
        let names = [("SILO", 1.0), ("NO_WAIT", 1.0), ("PSE", 2.0), ("Asymmetric", 0.05)];
        [at(ALL, &names), at(ALL, &[("Delegation", own)])].concat()
    };
    both(&fig07cde::FIGURE_E, 1, &later(0.04), &later(0.4));
    both(&fig07cde::FIGURE_E, 0, &later(0.04), &later(0.06));
}

/// An architecture is looked up in the engine by its name, so nothing here changes when the engine has it.
#[test]
fn lines_of_an_architecture_that_the_engine_lacks_are_not_measured() {
    let figure = fig02::FIGURE_A;
    let lacks = |architecture: &str| engine::registry::declaration(architecture).is_err();
    assert!(!lacks(SE.engine) && !lacks(PSE.engine));
    for on in [DELEGATION, DORA, ASYMMETRIC] {
        let run = hot_cold(Effort::Quick, "").under(on, "DL_DETECT", 18);
        assert_eq!(run.unable().is_some(), lacks(on.engine), "{}", on.engine);
        let owners = if on.serves_apart { 9 } else { 18 };
        assert!(run.options.ends_with(&format!("--partitions {owners}")), "{}", run.options);
        let command = run.command(MACHINE, "18");
        assert_eq!(command.contains(" --servers 9"), on.serves_apart, "{command}");
        assert!(command.contains(&format!(" --architecture {}", on.engine)), "{command}");
    }
    let nowhere = hot_cold(Effort::Quick, "").under(SE, "SILO", 2).under("no_such");
    assert_eq!(nowhere.unable().as_deref(), Some("the engine has no architecture no_such"));
    let refused = hot_cold(Effort::Quick, "").under(SE, "SILO", 2).under(PSE.engine);
    assert!(refused.unable().is_some_and(|why| why.contains("NO_CC")));
    // Records of such an architecture are found as soon as there are some, and the statement is judged.
    let record = |place: &crate::figures::Place| {
        let Point::Setting(setting) = &place.point else { unreachable!("no measured program") };
        let fast = if setting.architecture == SE.engine { 1.0 } else { 9.0 };
        super::super::tests::record_of(setting, fast * 1e6)
    };
    let records: Vec<RunRecord> = figure.places(Effort::Quick).iter().map(record).collect();
    let judge = |records: &[RunRecord]| {
        let lines = lines_of(&figure, Effort::Quick, records);
        figure.checks[1].judged(&figure, &Data::of(&lines))
    };
    assert_eq!(judge(&records).verdict, Verdict::Holds);
    let old: Vec<RunRecord> =
        records.into_iter().filter(|record| record.architecture == SE.engine).collect();
    let judged = judge(&old);
    assert_eq!(judged.verdict, Verdict::NotMeasured);
    assert!(judged.saw.contains("delegation") || !lacks(DELEGATION.engine), "{}", judged.saw);
}
