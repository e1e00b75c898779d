//! An embeddable, serializable, multi-writer in-memory transaction engine
