mod config;
mod credentials;
mod look_again;
mod openapi;
mod outcomes;
mod requests;
mod ssrf;
mod world;
