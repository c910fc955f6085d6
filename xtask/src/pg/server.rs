//! Starts, finds and stops the server of a cluster's folder through `pg_ctl`, by the process id in
//! the folder. Never signals a process by its name.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::data::{self, Checkpoints};
use super::{Launcher, files};
use crate::failure::{Failure, Result};
use crate::process;

/// How often a start is tried with another port, when somebody took the one that was free.
const STARTS: usize = 3;

/// How long a server that runs already may take to answer.
const ANSWER: Duration = Duration::from_secs(30);

/// The server of one folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Server<'a> {
    /// What runs it.
    pub(crate) launcher: &'a Launcher,
    /// The folder of the cluster.
    pub(crate) folder: &'a Path,
}

/// How a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// With a last checkpoint, so that the next start is quick.
    Cleanly,
    /// Without, since the data goes anyway.
    AtOnce,
}

impl Server<'_> {
    /// Starts the server and returns its port, the one it had before where that is free.
    pub(crate) fn start(&self, checkpoints: Checkpoints) -> Result<u16> {
        let mut before = data::remembered_port(self.folder).filter(|port| port_is_free(*port));
        let mut reason = String::new();
        for _ in 0..STARTS {
            let port = match before.take() {
                Some(port) => port,
                None => free_port()?,
            };
            match self.start_on(port, checkpoints)? {
                Started::Yes => return Ok(port),
                Started::PortTaken => reason = format!("port {port} was taken"),
                Started::No(said) => {
                    reason = said;
                    break;
                }
            }
        }
        let log = self.folder.join("server.log");
        Err(Failure::because(format!(
            "PostgreSQL did not start: {reason}; its log is `{}`",
            log.display()
        )))
    }

    /// The port of the server that runs on the folder; none when none runs.
    pub(crate) fn running(&self) -> Result<Option<u16>> {
        let mut command = self.pg_ctl("status");
        // A stale file of a crashed server names a process that is gone: `pg_ctl` looks.
        if !process::capture(&mut command)?.status.success() {
            return Ok(None);
        }
        let file = data::data_folder(self.folder).join("postmaster.pid");
        let text = files::read(&file)?;
        let port = text.lines().nth(3).and_then(|line| line.trim().parse().ok());
        port.map(Some).ok_or_else(|| {
            Failure::because(format!("`{}` names no port; try again in a second", file.display()))
        })
    }

    /// The port once a server that was found running answers on it.
    pub(crate) fn await_answer(&self, port: u16) -> Result<u16> {
        let end = Instant::now() + ANSWER;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if Instant::now() > end {
                return Err(Failure::because(format!(
                    "the server of `{}` runs and does not answer on port {port}; stop the \
                     process whose id is the first line of its `data/postmaster.pid`",
                    self.folder.display()
                )));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(port)
    }

    /// Stops the server and waits until it is gone.
    pub(crate) fn stop(&self, stop: Stop) -> Result<()> {
        let mode = match stop {
            Stop::Cleanly => "fast",
            Stop::AtOnce => "immediate",
        };
        let mut command = self.pg_ctl("stop");
        let output = process::capture(command.args(["--wait", "--timeout=60", "--mode", mode]))?;
        if output.status.success() {
            return Ok(());
        }
        Err(Failure::because(format!(
            "PostgreSQL in `{}` did not stop: {}",
            self.folder.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        )))
    }

    fn start_on(&self, port: u16, checkpoints: Checkpoints) -> Result<Started> {
        data::write_settings(self.launcher, &data::settings_file(self.folder), port, checkpoints)?;
        let log = self.folder.join("server.log");
        if log.exists() {
            let kept = self.folder.join("server.log.1");
            std::fs::rename(&log, &kept).map_err(Failure::on("write", &kept))?;
        }
        let mut command = self.pg_ctl("start");
        let output = process::capture(command.args(["--wait", "--timeout=60", "--log"]).arg(&log))?;
        if output.status.success() {
            return Ok(Started::Yes);
        }
        let text = files::read(&log).unwrap_or_default();
        Ok(if text.contains("could not bind IPv4 address") {
            Started::PortTaken
        } else {
            Started::No(complaint(&text, &String::from_utf8_lossy(&output.stderr)))
        })
    }

    fn pg_ctl(&self, verb: &str) -> Command {
        let launcher = self.launcher;
        let mut command = launcher.owner.command(launcher.binaries.program("pg_ctl"));
        command.args([verb, "--silent", "--pgdata"]).arg(data::data_folder(self.folder));
        // Read at each login, so that the file may be written while the server runs.
        command.env("PGPASSFILE", data::logins_file(self.folder));
        command
    }
}

/// What came of one start.
enum Started {
    Yes,
    PortTaken,
    No(String),
}

/// What the server said when it gave up, else what `pg_ctl` said.
fn complaint(log: &str, said: &str) -> String {
    let fatal = log.lines().rfind(|line| line.contains("FATAL:"));
    fatal.unwrap_or(said.trim()).to_owned()
}

/// Whether nobody listens on the port of the loopback address.
pub(crate) fn port_is_free(port: u16) -> bool {
    port != 0 && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address
        .map(|address| address.port())
        .map_err(|source| Failure::Io { attempt: "find a free port".to_owned(), source })
}
