//! Where the checkout is, and how its packages are built. Starts no service and no database.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::MetadataCommand;

use crate::failure::{Failure, Result};
use crate::process;

/// The checkout this command was started in.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

/// The ways the service is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Build {
    /// As it is shipped.
    Release,
    /// Quick to build, for end-to-end tests.
    Plain,
    /// As `Plain`, with its failpoints compiled in.
    Failpoints,
    /// As `Failpoints`, out of the build of all tests: with the features that those choose.
    WithTests,
}

/// How programs that measure are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// As they are measured.
    Release,
    /// Quick to build, for a look at whether they run.
    Dev,
}

impl Profile {
    /// What chooses it at cargo's command line.
    pub(crate) fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Release => &["--release"],
            Self::Dev => &[],
        }
    }

    /// The folder that cargo puts programs in.
    fn folder(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "debug",
        }
    }
}

/// All that has tests, as they are built: told to `cargo` in one way, so that it builds nothing
/// twice. The benchmark has none, and takes a minute to link.
pub(crate) const ALL: [&str; 5] =
    ["--workspace", "--exclude", "bench", "--features", "server/failpoints"];

impl Workspace {
    /// Finds the checkout around the current folder.
    pub(crate) fn find() -> Result<Self> {
        let metadata = MetadataCommand::new().no_deps().exec().map_err(|error| {
            Failure::because(format!("could not read the workspace with `cargo metadata`: {error}"))
        })?;
        Ok(Self {
            root: metadata.workspace_root.into_std_path_buf(),
            target: metadata.target_directory.into_std_path_buf(),
        })
    }

    /// The folder of the checkout.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of everything that is built.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// The folder of what is built as somebody outside builds it, without this workspace's profiles
    /// and choice of features.
    pub(crate) fn built_outside(&self) -> PathBuf {
        self.target.join("outside")
    }

    /// A cargo command that works on the checkout.
    pub(crate) fn cargo<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        command.args(arguments).current_dir(&self.root);
        command
    }

    /// Builds the service and returns the path of its binary.
    ///
    /// A debug binary is copied to a name of its own: later builds, `cargo test` among them, may
    /// link another choice of features under the name that cargo gives it.
    pub(crate) fn build_service(&self, build: Build) -> Result<PathBuf> {
        let (arguments, copy): (&[&str], Option<&str>) = match build {
            Build::Release => (&["--package", "server", "--release"], None),
            Build::Plain => (&["--package", "server"], Some("chancery-plain")),
            Build::Failpoints => {
                (&["--package", "server", "--features", "failpoints"], Some("chancery-failpoints"))
            }
            Build::WithTests => (&ALL, Some("chancery-tested")),
        };
        let mut command = self.cargo(["build"]);
        if build == Build::WithTests {
            command.arg("--all-targets");
        }
        process::run(command.args(arguments))?;
        match copy {
            None => Ok(self.target.join("release/chancery")),
            Some(name) => replace(&self.target.join("debug/chancery"), self.target.join(name)),
        }
    }

    /// Builds the benchmark and returns the path of its binary.
    pub(crate) fn build_bench(&self, profile: Profile) -> Result<PathBuf> {
        let package = ["build", "--package", "bench"];
        process::run(self.cargo(package).args(profile.flags()))?;
        Ok(self.target.join(profile.folder()).join("bench"))
    }

    /// Builds the store's own benchmarks of lists, and returns the paths of their binaries.
    pub(crate) fn build_lists(&self, profile: Profile) -> Result<[PathBuf; 2]> {
        const PROGRAMS: [&str; 2] = ["lists", "account_lists"];
        let package = ["build", "--package", "store-postgres"];
        let examples = PROGRAMS.into_iter().flat_map(|name| ["--example", name]);
        process::run(self.cargo(package).args(profile.flags()).args(examples))?;
        let folder = self.target.join(profile.folder()).join("examples");
        Ok(PROGRAMS.map(|name| folder.join(name)))
    }
}

/// Puts a copy at the second path by renaming, since a file that is being run cannot be written.
fn replace(from: &Path, to: PathBuf) -> Result<PathBuf> {
    let half = to.with_extension("new");
    fs::copy(from, &half).map_err(Failure::on("copy", from))?;
    fs::rename(&half, &to).map_err(Failure::on("write", &to))?;
    Ok(to)
}
