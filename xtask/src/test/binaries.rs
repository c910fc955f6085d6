//! The test binaries of the workspace, compiled and listed by cargo. Runs none.

use std::io::BufReader;
use std::process::Stdio;

use cargo_metadata::{Artifact, Message, TargetKind};

use super::harness::Binary;
use crate::failure::{Failure, Result};
use crate::process;
use crate::workspace::{ALL, Workspace};

/// Compiles every test and returns the binaries, by package.
pub(super) fn compiled(workspace: &Workspace) -> Result<Vec<Binary>> {
    let mut command = workspace.cargo(["test", "--no-run"]);
    command.args(ALL).arg("--message-format=json-render-diagnostics").stdout(Stdio::piped());
    let mut child = process::start(&mut command)?;
    let mut found = Vec::new();
    if let Some(messages) = child.stdout.take() {
        for message in Message::parse_stream(BufReader::new(messages)) {
            let unread =
                |source| Failure::Io { attempt: "read what cargo says".to_owned(), source };
            if let Message::CompilerArtifact(artifact) = message.map_err(unread)? {
                found.extend(binary(&artifact));
            }
        }
    }
    let status = process::wait(child, &command, None)?;
    if !status.success() {
        return Err(Failure::Command { program: process::shown(&command), status });
    }
    found.sort_by(|one, other| (&one.package, &one.target).cmp(&(&other.package, &other.target)));
    Ok(found)
}

/// The test binary that cargo made of a target; none where it made something else.
fn binary(artifact: &Artifact) -> Option<Binary> {
    let file = artifact.executable.as_ref().filter(|_| artifact.profile.test)?;
    let folder = artifact.manifest_path.parent()?;
    let name = &artifact.target.name;
    let target = match artifact.target.kind.first()? {
        TargetKind::Test => format!("--test {name}"),
        TargetKind::Bin => format!("--bin {name}"),
        TargetKind::Example => format!("--example {name}"),
        _ => "--lib".to_owned(),
    };
    Some(Binary {
        package: folder.file_name()?.to_owned(),
        target,
        file: file.clone().into_std_path_buf(),
        folder: folder.to_owned().into_std_path_buf(),
    })
}
