//! store-postgres
