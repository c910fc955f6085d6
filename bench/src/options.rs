//! What a benchmark is told at the terminal, and how much it does.

use std::time::Duration;

use crate::{Failure, load::Kind};

/// Does as much as shows that a benchmark runs to its end, and measures nothing.
const SMOKE: &str = "--smoke";
const SPAN: Size<Duration> =
    Size { full: Duration::from_secs(10), smoke: Duration::from_millis(500) };
const ORGS: Size<usize> = Size { full: 10_000, smoke: 4 };

/// How much a benchmark does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// As much as its figures need.
    Full,
    /// Each step a few times: whatever it asks of the service must succeed, in a few seconds. Its
    /// figures say nothing.
    Smoke,
}

/// A count or a time at each scale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size<T> {
    pub(crate) full: T,
    pub(crate) smoke: T,
}

impl<T: Copy> Size<T> {
    /// What it is at this scale.
    pub(crate) fn at(self, scale: Scale) -> T {
        match scale {
            Scale::Full => self.full,
            Scale::Smoke => self.smoke,
        }
    }
}

/// What the benchmarks take.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) scale: Scale,
    pub(crate) span: Duration,
    pub(crate) port: u16,
    /// One load at 64 connections, for a look at what it spends its time on.
    pub(crate) only: Option<Kind>,
    /// The loads on so many processes alone.
    pub(crate) processes: Option<u16>,
    /// How many orgs fall idle.
    pub(crate) orgs: usize,
}

impl Options {
    /// Reads `--smoke`, `--seconds N`, `--port N`, `--only LOAD`, `--processes N` and `--orgs N`.
    pub(crate) fn read(arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let (smoke, others): (Vec<_>, Vec<_>) = arguments.partition(|argument| argument == SMOKE);
        let scale = if smoke.is_empty() { Scale::Full } else { Scale::Smoke };
        let mut options = Self {
            scale,
            span: SPAN.at(scale),
            port: 28_180,
            only: None,
            processes: None,
            orgs: ORGS.at(scale),
        };
        let mut others = others.into_iter();
        while let Some(name) = others.next() {
            let mut value = || others.next().ok_or_else(|| format!("`{name}` needs a value"));
            match name.as_str() {
                "--seconds" => options.span = Duration::from_secs(value()?.parse()?),
                "--port" => options.port = value()?.parse()?,
                "--only" => options.only = Some(Kind::named(&value()?)?),
                "--processes" => options.processes = Some(value()?.parse()?),
                "--orgs" => options.orgs = value()?.parse()?,
                _ => {
                    let names = "--smoke, --seconds, --port, --only, --processes, --orgs";
                    return Err(format!("`{name}` is none of {names}").into());
                }
            }
        }
        Ok(options)
    }
}
