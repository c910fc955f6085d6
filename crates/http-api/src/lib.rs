//! The HTTP interface: routes, access rules, wire types, the live stream and the error envelope.
//!
//! It translates between requests and the use cases of `gate` and `admin`; it decides nothing and
//! stores nothing. Start with [`routes`], the table of everything that is served; [`access`] says
//! who may call what, [`router`] how a request becomes a response, [`catalogue`] what every error
//! code means.

pub mod access;
mod app;
pub mod description;
mod handlers;
mod live;
mod refusal;
pub mod routes;
mod wire;

pub use app::{App, Build, Check, Condition, HeldOpen, Parts, Probe, Settings, service};
pub use routes::routes_markdown;

#[cfg(test)]
mod tests;
