//! A PgBouncer of one test's own, in front of a cluster.

use std::{
    fs,
    net::TcpStream,
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::geteuid;

use super::{
    cluster::Cluster,
    guard::Guard,
    postgres::{account, free_port},
    programs::program,
};

/// When a connection to the server goes from one client to another, and how many a role has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolMode {
    /// When the client closes its own; enough for every client of a test.
    Session,
    /// When the client's transaction ends; two, so that many clients share them.
    Transaction,
}

/// A running PgBouncer.
#[derive(Debug)]
pub struct Pooler {
    /// Where it listens.
    pub port: u16,
    binary: PathBuf,
    folder: PathBuf,
    // What ends it with this process goes with it.
    process: (Child, Guard),
}

impl Pooler {
    /// Starts one that lets these roles, each with its password, through to any database of the
    /// cluster; nothing where the run has no PgBouncer.
    pub fn new(cluster: &Cluster, roles: &[(&str, &str)], mode: PoolMode) -> Option<Self> {
        let binary = program("CHANCERY_PGBOUNCER")?;
        let folder = std::env::temp_dir().join(super::name());
        fs::create_dir_all(&folder).unwrap();
        let users = roles.iter().map(|(role, password)| format!("\"{role}\" \"{password}\"\n"));
        fs::write(folder.join("users.txt"), users.collect::<String>()).unwrap();
        let port = free_port();
        let Cluster { host, port: server, .. } = cluster;
        let settings = format!(
            "[databases]
            * = host={host} port={server}
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = {port}
            unix_socket_dir =
            auth_type = scram-sha-256
            auth_file = users.txt
            max_client_conn = 500
            logfile = log
            %include mode.ini"
        );
        let settings = settings.lines().map(|line| format!("{}\n", line.trim_start()));
        fs::write(folder.join("pgbouncer.ini"), settings.collect::<String>()).unwrap();
        if geteuid().is_root() {
            let (user, group) = account();
            chown(&folder, Some(user), Some(group)).unwrap();
        }
        let process = start(&binary, &folder, (mode, port));
        Some(Self { port, binary, folder, process })
    }

    /// Stops it and starts it again in this mode, at the same port.
    pub fn restart(&mut self, mode: PoolMode) {
        self.end();
        self.process = start(&self.binary, &self.folder, (mode, self.port));
    }

    fn end(&mut self) {
        // A process that ended by itself is waited for all the same.
        let (child, _) = &mut self.process;
        let _ = child.kill();
        child.wait().unwrap();
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.end();
        // What cannot be removed lies in the system's folder of temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Starts it in the folder and waits until it listens.
fn start(binary: &Path, folder: &Path, (mode, port): (PoolMode, u16)) -> (Child, Guard) {
    let (mode, size) = match mode {
        PoolMode::Session => ("session", 40),
        PoolMode::Transaction => ("transaction", 2),
    };
    let settings = format!("pool_mode = {mode}\ndefault_pool_size = {size}\n");
    fs::write(folder.join("mode.ini"), settings).unwrap();
    let mut command = Command::new(binary);
    command.args(["--quiet", "pgbouncer.ini"]).current_dir(folder).env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if geteuid().is_root() {
        let (user, group) = account();
        command.uid(user).gid(group);
    }
    let mut child = command.spawn().unwrap();
    let guard = Guard::of(child.id(), folder);
    let deadline = Instant::now() + Duration::from_mins(1);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        let ended = child.try_wait().unwrap();
        let log = || fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert!(ended.is_none() && Instant::now() < deadline, "no PgBouncer: {}", log());
        std::thread::sleep(Duration::from_millis(20));
    }
    (child, guard)
}
