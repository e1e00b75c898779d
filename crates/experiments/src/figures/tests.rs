//! Tests that figures are well-formed, and that records find their places.

use super::report::{Outcome, Regenerated, overview_html, overview_markdown, page, to_text};
use super::*;
use harness::run_record::{MachineKind, RunRecord, Setting as Value};
use machine::Category;
use simulator::MachineDescription;
use std::collections::{BTreeMap, BTreeSet};

/// Returns a record of a point with a throughput.
fn record(point: &Point, throughput: f64) -> RunRecord {
    match point {
        Point::Setting(setting) => record_of(setting, throughput),
        Point::Program(program) => RunRecord {
            workload_options: program.titled(),
            protocol: program.scheme.to_owned(),
            cores: program.cores as usize,
            abort_ratio: 0.5,
            ..spent(throughput)
        },
    }
}

/// Returns a record that spends its time equally on all categories.
fn spent(throughput: f64) -> RunRecord {
    let shares = Category::ALL.map(|category| (category.name().to_owned(), 1.0 / 9.0));
    RunRecord {
        throughput_txn_per_s: throughput,
        breakdown: Some(BTreeMap::from(shares)),
        commits: 1000,
        commit: "0123".into(),
        ..RunRecord::blank()
    }
}

/// Returns a record of `setting` with a throughput.
pub(super) fn record_of(setting: &Setting, throughput: f64) -> RunRecord {
    let mut protocol_options = BTreeMap::new();
    let mut architecture_options = BTreeMap::new();
    for (given, settings) in [
        (&setting.protocol_options, &mut protocol_options),
        (&setting.access_options, &mut architecture_options),
    ] {
        for (name, value) in given.split_whitespace().filter_map(|p| p.split_once('=')) {
            settings.insert(name.to_owned(), Value::Text(value.to_owned()));
        }
    }
    if setting.servers > 0 {
        let servers = Value::Integer(setting.servers as u64);
        architecture_options.insert("servers".to_owned(), servers);
    }
    let timestamps = Value::Text(setting.timestamps.to_owned());
    protocol_options.insert("timestamp_allocation".to_owned(), timestamps);
    RunRecord {
        workload: setting.workload.to_owned(),
        workload_options: setting.workload_options().unwrap(),
        protocol: setting.protocol.to_owned(),
        protocol_options,
        architecture: setting.architecture.to_owned(),
        architecture_options,
        machine_kind: MachineKind::Simulated,
        cores: setting.cores,
        ..spent(throughput)
    }
}

/// Returns lines with a record for each run of `figure`, all of different throughput.
pub(super) fn invented(figure: &Figure, effort: Effort) -> Vec<Line> {
    let mut count = 0.0;
    let mut line = |series: Series| Line {
        group: series.group,
        name: series.name,
        first: series.points[0].0,
        points: series
            .points
            .iter()
            .map(|(x, point)| {
                count += 1.0;
                (*x, record(point, 1e6 * count))
            })
            .collect(),
        ..Line::default()
    };
    (figure.series)(effort).into_iter().map(&mut line).collect()
}

fn figures() -> impl Iterator<Item = &'static Figure> {
    PAPERS.iter().flat_map(|paper| paper.figures)
}

#[test]
fn every_run_is_a_valid_configuration() {
    let known: BTreeSet<&str> =
        protocols::registry::declarations::<machine::Native>(&Default::default())
            .iter()
            .map(|declaration| declaration.name)
            .collect();
    for figure in figures() {
        for effort in [Effort::Full, Effort::Quick] {
            for place in figure.places(effort) {
                assert!(known.contains(place.point.protocol()), "{place:?}");
                match &place.point {
                    Point::Setting(setting) => is_valid(figure, setting),
                    // A build whose options are not here yet is no mistake; everything else is.
                    Point::Program(program) => {
                        let why = program.unable().unwrap_or_default();
                        let later = why.is_empty() || why.starts_with("of the build ");
                        assert!(later, "{}: {why}", program.title());
                    }
                }
            }
        }
    }
}

fn is_valid(figure: &Figure, setting: &Setting) {
    let machine = setting.machine.unwrap_or(figure.machine);
    let description = MachineDescription::load(machine).unwrap();
    let what = setting.command(machine, &setting.cores.to_string());
    let options = setting.workload_options();
    assert!(options.is_ok(), "{what}: {options:?}");
    let options = setting.protocol_options();
    assert!(options.is_ok(), "{what}: {options:?}");
    let options = setting.access_options();
    assert!(options.is_ok(), "{what}: {options:?}");
    assert!((1..=description.cores()).contains(&setting.cores), "{what}");
}

