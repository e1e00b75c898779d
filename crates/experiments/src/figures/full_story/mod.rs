//! Figures of "The Full Story of 1000 Cores: An Examination of Concurrency Control on Real(ly) Large Multi-Socket
//! Hardware" (Bang, May, Petrov, Binnig; VLDB Journal 2022).
//!
//! The machine is the paper's HPE Superdome Flex. Only figures whose workload the program can express are here.

mod fig09;

use super::{
    Check, Data, Effort, Figure, Finding, Kind, Measure, Panel, Paper, Scale, Series, Setting,
};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "full-story",
    title: "The Full Story of 1000 Cores (Bang, May, Petrov, Binnig; VLDB Journal 2022)",
    figures: &[fig09::FIGURE],
};
