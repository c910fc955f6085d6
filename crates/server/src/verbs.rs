//! Does what the operator asked. One module per noun; each function returns how it ended.

mod accounts;
mod archive;
mod check;
mod compare;
mod connector;
mod docs;
mod inspect;
mod intent;
mod keys;
mod listen;
mod lists;
mod log;
mod manual;
pub(crate) mod owner;
mod policy;
mod serve;
mod stops;
mod vault;
mod verify;

pub(crate) use accounts::failure;
pub(crate) use verify::told as verify_verdict;

use std::{io::Read, path::Path};

use admin::Orgs;
use ledger::record::Org;
use model::{OrgId, causes};

use crate::{
    cli::{self, Cli, Connector, Policy, Verb},
    core::Core,
    exit::{Exit, Failure},
    print,
    runtime::WAITING_THREAD_IS_KEPT,
    settings::{self, Settings, Sources},
    telemetry, up,
    wire_up::{Admitted, Strangers, Wired, wire_up_with},
};

/// Runs one verb and prints what it has to say.
pub fn run(cli: Cli) -> Exit {
    dispatch(cli).unwrap_or_else(|failure| {
        print::complaint(format!("chancery: {failure}"));
        failure.exit
    })
}

fn dispatch(cli: Cli) -> Result<Exit, Failure> {
    let config = cli.config.as_deref();
    match cli.verb {
        Verb::Serve => in_runtime(serve::serve(load(config)?, cli.commit)),
        Verb::Up(what) => in_runtime(up::run(what, cli.commit)),
        Verb::Demo => in_runtime(crate::demo::run()),
        Verb::Migrate(what) => in_runtime(serve::migrate(load(config)?, what)),
        Verb::Verify(what) => verify::run(&what),
        Verb::Inspect { file } => inspect::run(&file),
        Verb::Consistency(what) => compare::consistency(&what),
        Verb::Diff(what) => compare::diff(&what),
        Verb::Export { file, dsse: _ } => compare::export(&file),
        Verb::Check(what) => in_runtime(check::run(config, what)),
        Verb::Policy(Policy::Lint(what)) => match what.org {
            Some(org) => wired(config, async |wired| {
                let known = policy::known_of(&wired.core, org_of(&wired.core, org.into()).await?);
                policy::lint(&what, &known.await?)
            }),
            None => policy::lint(&what, &policy::known_in(what.tools.as_deref())?),
        },
        Verb::Policy(Policy::Test(what)) => policy::test(&what),
        Verb::Policy(Policy::Diff(what)) => policy::diff(&what),
        Verb::Policy(Policy::Explain(what)) => {
            wired(config, async |wired| policy::explain(&wired.core, what).await)
        }
        Verb::Policy(Policy::Replay(what)) => {
            wired(config, async |wired| policy::replay(&wired.core, what).await)
        }
        Verb::Policy(Policy::Activate(what)) => {
            wired(config, async |wired| policy::activate(&wired.core, what).await)
        }
        Verb::Keys(what) => in_runtime(keys::run(config, what)),
        Verb::Log(what) => wired(config, async |wired| log::run(wired, what).await),
        Verb::Archive(what) => in_runtime(archive::run(load(config)?, what)),
        Verb::Org(what) => wired(config, async |wired| accounts::org(&wired.core, what).await),
        Verb::Owner(what) => {
            let settings = load(config)?;
            wired(config, async |wired| owner::run(wired, &settings, what).await)
        }
        Verb::Agent(what) => wired(config, async |wired| accounts::agent(&wired.core, what).await),
        Verb::Key(what) => {
            let pepper = match &what {
                cli::Key::AdoptPepper => Strangers::Adopted,
                _ => Strangers::Refused,
            };
            let admitted = Admitted { pepper, ..Admitted::to_operate() };
            wired_with((config, admitted), async |wired| accounts::key(&wired.core, what).await)
        }
        Verb::Intent(what) => intent::run(&what),
        Verb::Connector(Connector::Setup(what)) => {
            in_runtime(connector::setup(load(config)?, what))
        }
        Verb::Connector(Connector::Convert(what)) => connector::convert(&what),
        Verb::Connector(what) => wired(config, async |wired| connector::run(wired, what).await),
        Verb::Vault(what) => wired(config, async |wired| vault::run(wired, what).await),
        Verb::Listen(what) => in_runtime(listen::run(what)),
        Verb::Completions { shell } => Ok(manual::completions(shell)),
        Verb::Man { out } => manual::pages(&out),
        Verb::InternalDocs { page } => Ok(docs::print(page)),
    }
}

