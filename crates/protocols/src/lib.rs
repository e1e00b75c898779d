//! Concurrency-control protocols, one small file each
