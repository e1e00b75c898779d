//! Runs experiments: the papers' figures, and comparisons of the simulated machine with measurements of real ones.
//!
//! | module | contents |
//! | --- | --- |
//! | [`validate`] | simulates published measurements and reports the error |

pub mod validate;
