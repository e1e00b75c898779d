//! Divides rows into settings. The rows of one setting differ in scheme and cores alone.

use super::{Measurement, Row, ThreadOrder};

/// Setting of a group of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Name of the platform.
    pub platform: String,
    /// Build of the measured program.
    pub variant: String,
    /// Number of warehouses.
    pub warehouses: u64,
    /// Order in which threads take cores.
    pub threads: ThreadOrder,
    /// Forced distance of memory, or `all`.
    pub numa: String,
    /// Percentages of remote order lines and of remote payments.
    pub remote_pct: (f64, f64),
}

impl Setting {
    /// Returns the setting of a row.
    pub fn of(row: &Measurement) -> Setting {
        Setting {
            platform: row.platform.clone(),
            variant: row.variant.clone(),
            warehouses: row.warehouses,
            threads: row.threads.clone(),
            numa: row.numa.clone(),
            remote_pct: (row.remote_lines_pct, row.remote_payments_pct),
        }
    }

    /// Returns the setting in one line.
    pub fn title(&self) -> String {
        let Setting { platform, variant, warehouses, threads, numa, remote_pct } = self;
        let (lines, payments) = remote_pct;
        let memory = if numa == "all" { String::new() } else { format!(", memory {numa}") };
        format!(
            "{platform}, {variant}, {warehouses} warehouses, {}{memory}, {lines} % of lines and {payments} % of payments remote",
            threads.words()
        )
    }
}

/// The rows of one setting.
pub struct Curves<'a> {
    /// The setting.
    pub setting: Setting,
    /// The rows, in their given order.
    pub rows: Vec<&'a Row>,
}

/// Returns the settings of scored rows, in the order of their first rows.
pub fn curves<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<Curves<'a>> {
    let mut all: Vec<Curves<'_>> = Vec::new();
    for row in rows.into_iter().filter(|row| row.is_scored()) {
        let setting = Setting::of(&row.measured);
        match all.iter_mut().find(|curves| curves.setting == setting) {
            Some(curves) => curves.rows.push(row),
            None => all.push(Curves { setting, rows: vec![row] }),
        }
    }
    all
}
