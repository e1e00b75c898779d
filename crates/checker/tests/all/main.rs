//! Tests the checker through its public interface. All tests are in one binary, because each binary takes
//! long to link.

mod anomalies;
mod export;
mod random;
mod scans;
mod script;
