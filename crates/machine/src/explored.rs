//! Placeholder until the explorer lands.
use crate::*;
