//! The page about settings, made from the table.

use super::table::{self, Accepts, Care, Row};

/// The page in Markdown.
pub fn settings_markdown() -> String {
    let server = table::SERVER.iter().map(line);
    let file = table::FILE.iter().map(line);
    let mut page = String::from(HEAD);
    page.extend(server);
    page.push_str(MIDDLE);
    page.extend(file);
    page.push_str(IDLE);
    page.extend(
        table::IDLE.iter().map(|name| format!("| `{name}` | no effect in this version |\n")),
    );
    page.push_str(PROD);
    page
}

const HEAD: &str = "\
# Settings

Made from the table in `crates/server/src/settings/table.rs`; do not edit this page.

The first source that has a setting wins:

1. the process environment,
2. the file `.env` of the working folder, in dev only (`NAME=value` lines),
3. the YAML file that `--config FILE` names,
4. the default.

The file is one mapping of at most 64 KiB without anchors, aliases, merge keys, tags or a second \
document. Unknown keys are refused. Nothing is read again while the service runs. A duration is \
a whole number with `ms`, `s`, `m` or `h`.

## Environment

In the file, `SERVICE_LISTEN` is `listen` in the section `server`, and so on.

| Setting | Accepted | Default | Effect |
|---|---|---|---|
";

const MIDDLE: &str = "
## File

`gate.wait_timeout` is `wait_timeout` in the section `gate`, and so on.

| Setting | Accepted | Default | Effect |
|---|---|---|---|
";

const IDLE: &str = "
## Known and without effect

A file or an environment written for a version that has these is not refused. Their values are \
not looked at; a warning at start names those that are set. [roadmap.md](roadmap.md) says what \
they will do.

| Setting | Effect |
|---|---|
";

const PROD: &str = "
## What prod refuses

`SERVICE_ENV=prod` reports all of these at once and does not start:

- a `SERVICE_BASE_URL` that is not https;
- a missing `SERVICE_VAULT_KEY` or `SERVICE_API_KEY_PEPPER`;
- `SERVICE_ALLOW_PRIVATE_NETWORKS=true`, `SERVICE_DECODER_PAUSE=true`;
- a remote database without `sslmode=require` or `sslmode=verify-full`;
- a secret inside the YAML file;
- a seal key file or a file with the mail server's password that everybody on the machine may read;
- `SERVICE_MAIL_OUTBOX`, and `SERVICE_MAIL_TLS=none` for a mail server on another machine;
- a `SERVICE_` variable that is no setting (dev warns of it).

Nor does it serve from a database that would lose commits in a crash (`fsync`, `full_page_writes` or
`synchronous_commit` off), or as a role that may change what was sealed: a superuser, an owner of the
tables, or one with more rights than `chancery migrate` gives.
";

fn line(row: &Row) -> String {
    let care = match row.care {
        Care::Plain => "",
        Care::Secret => " **Secret.**",
        Care::DevOnly => " **Dev only.**",
    };
    let default = match row.default {
        Some("") => "empty".to_owned(),
        Some(text) => format!("`{text}`"),
        None => "none".to_owned(),
    };
    let accepted = accepted(row.accepts);
    format!("| `{}` | {accepted} | {default} | {}{care} |\n", row.name, row.effect)
}

fn accepted(accepts: Accepts) -> String {
    let text = accepts.expected();
    text.strip_prefix("a duration from ")
        .and_then(|range| range.split_once(','))
        .map_or(text.clone(), |(range, _)| range.to_owned())
}
