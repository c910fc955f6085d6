//! What processes have computed, as Linux counts it.

use std::{path::Path, time::Duration};

use crate::Failure;

/// What each side has computed so far, or computed meanwhile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Computed {
    pub(crate) services: Duration,
    pub(crate) postgres: Duration,
    pub(crate) client: Duration,
}

/// The processes that are counted.
pub(crate) struct Processes {
    pub(crate) services: Vec<u32>,
    /// PostgreSQL's first process, the parent of all others.
    pub(crate) postgres: u32,
}

/// A process as `/proc/PID/stat` tells of it.
struct Told {
    parent: u32,
    own: Duration,
    /// Of its children that have ended.
    ended: Duration,
}

impl Processes {
    /// What they have computed so far.
    pub(crate) fn computed(&self) -> Result<Computed, Failure> {
        let services = self.services.iter().map(|pid| of(*pid)).sum::<Result<_, _>>()?;
        let first = told(self.postgres)?;
        let mut postgres = first.own + first.ended;
        for entry in std::fs::read_dir("/proc")? {
            let pid = entry?.file_name().to_str().and_then(|name| name.parse().ok());
            // A process may end while it is looked for.
            let Some(Ok(told)) = pid.map(told) else { continue };
            postgres += if told.parent == self.postgres { told.own } else { Duration::ZERO };
        }
        Ok(Computed { services, postgres, client: of(std::process::id())? })
    }
}

impl Processes {
    /// What this very process has computed so far.
    pub(crate) fn own() -> Result<Duration, Failure> {
        of(std::process::id())
    }
}

impl Computed {
    /// What was computed since then.
    pub(crate) fn since(self, then: Self) -> Self {
        Self {
            services: self.services.saturating_sub(then.services),
            postgres: self.postgres.saturating_sub(then.postgres),
            client: self.client.saturating_sub(then.client),
        }
    }

    /// All sides together.
    pub(crate) fn total(self) -> Duration {
        self.services + self.postgres + self.client
    }
}

/// What this process has computed so far.
fn of(pid: u32) -> Result<Duration, Failure> {
    Ok(told(pid)?.own)
}

/// The process that started this one.
pub(crate) fn parent(pid: u32) -> Result<u32, Failure> {
    Ok(told(pid)?.parent)
}

fn told(pid: u32) -> Result<Told, Failure> {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"))?;
    // The program's name stands in parentheses and may hold spaces.
    let (_, rest) = stat.rsplit_once(')').ok_or("the kernel told no times")?;
    let fields: Vec<_> = rest.split_whitespace().collect();
    let number = |at: usize| -> Result<u64, Failure> {
        Ok(fields.get(at).ok_or("the kernel told no times")?.parse()?)
    };
    // Times are in hundredths of a second, the unit that Linux tells them in on every machine.
    let span = |first: usize| -> Result<Duration, Failure> {
        Ok(Duration::from_millis((number(first)? + number(first + 1)?) * 10))
    };
    Ok(Told { parent: u32::try_from(number(1)?)?, own: span(11)?, ended: span(13)? })
}
