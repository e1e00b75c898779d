//! Warm-up, measurement, time breakdown, latency histograms and run records

pub mod record;
