//! `chancery up` as a process, and what it prints.

use std::{
    process::Stdio,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::house::{OwnPostgres, binaries};

/// `chancery up` at work, and what it has said so far.
#[derive(Debug)]
pub struct Up {
    child: Child,
    /// What it had printed when it served.
    pub said: String,
    since: Arc<Mutex<String>>,
}

/// The command of `chancery up` on this PostgreSQL, with its data in this folder.
pub fn up(postgres: &OwnPostgres, folder: &str, more: &[&str]) -> Command {
    let url = postgres.cluster.database("postgres").superuser_url();
    let mut command = Command::new(binaries().unwrap().plain);
    command.args(["up", "--data-dir", folder, "--postgres-url", &url]).args(more);
    if !more.contains(&"--port") {
        command.args(["--port", "0"]);
    }
    command.env_clear().current_dir("/").kill_on_drop(true);
    command
}

impl Up {
    /// Starts it and waits until it serves.
    pub async fn start(postgres: &OwnPostgres, folder: &str, more: &[&str]) -> Self {
        let mut command = up(postgres, folder, more);
        command.stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = String::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            said.push_str(&line);
            said.push('\n');
            if line.contains("Ctrl-C") {
                let since = Arc::new(Mutex::new(String::new()));
                let kept = Arc::clone(&since);
                tokio::spawn(async move {
                    while let Ok(Some(line)) = lines.next_line().await {
                        let mut kept = kept.lock().unwrap();
                        kept.push_str(&line);
                        kept.push('\n');
                    }
                });
                return Self { child, said, since };
            }
        }
        panic!("it ended by itself: {said}");
    }

    /// What it has printed since it served.
    pub fn said_since(&self) -> String {
        self.since.lock().unwrap().clone()
    }

    /// The key of the demo's agent, as it printed it.
    pub fn key(&self) -> &str {
        let words = self.said.split_whitespace();
        words.into_iter().find(|word| word.starts_with("svc_live_")).expect("a key")
    }

    /// Stops it as Ctrl-C does.
    pub async fn stop(mut self) {
        let process = self.child.id().unwrap().try_into().unwrap();
        let process = rustix::process::Pid::from_raw(process).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
        assert!(self.child.wait().await.unwrap().success());
    }
}