#[test]
fn figures_have_names_panels_and_checks_of_their_own() {
    let mut folders = BTreeSet::new();
    for figure in figures() {
        assert!(folders.insert(figure.folder()), "{} twice", figure.folder());
        assert!(!figure.panels.is_empty(), "{}", figure.number);
        assert_eq!(figure.checks.is_empty(), figure.is_ours(), "{}", figure.number);
        let paper = Paper::named(figure.paper).unwrap();
        assert_eq!(paper.figures_called(figure.number).len(), 1);
        for effort in [Effort::Full, Effort::Quick] {
            let series = (figure.series)(effort);
            let names: BTreeSet<_> = series.iter().map(|s| (s.group, s.name.as_str())).collect();
            assert_eq!(names.len(), series.len(), "{}: a series twice", figure.number);
            for panel in figure.panels {
                assert!(series.iter().any(|s| s.group == panel.group), "{}", figure.number);
            }
            for line in &series {
                let ascending = line.points.windows(2).all(|pair| pair[0].0 < pair[1].0);
                assert!(ascending && !line.points.is_empty(), "{}: {}", figure.number, line.name);
            }
        }
        for check in figure.checks {
            assert!(
                check.statement.len() > 20 && check.statement.is_ascii(),
                "{}",
                check.statement
            );
        }
    }
}

#[test]
fn titles_begin_with_a_capital_letter_and_tell_panels_apart() {
    let is_title = |text: &str| text.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
    for figure in figures() {
        assert!(is_title(figure.title) && is_title(figure.x), "{}", figure.folder());
        let titles: BTreeSet<&str> = figure.panels.iter().map(|panel| panel.title).collect();
        assert_eq!(titles.len(), figure.panels.len(), "{}: {titles:?}", figure.folder());
        let alone = figure.panels.len() == 1;
        let are_titles = titles.iter().all(|title| is_title(title) || alone && title.is_empty());
        assert!(are_titles, "{}: {titles:?}", figure.folder());
    }
}

/// Largest number of cores of a quick run by its machine. Larger ones need more memory and time than usual hosts have.
const QUICK_CORES: usize = 448;

/// Largest number of quick runs of a map, which take about twenty minutes on two processors.
const QUICK_MAP: usize = 1000;

#[test]
fn quick_figures_resolve_to_runs_that_usual_hosts_can_simulate() {
    for figure in figures() {
        let (quick, full) = (figure.places(Effort::Quick), figure.places(Effort::Full));
        let most = if figure.is_ours() { QUICK_MAP } else { 180 };
        assert!(quick.len() <= full.len() && quick.len() <= most, "{}", figure.number);
        for place in &quick {
            // Every run can be simulated: no build, scheme or distance is missing. Only architectures can be.
            let why = place.point.unable().unwrap_or_default();
            let later = why.is_empty() || why.starts_with("the engine has no architecture ");
            assert!(later, "{}: {why}: {place:?}", figure.number);
            let large = figure.is_ours() || figure.machine == "graphite";
            let most = if large { 1024 } else { QUICK_CORES };
            assert!(place.point.cores() <= most, "{}: {place:?}", figure.number);
        }
    }
}

#[test]
fn a_summary_has_only_runs_of_other_figures() {
    let mut summaries = 0;
    for paper in PAPERS {
        for summary in paper.figures.iter().filter(|figure| figure.is_summary()) {
            summaries += 1;
            for effort in [Effort::Full, Effort::Quick] {
                let others = paper.figures.iter().filter(|figure| !figure.is_summary());
                let others: Vec<Place> = others.flat_map(|figure| figure.places(effort)).collect();
                for place in summary.places(effort) {
                    assert!(others.iter().any(|other| other.point == place.point), "{place:?}");
                }
            }
            assert!(summary.heading().starts_with("Table 2: "), "{}", summary.heading());
        }
    }
    assert_eq!(summaries, 1);
}

#[test]
fn a_number_means_all_its_parts() {
    let abyss = Paper::named("abyss").unwrap();
    let called = |name: &str| -> Vec<&str> {
        abyss.figures_called(name).iter().map(|figure| figure.number).collect()
    };
    assert_eq!(called("8"), ["8a", "8b"]);
    assert_eq!((called("8A"), called("08b"), called("3")), (vec!["8a"], vec!["8b"], vec!["3"]));
    assert_eq!(called("all").len(), abyss.figures.len());
    let trireme = Paper::named("trireme").unwrap();
    let of_trireme = |name: &str| trireme.figures_called(name);
    assert_eq!((of_trireme("map")[0].folder().as_str(), of_trireme("").len()), ("trireme-map", 0));
    // Those of ours take longer, and have to be asked for.
    let ours = trireme.figures.iter().filter(|figure| figure.is_ours()).count();
    assert_eq!((ours, of_trireme("all").len()), (1, trireme.figures.len() - ours));
    assert!(called("2").is_empty() && called("").is_empty() && called("8c").is_empty());
}

