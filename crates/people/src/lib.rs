//! People: who they are, how they sign in, and what is written to them. It serves no routes and
//! sends nothing by itself; mail leaves through [`mail::Mailer`].

mod address;
pub mod mail;

pub use address::{Address, AddressError};
