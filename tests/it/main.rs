//! End-to-end tests of the running service.
