//! Not there yet.

use crate::arguments::{CompareArguments, WorkloadCommand};
use crate::failure::{Ending, Failure};
/// Says that it is not there yet.
pub fn compare(_: &WorkloadCommand<CompareArguments>) -> Result<Ending, Failure> {
    Err(Failure::refused("not yet"))
}
