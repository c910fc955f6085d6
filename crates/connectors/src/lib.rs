//! The adapters behind the port that `tool` is: governed PostgreSQL databases, HTTP APIs, and
//! the service's own tools.
//!
//! A connector is built from a [`Blueprint`] by [`build`], or once per revision by a [`Registry`].
//! Whether a call may run is decided before anything here is asked; what is here runs it exactly
//! as it was digested, and says honestly what became of it.

mod args;
mod builtin;
mod connector;
mod demo;
mod document;
pub mod postgres;
mod registry;
pub mod rest;

pub use args::{ArgsSchema, BadSchema};
pub use builtin::{ActionStatus, BuiltinSource, Caller, SourceUnavailable, builtin_tools};
use connector::HOST;
pub use connector::{
    Blueprint, BuildError, CheckLine, CheckState, Connector, Credential, CredentialField,
    CredentialKind, Deps, Finding, KINDS, TYPES, Type, build, check, coverage, findings,
    is_learnable, not_served, receiver, setup_script, target, targeted,
};
pub use demo::{SHOP_CONNECTOR, SHOP_SEED};
pub use document::{BadDocument, read_config};
pub use registry::{InUse, Registry, Revision, Standing};

#[cfg(test)]
mod tests;
