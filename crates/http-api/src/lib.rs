//! The HTTP interface: routes, access rules, wire types, the live stream and the error envelope.
//!
//! It translates between requests and the use cases of `gate` and `admin`; it decides nothing and
//! stores nothing. Start with [`routes`], the table of everything that is served; [`access`] says
//! who may call what, [`router`] how a request becomes a response, [`catalogue`] what every error
//! code means.

pub mod access;
mod app;
mod arrival;
mod call;
pub mod catalogue;
mod client;
mod cursor;
pub mod description;
mod error;
mod fields;
mod framing;
mod handlers;
mod lifecycle;
mod listener;
mod live;
mod query;
mod refusal;
mod reply;
pub mod router;
pub mod routes;
mod table;
mod traffic;
mod wire;

pub use app::{App, Build, Check, Condition, HeldOpen, Parts, Probe, Settings, service};
pub use arrival::BodyRule;
pub use call::Call;
pub use catalogue::errors_markdown;
pub use client::TrustedProxies;
pub use error::ApiError;
pub use lifecycle::{Control, Lifecycle, Phase};
pub use listener::{Bounds, Door, StreamSwitch, serve};
pub use query::{Param, Query};
pub use reply::{Reply, ReplyBody};
pub use routes::routes_markdown;
pub use table::{Input, NOTHING, Patience, Place, Route, Table, at, json, query};
pub use traffic::{RouteTraffic, Traffic};

#[cfg(test)]
mod tests;
