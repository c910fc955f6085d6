//! `cargo xtask up`: a private PostgreSQL, the release binary, and its `up` verb on top of it, until
//! Ctrl-C. What the service shows is the binary's own work.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::cli::Up;
use crate::failure::{Failure, Result};
use crate::pg::{Cluster, Launcher, Place, port_is_free, take_lock};
use crate::process;
use crate::workspace::{Build, Workspace};

/// How long a service that a killed run left behind may take to end.
const END: Duration = Duration::from_secs(15);

/// Starts everything, waits for Ctrl-C, and stops what it started.
pub(crate) fn run(workspace: &Workspace, request: Up) -> Result<()> {
    let data = data_folder(workspace, request.data.as_deref())?;
    let _lock = lock(&data)?;
    let pid_file = data.join("service.pid");
    end_orphan(&pid_file)?;
    request.port.map_or(Ok(()), refuse_taken)?;
    let launcher = Launcher::find(request.yes.into())?;
    let binary = workspace.build_service(Build::Release)?;
    let place = match request.data {
        Some(_) => Place::Chosen(data.clone()),
        None => Place::Checkout(data.clone()),
    };
    if request.fresh {
        launcher.forget(&place)?;
    }
    let cluster = launcher.kept(&place)?;
    serve(service(&binary, &data, &cluster, &request), &pid_file)
}

/// The folder that keeps everything, made if need be.
fn data_folder(workspace: &Workspace, chosen: Option<&Path>) -> Result<PathBuf> {
    let folder = chosen.map_or_else(|| workspace.root().join(".chancery"), Path::to_owned);
    fs::create_dir_all(&folder).map_err(Failure::on("make the folder", &folder))?;
    folder.canonicalize().map_err(Failure::on("find", &folder))
}

fn lock(data: &Path) -> Result<File> {
    take_lock(&data.join("up.lock"))?.ok_or_else(|| {
        Failure::because(format!(
            "another `cargo xtask up` runs on `{}`; stop it with Ctrl-C, or choose another folder \
             with `--data` and another port with `--port`",
            data.display()
        ))
    })
}

fn refuse_taken(port: u16) -> Result<()> {
    if port_is_free(port) {
        return Ok(());
    }
    Err(Failure::because(format!(
        "port {port} is taken; stop the program that listens on it, or choose another with `--port`"
    )))
}

fn service(binary: &Path, data: &Path, cluster: &Cluster, request: &Up) -> Command {
    let mut command = Command::new(binary);
    command.arg("up").arg("--data-dir").arg(data.join("service"));
    // A list of processes shows arguments, and not the environment.
    command.env("CHANCERY_POSTGRES_URL", cluster.url());
    if request.fresh {
        command.arg("--fresh");
    }
    if let Some(port) = request.port {
        command.arg("--port").arg(port.to_string());
    }
    command
}

fn serve(mut command: Command, pid_file: &Path) -> Result<()> {
    let child = process::start(&mut command)?;
    let noted = fs::write(pid_file, child.id().to_string());
    let ended = process::wait(child, &command, None);
    noted.map_err(Failure::on("write", pid_file))?;
    fs::remove_file(pid_file).map_err(Failure::on("remove", pid_file))?;
    match ended {
        // Ctrl-C is how `up` is meant to end.
        Err(Failure::Interrupted) => Ok(()),
        Err(failure) => Err(failure),
        Ok(status) if status.success() => Ok(()),
        // The service has said why. Its command line holds a password, so it is not shown.
        Ok(status) => Err(Failure::Command { program: "chancery up".to_owned(), status }),
    }
}

/// Ends the service of a run that was killed: it would hold the port and the database. The lock is
/// ours, so no living run owns it.
fn end_orphan(pid_file: &Path) -> Result<()> {
    let text = match fs::read_to_string(pid_file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(Failure::on("read", pid_file)(source)),
    };
    if let Some(pid) = text.trim().parse().ok().and_then(Pid::from_raw)
        && is_service(pid)
    {
        println!("ending the service that an earlier run left behind (process {pid})");
        end(pid)?;
    }
    fs::remove_file(pid_file).map_err(Failure::on("remove", pid_file))
}

/// Whether the process is a service, and not a stranger that was given its number since.
fn is_service(pid: Pid) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).or_else(|_| {
        let output = Command::new("ps").args(["-o", "comm=", "-p", &pid.to_string()]).output()?;
        String::from_utf8(output.stdout).map_err(std::io::Error::other)
    });
    name.is_ok_and(|name| Path::new(name.trim()).ends_with("chancery"))
}

fn end(pid: Pid) -> Result<()> {
    let stop = |signal| kill_process(pid, signal).map_err(|error| failed_to_end(pid, error.into()));
    stop(Signal::TERM)?;
    let deadline = Instant::now() + END;
    while test_kill_process(pid).is_ok() {
        if Instant::now() > deadline {
            return stop(Signal::KILL);
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn failed_to_end(pid: Pid, source: std::io::Error) -> Failure {
    Failure::Io { attempt: format!("end process {pid}, the service of an earlier run"), source }
}
