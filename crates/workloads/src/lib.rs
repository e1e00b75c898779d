//! Benchmark workloads as stored procedures and loaders
