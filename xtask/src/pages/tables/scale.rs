//! Writes the table of modelled cores before and after the work on native speed.

use super::{Column, origin, rate, table};
use crate::pages::numbers::three;
use crate::pages::records::{Record, Results, Runs};
use crate::results::SCALE;

/// Returns the section.
pub fn section(results: &Results) -> Result<String, String> {
    let mut text = String::from(
        "## A modelled Superdome Flex, before and after the work on native speed\n\nThe engine before announced rows kept \
         their records (commit 5b169c3, with the simulator of today), and the engine now, on the same machine file. A cell has \
         million transactions a second before → now, and the ratio. Both run once with the same seed. A run that thrashes \
         differs by a tenth and more from one seed to the next. The [diary](../diary.md) says which error of the model this table \
         has found (*Many warehouses on several sockets*).\n\n",
    );
    for (name, title, _) in SCALE {
        let file = |when: &str| format!("simulated/scale-{name}{when}.json");
        let (before, now) = (results.records(&file("-before"))?, results.records(&file(""))?);
        text += &format!("{title}:\n\n{}", ratios(&before, &now));
        text += &summary(&before, &now);
        text += &origin(&now, None);
        text += &origin(&before, Some("the same command"));
    }
    Ok(text)
}

/// Returns the table of one workload.
fn ratios(before: &Runs, now: &Runs) -> String {
    let columns: Vec<Column<'_>> = now
        .cores()
        .into_iter()
        .map(|cores| {
            Column::new(format!("{cores} cores"), move |name: &str| {
                let (was, is) = (before.find(name, cores), now.find(name, cores));
                let ratio = was.zip(is).and_then(|(was, is)| ratio(was, is));
                let ratio = ratio.map_or(String::new(), |ratio| format!(" ({})", three(ratio)));
                format!("{} → {}{ratio}", rate(was, 1e6), rate(is, 1e6))
            })
        })
        .collect();
    table("", &now.protocols(), &columns)
}

/// Returns the ratio of now to before, if there was any throughput before.
fn ratio(before: &Record, now: &Record) -> Option<f64> {
    let before = before.throughput_txn_per_s;
    (before > 0.0).then(|| now.throughput_txn_per_s / before)
}

/// Returns a sentence on all ratios: least, median and largest.
fn summary(before: &Runs, now: &Runs) -> String {
    let pair = |record: &Record| ratio(before.find(&record.protocol, record.cores)?, record);
    let mut all: Vec<f64> = now.records.iter().filter_map(pair).collect();
    all.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (all.first(), all.last()) else { return String::new() };
    let below = all.iter().filter(|ratio| **ratio < 0.97).count();
    format!(
        "Of {} ratios the least is {}, the median {} and the largest {}; {below} are below 0.97.\n\n",
        all.len(),
        three(*least),
        three(all[all.len() / 2]),
        three(*most)
    )
}
