//! Tests maps on invented records.

use super::*;
use crate::figures::judging::run;
use harness::run_record::SteadinessRecord;

const GRID: Grid = Grid {
    cores: &[4, 8],
    rows: &["reads", "updates"],
    columns: &["0 %", "20 %", "100 %"],
    across: "remote",
};

/// Returns a steady line with a throughput in millions at each place, whose intervals are a share wide.
fn line(name: &str, half_width: f64, values: &[f64]) -> Line {
    let record = |y: f64| RunRecord {
        steady: Some(true),
        steadiness: Some(SteadinessRecord {
            half_width,
            drift: 0.0,
            batch_means_txn_per_s: Vec::new(),
            ended: "steady".into(),
        }),
        ..run(y)
    };
    let points = values.iter().enumerate().map(|(at, y)| (at as f64, record(*y)));
    Line { name: name.to_owned(), points: points.collect(), ..Line::default() }
}

#[test]
fn each_cell_has_a_place_of_its_own() {
    let spots = GRID.spots();
    let places: Vec<f64> = spots.iter().map(|spot| GRID.x(*spot)).collect();
    assert_eq!(places, (0..12).map(f64::from).collect::<Vec<_>>());
    assert_eq!(spots[11], Spot { block: 1, row: 1, column: 2 });
    assert_eq!(GRID.name(spots[7]), "8 cores, reads, 20 % remote");
}

#[test]
fn the_winner_leads_the_best_pair_of_another_architecture() {
    let lines = [
        line("SE SILO", 0.0, &[4.0, 1.0, 0.0]),
        line("SE NO_WAIT", 0.0, &[3.9, 2.0, 0.0]),
        line("PSE NO_CC", 0.0, &[2.0, 0.1, 0.0]),
        line("Delegation SILO", 0.0, &[1.0, 3.0, 0.0]),
    ];
    let lines: Vec<&Line> = lines.iter().collect();
    let cell = Cell::of(&lines, 0.0).unwrap();
    assert_eq!((cell.best.architecture, cell.best.protocol), ("SE", "SILO"));
    assert_eq!((cell.second.unwrap().architecture, cell.lead()), ("PSE", Some(2.0)));
    assert_eq!((cell.is_tie(), cell.lead_written().as_str()), (false, "2.00× PSE"));
    let other = Cell::of(&lines, 1.0).unwrap();
    assert_eq!(
        (other.best.architecture, other.second.unwrap().protocol),
        ("Delegation", "NO_WAIT")
    );
    assert_eq!(other.lead_written(), "1.50× SE");
    // Without a commit there is no winner, and without another architecture no lead.
    assert_eq!(Cell::of(&lines, 2.0), None);
    assert_eq!(Cell::of(&lines, 3.0), None);
    let alone = Cell::of(&lines[..2], 0.0).unwrap();
    assert_eq!((alone.second, alone.is_tie(), alone.lead_written().as_str()), (None, false, ""));
    let only = [line("SE SILO", 0.0, &[1.0]), line("PSE NO_CC", 0.0, &[0.0])];
    assert_eq!(Cell::of(&only.each_ref()[..], 0.0).unwrap().lead_written(), "no other");
}

#[test]
fn a_cell_that_lacks_records_has_no_winner_yet() {
    let lines = [line("SE SILO", 0.0, &[4.0, 4.0]), line("PSE NO_CC", 0.0, &[1.0])];
    let lines: Vec<&Line> = lines.iter().collect();
    let cell = Cell::of(&lines, 1.0).unwrap();
    assert_eq!((cell.is_complete(), cell.lead_written().as_str()), (false, "1 of 2 runs"));
    assert!(
        findings(&GRID, "chip", &lines)[0].starts_with("Of 1 cells of chip, SE is ahead in 1.")
    );
}

#[test]
fn throughputs_within_the_noise_are_a_tie() {
    let tie = |second: f64, half_width: f64| {
        let lines = [line("SE SILO", half_width, &[1.0]), line("PSE NO_CC", half_width, &[second])];
        let cell = Cell::of(&lines.each_ref()[..], 0.0).unwrap();
        assert_eq!(cell.lead_written() == "= PSE", cell.is_tie());
        cell.is_tie()
    };
    assert!(tie(0.96, 0.0) && !tie(0.94, 0.0), "a difference of less than 5 % is none");
    assert!(tie(0.9, 0.06) && !tie(0.9, 0.05), "intervals that meet are not told apart");
}

#[test]
fn an_unsteady_throughput_is_marked() {
    let mut unsteady = line("SE SILO", 0.0, &[1.0]);
    unsteady.points[0].1.steady = Some(false);
    let lines = [&unsteady];
    assert_eq!(Cell::of(&lines, 0.0).unwrap().best.written(), "~1.00 M");
}

#[test]
fn sentences_count_winners_ties_and_changes() {
    let se = [4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 1.0, 4.0, 4.0, 4.0, 4.0, 4.0];
    let pse = [1.0, 4.0, 1.0, 1.0, 1.0, 1.0, 9.0, 4.0, 1.0, 1.0, 1.0, 1.0];
    let lines = [line("SE SILO", 0.0, &se), line("PSE NO_CC", 0.0, &pse)];
    let lines: Vec<&Line> = lines.iter().collect();
    let told = findings(&GRID, "chip", &lines);
    assert!(told[0].contains("SE is ahead in 9, PSE is ahead in 1. In 2 the best"), "{told:?}");
    assert!(told[1].starts_with("SE is farthest ahead on chip with 4 cores"), "{told:?}");
    assert!(
        told[2].contains("8 cores, reads, 0 % remote")
            && told[2].contains("9.00× the 1.00 M of SE SILO")
    );
    // The tie counts for the pair that the record has ahead.
    assert!(told[3].contains("SE SILO 11, PSE NO_CC 1"), "{told:?}");
    let changed = "takes the lead in 1 of the 5 cells without a tie: SE to PSE 1.";
    assert!(told[4].ends_with(changed), "{told:?}");
    assert_eq!(told.len(), 5);
    assert!(findings(&GRID, "chip", &[]).is_empty());
}
