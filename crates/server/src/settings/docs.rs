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

Generated from the table in `crates/server/src/settings/table.rs`; do not edit this page.

The value of a setting is taken from the first of these sources that has it:

1. the process environment,
2. the file `.env` in the working folder, only in dev (`NAME=value` lines),
3. the YAML file given by `--config FILE`,
4. the default.

The file is a single mapping of at most 64 KiB without anchors, aliases, merge keys, tags or a \
second document. Unknown keys are refused. Settings are not read again while the service runs. A \
duration is a whole number followed by `ms`, `s`, `m` or `h`.

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

These settings belong to other versions. A file or an environment that contains them is not \
refused. Their values are ignored; a warning at start lists those that are set. \
[roadmap.md](roadmap.md) describes their future effect.

| Setting | Effect |
|---|---|
";

const PROD: &str = "
## What prod refuses

With `SERVICE_ENV=prod` the service reports all of these problems together and does not start:

- a `SERVICE_BASE_URL` that is not https;
- a missing `SERVICE_VAULT_KEY` or `SERVICE_API_KEY_PEPPER`;
- `SERVICE_ALLOW_PRIVATE_NETWORKS=true`, `SERVICE_DECODER_PAUSE=true`;
- a remote database without `sslmode=require` or `sslmode=verify-full`;
- a secret inside the YAML file;
- a seal key file or a file with the mail server's password that every user of the machine may read;
- `SERVICE_MAIL_OUTBOX`, and `SERVICE_MAIL_TLS=none` for a mail server on another machine;
- a `SERVICE_` variable that is not a setting (dev logs a warning).

It also does not serve from a database that would lose commits in a crash (`fsync`,
`full_page_writes` or `synchronous_commit` off), or as a role that may change sealed data: a
superuser, an owner of the tables, or a role with more privileges than `chancery migrate` grants.
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