#[test]
fn with_all_runs_every_check_has_a_verdict_unless_it_needs_other_hardware() {
    for figure in figures() {
        for effort in [Effort::Full, Effort::Quick] {
            let lines = invented(figure, effort);
            for judged in figure.checks.iter().map(|check| check.judged(figure, &Data::of(&lines)))
            {
                let excused =
                    ["needs a real machine", "records have one category", "only the full grid has"];
                let unable = excused.iter().any(|why| judged.saw.starts_with(why));
                assert_eq!(judged.verdict == Verdict::NotMeasured, unable, "{judged:?}");
                assert!(!judged.saw.contains("NaN") && !judged.saw.is_empty(), "{judged:?}");
            }
        }
    }
}

#[test]
fn without_runs_nothing_is_judged() {
    for figure in figures() {
        for check in figure.checks {
            assert_eq!(check.judged(figure, &Data::of(&[])).verdict, Verdict::NotMeasured);
        }
    }
}

#[test]
fn records_find_their_places_by_their_settings() {
    let figure = Paper::named("abyss").unwrap().figures_called("5")[0];
    let places = figure.places(Effort::Quick);
    let mut records: Vec<RunRecord> =
        places.iter().map(|place| record(&place.point, place.x + 1.0)).collect();
    records.reverse();
    let done = Regenerated::of(figure, Effort::Quick, &records, "kilocore figure abyss 5");
    assert_eq!((done.outcome.measured, done.outcome.runs), (places.len(), places.len()));
    for (x, found) in &done.lines[0].points {
        assert_eq!(found.throughput_txn_per_s, x + 1.0);
    }
    records.retain(|record| record.protocol != "NO_WAIT");
    records[0].cores = 2;
    let fewer = Regenerated::of(figure, Effort::Quick, &records, "");
    assert_eq!(fewer.outcome.measured, places.len() - 2);
}

#[test]
fn a_record_that_is_older_than_an_option_has_its_default() {
    let plain = Setting::new("ycsb", "--records 20M --partitions 2", "SILO", 2);
    let scattered = Setting { options: format!("{} --scattered", plain.options), ..plain.clone() };
    let finds = |setting: &Setting, record: &RunRecord| {
        Point::Setting(setting.clone()).recognised().is_some_and(|known| known.is_of(record))
    };
    let mut old = record_of(&plain, 1e6);
    assert!(finds(&plain, &old) && !finds(&scattered, &old));
    assert!(old.workload_options.remove("scattered").is_some());
    assert!(finds(&plain, &old) && !finds(&scattered, &old));
    old.workload_options.remove("partitions");
    assert!(!finds(&plain, &old), "two partitions are not the default");
    let mut later = record_of(&plain, 1e6);
    later.workload_options.insert("unknown".to_owned(), Value::Flag(true));
    assert!(!finds(&plain, &later));
}

#[test]
fn reports_name_every_statement() {
    let figure = Paper::named("abyss").unwrap().figures_called("8a")[0];
    let records: Vec<RunRecord> =
        figure.places(Effort::Quick).iter().map(|place| record(&place.point, 1e6)).collect();
    let done = Regenerated::of(figure, Effort::Quick, &records, "kilocore figure abyss 8a --quick");
    let text = to_text(&done.outcome);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(text.matches("saw: ").count(), figure.checks.len());
    let html = page(&done);
    assert!(html.contains("<svg") && html.contains("kilocore run ycsb --records 20M"), "{html}");
    let read: Outcome = serde_json::from_str(&done.outcome.to_json()).unwrap();
    assert_eq!(read, done.outcome);
    let outcomes = [done.outcome];
    assert!(overview_html(&outcomes).contains("abyss-08a/figure.svg"));
    let markdown = overview_markdown(&outcomes);
    assert!(figure.checks.iter().all(|check| markdown.contains(check.statement)), "{markdown}");
}

#[test]
fn a_map_has_findings_instead_of_verdicts() {
    let figure = Paper::named("trireme").unwrap().figures_called("map")[0];
    let mut records = Vec::new();
    for place in figure.places(Effort::Quick) {
        let Point::Setting(setting) = &place.point else { unreachable!("no measured program") };
        let fast = if setting.architecture == "shared_everything" { 2e6 } else { 1e6 };
        let machine = setting.machine.unwrap_or_default().to_owned();
        records.push(RunRecord { machine, ..record_of(setting, fast) });
    }
    let done = Regenerated::of(figure, Effort::Quick, &records, "kilocore figure trireme map");
    assert_eq!(done.outcome.measured, done.outcome.runs);
    let told = &done.outcome.findings;
    let ahead = told.iter().filter(|told| told.contains(", SE is ahead in 30."));
    assert_eq!(ahead.count(), figure.panels.len(), "{told:?}");
    let html = page(&done);
    assert!(html.contains("Not a figure of the paper.") && !html.contains("verdict"), "{html}");
    let outcomes = [done.outcome];
    let markdown = overview_markdown(&outcomes);
    assert!(markdown.contains("these 0 figures") && !markdown.contains("| verdict |"));
    assert!(outcomes[0].findings.iter().all(|told| markdown.contains(&format!("- {told}\n"))));
}
