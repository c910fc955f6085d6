//! The use cases that operator verbs and admin routes share: each one a turn of the ledger with an
//! admin deed. It serves no routes and prints nothing.

mod store;

pub use store::{AccountStore, PolicyStore, SealKeyStore, Store};
