//! Tests checks on invented records.
