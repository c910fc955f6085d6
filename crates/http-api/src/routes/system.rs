//! The server about itself.

use web::{NOTHING, Patience::Short, Table, at};

use crate::{access::PUBLIC, app::App, handlers::system};

/// The routes of this area.
#[rustfmt::skip]
pub(super) fn routes() -> Table<App> {
    vec![
        at("GET",  "/v1/health",                     "getHealth")     .with(PUBLIC,         NOTHING,                Short, system::health),
        at("GET",  "/v1/version",                    "getVersion")    .with(PUBLIC,         NOTHING,                Short, system::version),
        at("GET",  "/api/openapi.yaml",              "getDescription").with(PUBLIC,         NOTHING,                Short, system::description),
        at("GET",  "/api/openapi.json",              "getDescriptionAsJson").with(PUBLIC,   NOTHING,                Short, system::description_json),
        at("GET",  "/docs",                          "getReference")  .with(PUBLIC,         NOTHING,                Short, system::reference),
        at("GET",  "/docs/errors",                   "getErrorPages") .with(PUBLIC,         NOTHING,                Short, system::error_pages),
        at("GET",  "/docs/errors/{code}",            "getErrorPage")  .with(PUBLIC,         NOTHING,                Short, system::error_page),
        at("GET",  "/.well-known/service/keys.json", "getSealKeys")   .with(PUBLIC,         NOTHING,                Short, system::keys),
    ]
}
