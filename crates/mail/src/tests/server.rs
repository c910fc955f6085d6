//! A real server of SMTP, as a process of its own.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use egress::{Egress, PrivateNetworks, Rules};
use serde_json::Value;

use super::sender;
use crate::{Authorities, Limits, Protection, Relay, Smtp};

/// An authority and a certificate for `localhost`, made for tests alone.
const CERTIFICATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../connectors/src/postgres/tests");
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/server.py");

/// The server, which ends with its test.
pub(super) struct Server {
    child: Child,
    lines: BufReader<ChildStdout>,
    pub(super) port: u16,
}

impl Server {
    /// A server of this kind: `starttls`, `implicit` or `plain`. Nothing where Python is not,
    /// and that is said.
    #[expect(clippy::disallowed_methods, reason = "no setting of the service")]
    pub(super) fn start(kind: &str) -> Option<Self> {
        let Some(python) = std::env::var_os("CHANCERY_PYTHON") else {
            eprintln!("`CHANCERY_PYTHON` is not set: a test is left out");
            return None;
        };
        let certificates = Path::new(CERTIFICATES);
        let mut command = Command::new(python);
        command.arg(PROGRAM).arg(kind);
        command.arg(certificates.join("server.pem")).arg(certificates.join("server.key.pem"));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, lines, port: 0 };
        server.port = server.line().trim().parse().unwrap();
        Some(server)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    /// The next letter that it took.
    pub(super) fn taken(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// The tests' own authority.
pub(super) fn authorities() -> Authorities {
    let pem = std::fs::read_to_string(Path::new(CERTIFICATES).join("authority.pem")).unwrap();
    Authorities::own(&pem).unwrap()
}

/// How the server at this port is spoken to.
pub(super) fn relay(port: u16, protection: Protection) -> Relay {
    Relay {
        host: "localhost".to_owned(),
        port,
        protection,
        login: None,
        hello: "chancery.example".to_owned(),
        limits: Limits::default(),
    }
}

/// Letters by it.
pub(super) fn smtp(relay: Relay) -> Smtp {
    let rules = Rules { private_networks: PrivateNetworks::Allowed, ..Rules::default() };
    Smtp::new(relay, Egress::new(rules).unwrap(), sender())
}
