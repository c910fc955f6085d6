//! How long it takes to make tools of the description of a public API, and how much memory: beside
//! reading the same text as JSON with `serde_json`, each in a process of its own.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    Failure,
    change_log::most_held,
    options::{Scale, Size},
};

/// Names the part of this that runs in a process of its own, so that it alone counts for the memory.
pub(crate) const ONE: &str = "descriptions-one";
/// The folder of the descriptions.
const FOLDER: &str = "CHANCERY_API_DESCRIPTIONS";
/// A large one, in JSON.
const FILE: &str = "github.json";
/// Converting it takes at most so long and so much memory.
const MOST: Duration = Duration::from_secs(3);
const MOST_MIB: u64 = 300;
const ROUNDS: Size<usize> = Size { full: 5, smoke: 1 };

/// What is done with the text.
#[derive(Debug, Clone, Copy)]
enum Work {
    Read,
    Convert,
}

impl Work {
    const ALL: [Self; 2] = [Self::Read, Self::Convert];

    fn name(self) -> &'static str {
        match self {
            Self::Read => "read as JSON",
            Self::Convert => "convert to tools",
        }
    }
}

/// Measures and prints both.
pub(crate) fn run(scale: Scale) -> Result<(), Failure> {
    let folder = env::var_os(FOLDER).ok_or("`cargo xtask bench descriptions` fetches them")?;
    let file = PathBuf::from(folder).join(FILE);
    println!(
        "| `{FILE}`, {} bytes | seconds, best of {} | MiB at most | tools |",
        file.metadata()?.len(),
        ROUNDS.at(scale)
    );
    println!("|---|---|---|---|");
    let mut spans = Vec::new();
    for work in Work::ALL {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS.at(scale) {
            rounds.push(in_a_process(work, &file)?);
        }
        rounds.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (seconds, mib, tools) = rounds.first().ok_or("nothing was measured")?;
        println!("| {} | {seconds:.2} | {mib} | {tools} |", work.name());
        spans.push((*seconds, *mib));
    }
    let [(read, _), (convert, mib)] = *spans else { return Err("nothing was measured".into()) };
    println!("\nConverting takes {:.1} times as long as reading alone.", convert / read);
    let within = |is: bool| if is { "within" } else { "NOT within" };
    let (time, memory) = (within(convert <= MOST.as_secs_f64()), within(mib <= MOST_MIB));
    println!("It is {time} {} s, and {memory} {MOST_MIB} MiB.", MOST.as_secs());
    Ok(())
}

/// The seconds, the memory in MiB, and the tools.
fn in_a_process(work: Work, file: &Path) -> Result<(f64, u64, u64), Failure> {
    let mut command = Command::new(env::current_exe()?);
    let output = command.args([ONE, work.name()]).arg(file).output()?;
    let said: Value = serde_json::from_slice(&output.stdout)?;
    let figure = |name: &str| said[name].as_u64().unwrap_or_default();
    Ok((said["seconds"].as_f64().unwrap_or_default(), figure("kib") / 1024, figure("tools")))
}

/// Does one, and prints what it took.
pub(crate) fn one(mut arguments: impl Iterator<Item = String>) -> Result<(), Failure> {
    let (name, file) = (arguments.next(), arguments.next());
    let work = Work::ALL.into_iter().find(|work| Some(work.name()) == name.as_deref());
    let (work, file) = (work.ok_or("expected a work")?, file.ok_or("expected a file")?);
    let text = std::fs::read_to_string(file)?;
    let began = Instant::now();
    let tools = match work {
        Work::Read => {
            let value: Value = serde_json::from_str(&text)?;
            usize::from(value.is_null())
        }
        Work::Convert => {
            let converted = connectors::rest::convert(&text, &[]);
            converted.map_err(|finding| finding.to_string())?.tools
        }
    };
    let seconds = began.elapsed().as_secs_f64();
    let kib = most_held()?;
    println!("{}", json!({ "seconds": seconds, "kib": kib, "tools": tools }));
    Ok(())
}
