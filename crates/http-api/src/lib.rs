//! http-api
