//! Runs experiments: the papers' figures, and comparisons of the simulated machine with measurements of real ones.
//!
//! | module | contents |
//! | --- | --- |
//! | [`figures`] | the papers' figures as runs, pictures and checks |
//! | [`here`] | measures the machine at hand and reports the simulation's error |
//! | [`validate`] | simulates published measurements and reports the error |

pub mod figures;
pub mod here;
pub mod validate;
