//! Experiments: the papers' figures, and the simulated machine held against measurements of real ones.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`validate`] | simulates what others have measured, and reports the error |

pub mod validate;
