//! Finds the best pair of an architecture and a protocol in each cell of a map.

use super::numbers::{percent, short};
use super::{Line, Measure};
use harness::run_record::RunRecord;
use harness::steadiness::TOLERANCE;
use std::collections::BTreeMap;

/// The cells of a map: a block for each number of cores, and in it rows and columns.
#[derive(Debug, PartialEq)]
pub struct Grid {
    /// Numbers of cores, a block of cells for each.
    pub cores: &'static [usize],
    /// Names of the rows.
    pub rows: &'static [&'static str],
    /// Names of the columns.
    pub columns: &'static [&'static str],
    /// Name of the quantity in which the columns differ.
    pub across: &'static str,
}

/// Place of a cell: numbers of its block, row and column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// Number of the block.
    pub block: usize,
    /// Number of the row in the block.
    pub row: usize,
    /// Number of the column in the block.
    pub column: usize,
}

impl Grid {
    /// Returns the places of all cells, block by block and row by row.
    pub fn spots(&self) -> Vec<Spot> {
        let columns = self.columns.len();
        let of_block = columns * self.rows.len();
        let spot = |cell: usize| Spot {
            block: cell / of_block,
            row: cell % of_block / columns,
            column: cell % columns,
        };
        (0..self.cores.len() * of_block).map(spot).collect()
    }

    /// Returns the place of a cell's runs in their series. Places ascend in the order of [`Grid::spots`].
    pub fn x(&self, spot: Spot) -> f64 {
        let Spot { block, row, column } = spot;
        ((block * self.rows.len() + row) * self.columns.len() + column) as f64
    }

    /// Returns the name of a cell in sentences.
    pub fn name(&self, spot: Spot) -> String {
        format!(
            "{} cores, {}, {} {}",
            self.cores[spot.block], self.rows[spot.row], self.columns[spot.column], self.across
        )
    }
}

/// A pair of an architecture and a protocol with its record in a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry<'a> {
    /// Name of the architecture in legends.
    pub architecture: &'a str,
    /// Name of the protocol.
    pub protocol: &'a str,
    /// Record of the run.
    pub record: &'a RunRecord,
}

impl Entry<'_> {
    /// Returns the committed transactions per second.
    pub fn throughput(&self) -> f64 {
        Measure::Throughput.of(self.record)
    }

    /// Returns the throughput as a text. A `~` marks one that is not known to be steady.
    pub fn written(&self) -> String {
        let mark = if self.record.steady == Some(true) { "" } else { "~" };
        format!("{mark}{}", short(self.throughput()))
    }

    /// Returns the half width of the confidence interval of the throughput.
    fn half_width(&self) -> f64 {
        let share = self.record.steadiness.as_ref().map_or(0.0, |found| found.half_width);
        share * self.throughput()
    }
}

/// The outcome of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell<'a> {
    /// The pair with the highest throughput.
    pub best: Entry<'a>,
    /// The best pair of another architecture, if there is one.
    pub second: Option<Entry<'a>>,
    /// Numbers of the pairs that have a record, and of all pairs. Before all have one, the winner is not known.
    pub measured: (usize, usize),
}

