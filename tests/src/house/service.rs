//! One running service process, which a test may pause, kill, stop in order and start again.

use std::{
    ffi::OsString,
    fs::{self, File},
    net::SocketAddr,
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::{caller::Caller, guard::Guard, site::binaries, verbs::Verbs};
use crate::house::program;

/// How a service is started.
#[derive(Debug, Clone, Copy)]
pub enum Start<'a> {
    /// As it is shipped.
    Plain,
    /// With these failpoints armed, as `gate.permitted=kill`.
    Armed(&'a str),
    /// With failpoints that the test arms while it runs.
    Holdable,
    /// As that, and the first visitor of this point waits there.
    Held(&'a str),
    /// As it is shipped, by an account of its own that may have so many threads. It takes root.
    Threads(usize),
    /// As it is shipped, its wall clock off by what the file says at each moment.
    Stepped(&'a Faketime),
    /// As that, with failpoints that the test arms while it runs.
    HoldableStepped(&'a Faketime),
}

/// Steps the wall clock of one process, and leaves its count of time alone.
#[derive(Debug)]
pub struct Faketime {
    /// The library that the process loads.
    pub library: PathBuf,
    /// Says by how much the clock is off.
    pub offset: PathBuf,
}

impl Faketime {
    /// One that keeps its offset in this folder, and is not off yet; nothing where the run has no
    /// such library.
    pub fn of(folder: &Path) -> Option<Self> {
        let offset = folder.join("offset");
        let faketime = Self { library: program("CHANCERY_FAKETIME")?, offset };
        faketime.step("+0s");
        Some(faketime)
    }

    /// Steps the clock to this offset from the true time, such as `-3600s`.
    pub fn step(&self, offset: &str) {
        // Whoever reads it never meets half of it.
        let draft = self.offset.with_extension("draft");
        fs::write(&draft, offset).unwrap();
        fs::rename(&draft, &self.offset).unwrap();
    }

    fn environment(&self) -> [(&'static str, OsString); 4] {
        [
            ("LD_PRELOAD", self.library.clone().into()),
            ("FAKETIME_TIMESTAMP_FILE", self.offset.clone().into()),
            ("FAKETIME_NO_CACHE", "1".into()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
        ]
    }
}

/// A running service.
#[derive(Debug)]
pub struct Service {
    /// Where it listens.
    pub address: SocketAddr,
    child: Child,
    log: PathBuf,
    points: PathBuf,
    // Dropped after the process has been waited for.
    _guard: Guard,
}

impl Service {
    /// Starts a service and waits until it serves. Like whoever keeps a service running, it starts
    /// another one where a database that has just come up gave no answer in time.
    pub async fn start(verbs: &Verbs, start: Start<'_>) -> Self {
        let deadline = Instant::now() + Duration::from_mins(3);
        loop {
            if let Some(service) = Self::begin(verbs, start, deadline).await {
                return service;
            }
        }
    }

    /// Starts a service once; nothing where its database did not answer.
    async fn begin(verbs: &Verbs, start: Start<'_>, deadline: Instant) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let log = verbs.folder().join(format!("service-{number}.log"));
        let binaries = binaries().unwrap();
        let with_failpoints = || binaries.failpoints.expect("`CHANCERY_FAILPOINT_BIN` is not set");
        let (binary, failpoints) = match start {
            Start::Plain | Start::Threads(_) | Start::Stepped(_) => (binaries.plain, ""),
            Start::Armed(points) => (with_failpoints(), points),
            Start::Holdable | Start::Held(_) | Start::HoldableStepped(_) => (with_failpoints(), ""),
        };
        let points = verbs.folder().join(format!("points-{number}"));
        fs::create_dir_all(&points).unwrap();
        if let Start::Held(point) = start {
            fs::write(points.join(point), "").unwrap();
        }
        let mut command = match start {
            Start::Threads(most) => limited(&binary, verbs.folder(), most),
            _ => Command::new(binary),
        };
        command.args(["--config", "settings.yaml", "serve"]).current_dir(verbs.folder());
        command.env_clear().env("PATH", "/usr/bin:/bin").env("CHANCERY_FAILPOINTS", failpoints);
        command.env("CHANCERY_FAILPOINT_FOLDER", &points);
        command.envs(verbs.environment().iter().cloned());
        if let Start::Stepped(faketime) | Start::HoldableStepped(faketime) = start {
            command.envs(faketime.environment());
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log).unwrap());
        let mut child = command.spawn().unwrap();
        let guard = Guard::of(child.id(), verbs.folder());
        let address = address(&mut child, &log, deadline).await?;
        Some(Self { address, child, log, points, _guard: guard })
    }

    /// The page of metrics, where it is served.
    pub async fn metrics(&self) -> String {
        let page = self.monitor().get("/metrics").await;
        assert_eq!(page.status, 200);
        String::from_utf8(page.body.to_vec()).unwrap()
    }

    /// The number behind this name on the page of metrics.
    pub async fn metric(&self, name: &str) -> u64 {
        let page = self.metrics().await;
        let found = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap().parse().unwrap()
    }

    /// A caller of the listener of metrics.
    pub fn monitor(&self) -> Caller {
        let log = self.log();
        let line = log.lines().find(|line| line.contains("metrics are served")).expect("metrics");
        Caller::new(line.rsplit("address=").next().unwrap().trim().parse().unwrap(), None)
    }

    /// A caller with this key.
    pub fn caller(&self, key: &str) -> Caller {
        Caller::new(self.address, Some(key))
    }

    /// A caller without a key.
    pub fn anonymous(&self) -> Caller {
        Caller::new(self.address, None)
    }

    /// The bytes on this line of what the system knows of its process, such as `VmRSS:`.
    pub fn memory(&self, line: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let found = status.lines().find_map(|it| it.strip_prefix(line)).unwrap();
        found.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Kills it, as `kill -9` does.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let process = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(process, signal).unwrap();
    }

    /// Waits until it has ended by itself, or fails the test.
    pub async fn ended(&mut self, within: Duration) -> ExitStatus {
        let deadline = Instant::now() + within;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "still running: {}", self.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Lets the next visitor of this point wait there.
    pub fn arm(&self, point: &str) {
        fs::write(self.points.join(point), "").unwrap();
    }

    /// Waits until somebody waits at this point; false if nobody came in time.
    pub async fn is_held(&self, point: &str, within: Duration) -> bool {
        let held = self.points.join(format!("{point}.held"));
        let deadline = Instant::now() + within;
        while !held.exists() {
            if Instant::now() > deadline {
                // Whoever came between the look and this is let go.
                let _ = fs::remove_file(self.points.join(point));
                self.release(point);
                return false;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        true
    }

    /// Lets whoever waits at this point go on.
    pub fn release(&self, point: &str) {
        // Nobody may wait there.
        let _ = fs::remove_file(self.points.join(format!("{point}.held")));
    }

    /// Lets whoever waits at this point panic there.
    pub fn panics(&self, point: &str) {
        let at = |end: &str| self.points.join(format!("{point}.{end}"));
        fs::rename(at("held"), at("panic")).unwrap();
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already; a paused process dies of this signal too.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of a service of the failed test ---\n{}", self.log());
        }
    }
}

/// A program as an account that nobody else has, and that may have so many threads: root has no such
/// limit, and the limit counts all threads of an account.
fn limited(binary: &Path, folder: &Path, most: usize) -> Command {
    const ACCOUNT: u32 = 54_321;
    // Where the tests are built the account may have no way in.
    let within_reach = folder.join("chancery");
    if fs::hard_link(binary, &within_reach).is_err() {
        fs::copy(binary, &within_reach).unwrap();
    }
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    for path in files.filter(|path| *path != within_reach).chain([folder.to_owned()]) {
        chown(path, Some(ACCOUNT), Some(ACCOUNT)).unwrap();
    }
    let mut command = Command::new("prlimit");
    command.arg(format!("--nproc={most}:{most}")).arg(&within_reach).uid(ACCOUNT).gid(ACCOUNT);
    command
}

/// The address that the service says it listens at; nothing where it ended because its
/// database did not answer.
async fn address(child: &mut Child, log: &PathBuf, deadline: Instant) -> Option<SocketAddr> {
    loop {
        let said = fs::read_to_string(log).unwrap();
        let serving = said.lines().find(|line| line.contains(": serving address="));
        if let Some(address) = serving.and_then(|line| line.rsplit('=').next()) {
            return Some(address.trim().parse().unwrap());
        }
        let ended = child.try_wait().unwrap();
        let is_early =
            said.contains("the control database does not respond") && Instant::now() < deadline;
        if ended.is_some() && is_early {
            return None;
        }
        assert!(ended.is_none() && Instant::now() < deadline, "did not serve: {ended:?} {said}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
