//! Tests that schedules with a violation are shrunk and described.

use super::*;
use kilocore_harness::explore::{Script, Story, histories, trace};
use std::ops::ControlFlow;
use txn::History;
use workloads::{micro::counters::Counters, ycsb::Ycsb};

fn story<W: Workload>(make: &dyn Fn(u64) -> W, exploration: &Exploration) -> Story {
    let finding = explored(make, exploration).finding.expect("something goes wrong");
    let story = trace(make, exploration, finding.seed, None).expect("can run");
    let story = story.expect("it goes wrong again");
    assert_eq!(story.detector, Some(finding.violation.detector()));
    // The same seed always gives the same description.
    let again = trace(make, exploration, finding.seed, None).expect("can run").expect("as before");
    assert_eq!(story.to_string(), again.to_string());
    // The script reproduces the violation by itself.
    let script: Script = story.script.clone().expect("it can be spelled out");
    let script: Script = script.to_string().parse().expect("it is read as it is written");
    let told = trace(make, exploration, finding.seed, Some(&script)).expect("can run");
    let told = told.expect("a script is told");
    assert_eq!((told.violation, &told.lines), (story.violation.clone(), &story.lines));
    story
}

#[test]
fn two_transactions_and_two_switches_are_left_of_a_lost_update() {
    let exploration = exploration("NO_CC", &[], 100);
    let story = story(&Counters::varied, &exploration);
    assert_eq!((story.size.workers, story.size.procedures), (2, 2), "{story}");
    assert!(story.size.context_switches <= 4, "{story}");
    let (before, schedules) = story.shrunk_from.expect("it was larger");
    assert!(before.procedures == 12 && schedules > 12, "{before}");
    let violation = story.violation.as_deref().expect("it goes wrong");
    assert!(violation.contains("table counters") && !violation.contains("table 0"), "{violation}");
    let told = story.lines.join("\n");
    for said in ["begins procedure", "reads", " = ", "commits", "has committed", "becomes"] {
        assert!(told.contains(said), "{said}: {told}");
    }
}

#[test]
fn a_planted_bug_shows_where_it_is() {
    let exploration = Exploration {
        mutant: Some("bypassing_writes".into()),
        schedules: 20_000,
        ..Exploration::default()
    };
    let story = story(&Counters::varied, &exploration);
    assert!(story.size.procedures <= 3 && story.size.workers <= 2, "{story}");
    assert!(story.lines.iter().any(|line| line.contains("has committed")), "{story}");
}

#[test]
fn a_script_in_which_nothing_goes_wrong_says_so() {
    let exploration = exploration("SILO", &[], 1);
    let script: Script = "0.1/0.1.2/_:".parse().expect("a script");
    let story = trace(&Ycsb::varied, &exploration, 3, Some(&script)).expect("can run");
    let story = story.expect("a script is told");
    assert_eq!((story.violation.as_deref(), story.size.workers), (None, 2));
    assert_eq!(story.size.procedures, 5);
    assert!(story.to_string().contains("no violation"), "{story}");
    assert!(trace(&Ycsb::varied, &exploration, 3, None).expect("can run").is_none());
}

#[test]
fn histories_are_handed_out_as_they_are_recorded() {
    let exploration = exploration("SILO", &[], 40);
    let mut seen = 0;
    let mut visit = |seed: u64, history: &History| {
        // Three workers run four procedures each. In twelve of sixteen schedules there are also transactions that
        // retire records.
        let retires = seed % 16 >= 4;
        assert!(history.len() == 12 || history.len() > 12 && retires, "seed {seed}");
        seen += 1;
        if seen == 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    histories(&Counters::varied, &exploration, &mut visit).expect("can run");
    assert_eq!(seen, 20);
}