impl<'a> Cell<'a> {
    /// Returns the outcome of the cell whose runs are at `x`, or none if no run there has committed anything.
    pub fn of(lines: &[&'a Line], x: f64) -> Option<Cell<'a>> {
        let entry = |line: &&'a Line| {
            let (architecture, protocol) = line.name.split_once(' ')?;
            Some(Entry { architecture, protocol, record: line.at(x)? })
        };
        let mut entries: Vec<Entry<'a>> = lines.iter().filter_map(entry).collect();
        entries.sort_by(|a, b| b.throughput().total_cmp(&a.throughput()));
        let best = *entries.first().filter(|best| best.throughput() > 0.0)?;
        let measured = (entries.len(), lines.len());
        let second = entries.into_iter().find(|other| other.architecture != best.architecture);
        Some(Cell { best, second, measured })
    }

    /// Returns whether all pairs have a record.
    pub fn is_complete(&self) -> bool {
        self.measured.0 == self.measured.1
    }

    /// Returns how many times as fast the best pair is as the best one of another architecture. It is infinite if no other
    /// architecture has committed anything.
    pub fn lead(&self) -> Option<f64> {
        self.second.map(|second| self.best.throughput() / second.throughput())
    }

    /// Returns whether the best two architectures are not told apart: their throughputs differ by less than the share at
    /// which slices of a run count as equal, or their confidence intervals meet.
    pub fn is_tie(&self) -> bool {
        let Some(second) = self.second else { return false };
        let (high, low) = (self.best.throughput(), second.throughput());
        high - low <= (TOLERANCE * high).max(self.best.half_width() + second.half_width())
    }

    /// Returns the lead as a text: `1.31× PSE`, `= PSE` for a tie, or `no other` if no other architecture has committed
    /// anything. If records are missing, it returns how many there are.
    pub fn lead_written(&self) -> String {
        if !self.is_complete() {
            return format!("{} of {} runs", self.measured.0, self.measured.1);
        }
        let Some((second, lead)) = self.second.zip(self.lead()) else { return String::new() };
        match self.is_tie() {
            true => format!("= {}", second.architecture),
            false if lead.is_infinite() => "no other".to_owned(),
            false => format!("{} {}", times(lead), second.architecture),
        }
    }
}

/// Returns a factor with its sign.
fn times(factor: f64) -> String {
    match factor {
        f if f >= 100.0 => format!("{f:.0}×"),
        f if f >= 10.0 => format!("{f:.1}×"),
        f => format!("{f:.2}×"),
    }
}

/// Returns the names of the architectures of `lines`, each once.
pub fn architectures<'a>(lines: &[&'a Line]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for (name, _) in lines.iter().filter_map(|line| line.name.split_once(' ')) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns what a map shows, in sentences. `name` is that of the machine. Cells that lack records do not count.
pub fn findings(grid: &Grid, name: &str, lines: &[&Line]) -> Vec<String> {
    let of_spot = |spot: Spot| Some((spot, Cell::of(lines, grid.x(spot))?));
    let all = grid.spots().into_iter().filter_map(of_spot);
    let found: Vec<(Spot, Cell<'_>)> = all.filter(|(_, cell)| cell.is_complete()).collect();
    if found.is_empty() {
        return Vec::new();
    }
    let mut sentences = vec![counted(name, &found)];
    for architecture in architectures(lines) {
        sentences.extend(largest_lead(grid, name, architecture, &found));
    }
    sentences.push(best_protocols(name, &found));
    for block in 1..grid.cores.len() {
        sentences.extend(changes(grid, name, [block - 1, block], &found));
    }
    sentences
}

/// Returns in how many cells each architecture is ahead, and how many of the winners are sure.
fn counted(name: &str, found: &[(Spot, Cell<'_>)]) -> String {
    let clear = || found.iter().filter(|(_, cell)| !cell.is_tie());
    let counts = tally(clear().map(|(_, cell)| cell.best.architecture));
    let ties = found.len() - clear().count();
    let unsure = found.iter().filter(|(_, cell)| cell.best.record.steady != Some(true)).count();
    let ahead: Vec<String> =
        counts.iter().map(|(name, count)| format!("{name} is ahead in {count}")).collect();
    let ahead = match ahead.is_empty() {
        true => "no architecture is ahead".to_owned(),
        false => ahead.join(", "),
    };
    format!(
        "Of {} cells of {name}, {ahead}. In {ties} the best two architectures are not told apart. In {unsure} the winner's \
         throughput is not known to be steady.",
        found.len()
    )
}

/// Returns names with how often they come, most frequent first.
fn tally<'a>(names: impl Iterator<Item = &'a str>) -> Vec<(&'a str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let mut counts = Vec::from_iter(counts);
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// Returns the cell in which `architecture` is farthest ahead of the others, if it is ahead in one.
fn largest_lead(
    grid: &Grid,
    name: &str,
    architecture: &str,
    found: &[(Spot, Cell<'_>)],
) -> Option<String> {
    let own = found.iter().filter(|(_, cell)| cell.best.architecture == architecture);
    let leads = own.filter(|(_, cell)| !cell.is_tie());
    let leads = leads.filter_map(|(spot, cell)| Some((spot, cell, cell.second?, cell.lead()?)));
    // Of equal leads the first one counts.
    let finite = leads.rev().filter(|found| found.3.is_finite());
    let (spot, cell, second, lead) = finite.max_by(|a, b| a.3.total_cmp(&b.3))?;
    Some(format!(
        "{architecture} is farthest ahead on {name} with {}: {} makes {} transactions a second ({}), {} the {} of {} {}.",
        grid.name(*spot),
        cell.best.protocol,
        cell.best.written(),
        aborts(&cell.best),
        times(lead),
        second.written(),
        second.architecture,
        second.protocol
    ))
}

/// Returns the share of the attempts that abort, as a text.
fn aborts(entry: &Entry<'_>) -> String {
    format!("{} of its attempts abort", percent(Measure::AbortRatio.of(entry.record)))
}

/// Returns how often each protocol is the best.
fn best_protocols(name: &str, found: &[(Spot, Cell<'_>)]) -> String {
    let pairs: Vec<String> = found
        .iter()
        .map(|(_, cell)| format!("{} {}", cell.best.architecture, cell.best.protocol))
        .collect();
    let counts = tally(pairs.iter().map(String::as_str));
    let listed: Vec<String> = counts.iter().map(|(pair, n)| format!("{pair} {n}")).collect();
    format!("Cells on {name} by their fastest pair, ties included: {}.", listed.join(", "))
}

/// Returns in how many cells the architecture that is ahead changes from one block to another. Returns none if no cell has one in
/// both.
fn changes(
    grid: &Grid,
    name: &str,
    [before, after]: [usize; 2],
    found: &[(Spot, Cell<'_>)],
) -> Option<String> {
    let winner = |block: usize, spot: &Spot| {
        let same = |other: &&(Spot, Cell<'_>)| other.0 == Spot { block, ..*spot };
        let (_, cell) = found.iter().find(same)?;
        (!cell.is_tie()).then_some(cell.best.architecture)
    };
    let spots = found.iter().map(|(spot, _)| spot).filter(|spot| spot.block == before);
    let both = spots.filter_map(|spot| Some([winner(before, spot)?, winner(after, spot)?]));
    let both: Vec<[&str; 2]> = both.collect();
    if both.is_empty() {
        return None;
    }
    let changed = both.iter().filter(|[one, other]| one != other);
    let ways: Vec<String> = changed.map(|[one, other]| format!("{one} to {other}")).collect();
    let ways = tally(ways.iter().map(String::as_str));
    let count: usize = ways.iter().map(|(_, count)| count).sum();
    let listed: Vec<String> = ways.iter().map(|(way, n)| format!("{way} {n}")).collect();
    let listed = if listed.is_empty() { String::new() } else { format!(": {}", listed.join(", ")) };
    Some(format!(
        "From {} to {} cores on {name} another architecture takes the lead in {count} of the {} cells without a tie{listed}.",
        grid.cores[before],
        grid.cores[after],
        both.len()
    ))
}

#[cfg(test)]
mod tests;
