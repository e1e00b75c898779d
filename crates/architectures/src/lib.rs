//! Who executes an access and how cores synchronise physically
