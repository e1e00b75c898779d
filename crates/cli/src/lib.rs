//! The kilocore command
