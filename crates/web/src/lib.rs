//! The HTTP kit: what the interface, the pages and every other face of the service are served with.
//!
//! It knows no use case and no route. A face brings a [`Table`] of rows and a [`State`] that its
//! handlers share; the kit carries each request from the socket to its handler and back.
//!
//! A request takes this way through it:
//!
//! 1. `listener` accepts the connection, bounds what a client can hold open, and judges each head
//!    (`heads`) before the HTTP library reads it.
//! 2. `router` names the request, counts it (`traffic`) and refuses what two parsers may read in
//!    two ways (`framing`), then who asks for too much at once (`client`, `slots`).
//! 3. `table` has the row of the path and method. Its [`Access`] rule (`access`) makes the
//!    handler's caller of whoever the [`State`] says holds the [`Credential`]: an API key, or the
//!    cookie of a session (`credential`, and `site` for what a browser has to show with it).
//! 4. `arrival` reads query and body within the bounds of the row's [`Input`] and the [`Room`]
//!    that is left for bodies; what comes of it is a [`Call`], whose members and parameters
//!    `fields`, `query` and `text` read strictly.
//! 5. The handler answers with a [`Reply`] or fails with an [`ApiError`]; `router` turns either
//!    into the response, and a panic into a 500. What is left of a body that was refused before it
//!    was read is thrown away (`unread`), or the response is the last one on its connection. `codes`
//!    has the error codes that the kit raises.
//!
//! `list` reads which page of a list is asked for and writes the cursor of the next, `unchanged`
//! answers who has the whole already, `redirect` sends a form's browser on to a page, and `lifecycle`
//! says how far the server is on its way down.

mod access;
mod arrival;
mod call;
mod client;
pub mod code;
pub mod codes;
mod credential;
mod error;
mod fields;
mod framing;
mod input;
mod lifecycle;
mod list;
mod listener;
mod query;
mod redirect;
mod reply;
mod room;
mod router;
mod setup;
mod site;
mod slots;
mod state;
mod table;
mod text;
mod traffic;
mod unchanged;
mod unread;

pub use access::{Access, AdmissionRequest};
pub use call::Call;
pub use client::TrustedProxies;
pub use code::{Code, CodeRow, Family};
pub use credential::Credential;
pub use error::{ApiError, excerpt};
pub use fields::{Fields, FromJson, Word};
pub use input::{
    BodyRule, Input, NOTHING, json, json_or_form, optional_json, optional_json_or_form, query,
};
pub use lifecycle::{Control, Lifecycle, Phase};
pub use list::{Cursors, List, ListView, Page, Position};
pub use listener::{Bounds, Door, StreamSwitch, serve};
pub use query::{Param, Query};
pub use redirect::see_other;
pub use reply::{CutError, Reply, ReplyBody};
pub use room::Room;
pub use router::{API_VERSION, API_VERSIONS, BadTableError, Router};
pub use setup::Setup;
pub use site::{Cookie, Site};
pub use slots::{Slot, Slots};
pub use state::{LookupError, Place, Refused, State, Trust};
pub use table::{Patience, Route, RouteHead, Table, at};
pub use traffic::{Open, RouteTraffic, Traffic};
pub use unchanged::unless_known;

#[cfg(test)]
mod tests;