/// Runs what a verb does on a runtime of its own.
///
/// It has a thread that may wait from the start, and keeps it: where the system gives no further
/// one, whatever has to wait takes its turn there, and nothing panics.
fn in_runtime(work: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.enable_all().thread_keep_alive(WAITING_THREAD_IS_KEPT);
    let runtime = runtime.build().map_err(Failure::internal)?;
    runtime.block_on(runtime.spawn_blocking(|| {})).map_err(Failure::internal)?;
    runtime.block_on(work)
}

/// Runs what a verb does on the service's record, without serving.
fn wired(
    config: Option<&Path>,
    work: impl AsyncFnOnce(&Wired) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    wired_with((config, Admitted::to_operate()), work)
}

/// The same with secrets that are new to the record, as far as they are admitted.
fn wired_with(
    (config, admitted): (Option<&Path>, Admitted),
    work: impl AsyncFnOnce(&Wired) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let settings = load(config)?;
    telemetry::start(settings.env, settings::LogLevel::quiet());
    in_runtime(async {
        let wired = wire_up_with(&settings, admitted).await?;
        let ended = work(&wired).await;
        wired.tasks.idle().await;
        ended
    })
}

/// The settings of this process.
fn load(config: Option<&Path>) -> Result<Settings, Failure> {
    let sources = Sources::read(config).map_err(Failure::usage)?;
    settings::load(&sources).map_err(Failure::usage)
}

/// The org that the operator means: the one that is named, or the only one.
async fn org_of(core: &Core, named: cli::InOrg) -> Result<OrgId, Failure> {
    if let Some(id) = named.org {
        let org = core.stores.accounts.org(id).await.map_err(unread)?;
        let org = org.filter(|org| org.id != admin::OPERATOR_ORG);
        return org
            .map(|org| org.id)
            .ok_or_else(|| Failure::usage(format!("there is no org `{id}`")));
    }
    let Orgs { found, unreached } = orgs(core).await?;
    match found.as_slice() {
        // The org that is meant may be one of those.
        _ if !unreached.is_empty() => {
            let orgs = unreached.len();
            Err(Failure::unavailable(format!("name the org with `--org ID`: {orgs} {AWAY}")))
        }
        [only] => Ok(only.id),
        [] => Err(Failure::usage("there is no org yet: run `chancery org create NAME`")),
        several => {
            let lines: Vec<_> = several.iter().map(described).collect();
            let lines = lines.join("\n  ");
            Err(Failure::usage(format!("name the org with `--org ID`:\n  {lines}")))
        }
    }
}

/// Every org but the operator's own.
async fn orgs(core: &Core) -> Result<Orgs, Failure> {
    let mut orgs = core.stores.accounts.orgs().await.map_err(unread)?;
    orgs.found.retain(|org| org.id != admin::OPERATOR_ORG);
    orgs.unreached.retain(|org| *org != admin::OPERATOR_ORG);
    Ok(orgs)
}

/// What a verb says of orgs, behind their number, that it could not do its work for.
const AWAY: &str = "orgs are unreachable, because a node of the control database does not respond";

/// The end of a verb that did its work for all orgs but so many.
fn all_but(unreached: usize) -> Result<Exit, Failure> {
    match unreached {
        0 => Ok(Exit::Ok),
        orgs => Err(Failure::unavailable(format!("{orgs} {AWAY}"))),
    }
}

fn unread(error: ledger::StoreDown) -> Failure {
    Failure::internal(causes(&error))
}

fn described(org: &Org) -> String {
    format!("{} {}", org.id, org.name)
}

/// The bytes of a file that the operator named.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| {
        Failure::usage(format!("could not read the file `{}`: {error}", path.display()))
    })
}

/// The bytes of a file that the operator named, or of standard input for `-`.
fn input(file: &Path) -> Result<Vec<u8>, Failure> {
    if file != Path::new("-") {
        return read(file);
    }
    let mut input = Vec::new();
    std::io::stdin()
        .read_to_end(&mut input)
        .map_err(|error| Failure::usage(format!("could not read standard input: {error}")))?;
    Ok(input)
}

/// The text of a file that the operator named.
fn read_text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read(path)?)
        .map_err(|_| Failure::malformed(format!("the file `{}` is not UTF-8 text", path.display())))
}

/// The name of a file without folder and ending, as the name of what it describes.
fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
