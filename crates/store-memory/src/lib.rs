//! store-memory
