//! The HTTP interface: routes, access rules, handlers, wire types and the live stream, served with
//! the kit of `web`.
//!
//! It translates between requests and the use cases of `gate`, `admin` and `records`; it decides
//! nothing and stores nothing. Start with [`routes`], the table of everything that is served;
//! [`access`] says who may call what, `handlers` what each route does, `refusal` which error a
//! refusal becomes, `catalogue` what every code means, and [`service()`] puts it all together.

pub mod access;
mod app;
mod catalogue;
mod console;
pub mod description;
mod handlers;
mod health;
mod key_set;
mod lists;
mod live;
mod overview;
mod refusal;
pub mod routes;
mod service;
mod sign_in;
mod trials;
mod wire;

pub use app::{App, Build, HeldOpen};
pub use catalogue::errors_markdown;
pub use health::{Check, Condition, Mail, OutOfReach, Probe};
pub use routes::routes_markdown;
pub use service::{Parts, Settings, service};
pub use trials::Aside;

#[cfg(test)]
mod tests;
