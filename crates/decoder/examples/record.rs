//! Records the streams that the tests read, from a real server with `wal_level` logical.
//!
//! `cargo run -p decoder --example record -- HOST PORT USER`, as a superuser, from the checkout's
//! root. Each `.sql` file of `crates/decoder/streams` is one case: what comes before its line of
//! that name is set up, what follows is recorded into the `.hex` file beside it. The governed
//! case has the service's tables and functions from the connector's own setup script. A case whose
//! name ends in a major version is recorded on a server of that version, every other on the oldest.

use std::{
    error::Error,
    fs,
    path::Path,
    process::{Command, Stdio},
};

type Outcome<T> = Result<T, Box<dyn Error>>;

const STREAMS: &str = "crates/decoder/streams";
const SETUP: &str = "crates/connectors/src/postgres/setup.sql";
const RECORDED: &str = "-- Recorded from here on.";
const OLDEST_MAJOR: &str = "15";
const DATABASE: &str = "decoder_recording";
const ROLES: [&str; 2] = ["decoder_recording_owner", "decoder_recording_conn"];
/// What decides how values look.
const PINNED: &str = "-c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres \
    -c bytea_output=hex -c extra_float_digits=3 -c lc_monetary=C -c client_encoding=UTF8";

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [host, port, user] = arguments.as_slice() else {
        return Err("expected HOST PORT USER".into());
    };
    let server = Server { host, port, user };
    let mut cases: Vec<_> = fs::read_dir(STREAMS)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Outcome<Vec<_>>>()?
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "sql"))
        .collect();
    cases.sort();
    let major = server.major()?;
    for case in cases.iter().filter(|case| of_major(case) == major) {
        server.record(case)?;
    }
    server.forget()
}

struct Server<'a> {
    host: &'a str,
    port: &'a str,
    user: &'a str,
}

impl Server<'_> {
    fn record(&self, case: &Path) -> Outcome<()> {
        let text = fs::read_to_string(case)?;
        let (before, recorded) = text.split_once(RECORDED).ok_or("a case has no recorded part")?;
        self.forget()?;
        self.program("createdb", &["--template", "template0", DATABASE])?;
        if case.file_stem().is_some_and(|name| name == "governed") {
            for role in ROLES {
                self.program("createuser", &[role])?;
            }
            self.psql(&service_schema()?)?;
        }
        self.psql(before)?;
        self.psql(&part("open")?)?;
        self.psql(recorded)?;
        let stream = self.psql(&part("read")?)?;
        self.psql(&part("close")?)?;
        fs::write(case.with_extension("hex"), stream)?;
        Ok(())
    }

    fn forget(&self) -> Outcome<()> {
        self.program("dropdb", &["--if-exists", DATABASE])?;
        for role in ROLES {
            self.program("dropuser", &["--if-exists", role])?;
        }
        Ok(())
    }

    fn major(&self) -> Outcome<String> {
        let mut command = self.command("psql");
        command.args(["--no-psqlrc", "--tuples-only", "--no-align", "--dbname", "postgres"]);
        let output = command.args(["--command", "show server_version"]).output()?;
        let version = String::from_utf8(output.stdout)?;
        Ok(version.split('.').next().unwrap_or_default().to_owned())
    }

    fn psql(&self, script: &str) -> Outcome<String> {
        use std::io::Write;
        let mut command = self.command("psql");
        command.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        command.args(["--set", "ON_ERROR_STOP=1", "--dbname", DATABASE]);
        command.env("PGOPTIONS", PINNED).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        child.stdin.take().ok_or("psql takes no input")?.write_all(script.as_bytes())?;
        let output = child.wait_with_output()?;
        if !output.status.success() {
            return Err(format!("psql failed on: {script}").into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    fn program(&self, name: &str, arguments: &[&str]) -> Outcome<()> {
        let status = self.command(name).args(arguments).stderr(Stdio::null()).status()?;
        if status.success() { Ok(()) } else { Err(format!("{name} failed: {arguments:?}").into()) }
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.args(["--host", self.host, "--port", self.port, "--username", self.user]);
        command
    }
}

/// The version that a case is recorded on.
fn of_major(case: &Path) -> String {
    let name = case.file_stem().unwrap_or_default().to_string_lossy();
    let ending = name.rsplit_once('_').map(|(_, ending)| ending);
    let version = ending.filter(|ending| ending.bytes().all(|byte| byte.is_ascii_digit()));
    version.unwrap_or(OLDEST_MAJOR).to_owned()
}

fn part(name: &str) -> Outcome<String> {
    Ok(fs::read_to_string(Path::new(STREAMS).join("record").join(name).with_extension("sql"))?)
}

/// The part of the connector's setup script that makes the ledger and its functions.
fn service_schema() -> Outcome<String> {
    let script = fs::read_to_string(SETUP)?;
    let from = script.find("-- The ledger: one row").ok_or("the setup script has no ledger")?;
    let rest = script.get(from..).unwrap_or_default();
    let to = rest.find("-- Recommended,").ok_or("the setup script has no end of functions")?;
    let part = rest.get(..to).unwrap_or_default();
    let [owner, conn] = ROLES;
    let part = part.replace("{owner}", owner).replace("{conn}", conn);
    Ok(format!("begin;\n{part}\ncommit;\n"))
}
