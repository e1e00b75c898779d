//! Certifies histories: serializable, strict, or the shortest cycle
