//! A PostgreSQL of one test's own, which it may stop, kill, pause and start again.

use std::{
    env, fs,
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, geteuid, kill_process};

use super::{cluster::Cluster, guard::Guard};

const PASSWORD: &str = "own-password";

/// A cluster that belongs to one test.
#[derive(Debug)]
pub struct OwnPostgres {
    /// As its superuser reaches it.
    pub cluster: Cluster,
    binaries: PathBuf,
    folder: PathBuf,
    guard: Option<Guard>,
}

impl OwnPostgres {
    /// Makes a cluster and starts it; nothing when the run does not say where PostgreSQL is.
    pub fn new() -> Option<Self> {
        let Some(binaries) = env::var_os("CHANCERY_PG_BIN").map(PathBuf::from) else {
            eprintln!("left out: this test needs `CHANCERY_PG_BIN`; `cargo xtask test` sets it");
            return None;
        };
        let folder = env::temp_dir().join(super::name());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("password"), PASSWORD).unwrap();
        let cluster = Cluster {
            host: "127.0.0.1".to_owned(),
            port: free_port(),
            user: "postgres".to_owned(),
            password: PASSWORD.to_owned(),
        };
        let mut postgres = Self { cluster, binaries, folder, guard: None };
        if geteuid().is_root() {
            let (user, group) = account();
            chown(&postgres.folder, Some(user), Some(group)).unwrap();
            chown(postgres.folder.join("password"), Some(user), Some(group)).unwrap();
        }
        let init = ["--no-sync", "--auth=scram-sha-256", "--username=postgres", "--encoding=UTF8"];
        let locale = ["--locale=C", "--pwfile=password", "--pgdata=data"];
        postgres.run("initdb", &[init.as_slice(), &locale].concat());
        postgres.start();
        Some(postgres)
    }

    /// Starts it and waits until it answers.
    pub fn start(&mut self) {
        let port = self.cluster.port;
        let options = format!(
            "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' \
             -c wal_level=logical -c max_connections=200"
        );
        let words = ["--pgdata=data", "--log=log", "--wait", "--options", &options, "start"];
        self.run("pg_ctl", &words);
        self.guard = Some(Guard::of(self.postmaster(), &self.folder));
    }

    /// Stops it in order; sessions are cut.
    pub fn stop(&mut self) {
        self.run("pg_ctl", &["--pgdata=data", "--mode=fast", "--wait", "stop"]);
        self.guard = None;
    }

    /// Kills the server and every session's process at once, as a machine that loses its power.
    pub fn kill(&mut self) {
        let postmaster = self.postmaster();
        for process in self.processes() {
            signal(process, Signal::KILL);
        }
        self.guard = None;
        self.wait_until_gone(postmaster);
    }

    /// Makes a standby of what has been committed up to now; what comes later does not reach it.
    pub fn make_standby(&self) {
        let port = self.cluster.port.to_string();
        let words =
            ["--pgdata=standby", "--host=127.0.0.1", "--port", &port, "--username=postgres"];
        self.run(
            "pg_basebackup",
            &[words.as_slice(), &["--no-sync", "--checkpoint=fast"]].concat(),
        );
        fs::write(self.folder.join("standby/standby.signal"), "").unwrap();
    }

    /// Kills the server and has its standby take its place, under its address.
    pub fn fail_over(&mut self) {
        self.kill();
        fs::rename(self.folder.join("data"), self.folder.join("lost")).unwrap();
        fs::rename(self.folder.join("standby"), self.folder.join("data")).unwrap();
        self.start();
        self.run("pg_ctl", &["--pgdata=data", "--wait", "promote"]);
    }

    /// Copies its files while it stands still, as they are from then on put back.
    pub fn back_up(&mut self) {
        self.stop();
        self.copy("data", "backup");
        self.start();
    }

    /// Kills the server and puts the copy of its files back.
    pub fn restore(&mut self) {
        self.kill();
        fs::rename(self.folder.join("data"), self.folder.join("replaced")).unwrap();
        self.copy("backup", "data");
        self.start();
    }

    /// Copies a folder of it with everything that is within and whose that is.
    fn copy(&self, from: &str, to: &str) {
        let words = ["-a", from, to];
        let copied = Command::new("cp").args(words).current_dir(&self.folder).status().unwrap();
        assert!(copied.success(), "`{from}` could not be copied");
    }

    /// Stops every process of it without ending one: nothing is refused and nothing answers.
    pub fn pause(&self) {
        self.processes().into_iter().for_each(|process| signal(process, Signal::STOP));
    }

    /// Lets a paused server go on.
    pub fn resume(&self) {
        self.processes().into_iter().for_each(|process| signal(process, Signal::CONT));
    }

    /// A killed server's lock file stands until its process is gone for the system too.
    fn wait_until_gone(&self, postmaster: u32) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while Path::new(&format!("/proc/{postmaster}")).exists() && !is_zombie(postmaster) {
            assert!(Instant::now() < deadline, "PostgreSQL does not die");
            std::thread::sleep(Duration::from_millis(20));
        }
        fs::remove_file(self.folder.join("data/postmaster.pid")).unwrap();
    }

    fn postmaster(&self) -> u32 {
        let file = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap();
        file.lines().next().unwrap().trim().parse().unwrap()
    }

    /// The postmaster first, so that it starts no new process while the others are looked for.
    fn processes(&self) -> Vec<u32> {
        let postmaster = self.postmaster();
        signal(postmaster, Signal::STOP);
        let children = Command::new("pgrep").args(["-P", &postmaster.to_string()]).output();
        let children = String::from_utf8(children.unwrap().stdout).unwrap();
        let children = children.lines().map(|line| line.trim().parse().unwrap());
        std::iter::once(postmaster).chain(children).collect()
    }

    fn run(&self, program: &str, words: &[&str]) {
        let mut command = Command::new(self.binaries.join(program));
        command.args(words).current_dir(&self.folder).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("LC_ALL", "C").env("PGPASSWORD", PASSWORD);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if geteuid().is_root() {
            let (user, group) = account();
            command.uid(user).gid(group);
        }
        let log = self.folder.join("log");
        let said = || fs::read_to_string(&log).unwrap_or_default();
        assert!(command.status().unwrap().success(), "`{program}` failed: {}", said());
    }
}

impl Drop for OwnPostgres {
    fn drop(&mut self) {
        if self.guard.is_some() {
            self.kill();
        }
        // What cannot be removed lies in the system's folder of temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn signal(process: u32, signal: Signal) {
    let process = Pid::from_raw(process.try_into().unwrap()).unwrap();
    // A session's process may have ended since it was listed.
    let _ = kill_process(process, signal);
}

/// Nobody may be there to take note of a dead process's end.
fn is_zombie(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    status.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

/// PostgreSQL refuses to run as root, so root's run as another account.
pub(super) fn account() -> (u32, u32) {
    let number = |flag: &str, name: &str| {
        let output = Command::new("id").args([flag, name]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().parse().ok()
    };
    let mut found = ["postgres", "nobody"].into_iter().map(|name| {
        let (user, group) = (number("-u", name), number("-g", name));
        user.zip(group)
    });
    found.find_map(|account| account).expect("an account `postgres` or `nobody`")
}

/// A port of this machine that nothing listens on.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
