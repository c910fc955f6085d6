//! What the operating system knows of this process. Linux tells it in `/proc`; elsewhere nothing
//! is known, and nothing is said.

use std::fs;

/// Parts of a second in which Linux tells processor time to programs, on every machine.
const TICKS: f64 = 100.0;
const PAGE_NAMES: [&str; 2] = ["VmRSS:", "VmSize:"];

/// This process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Process {
    /// Processor seconds, the system's for it included.
    pub(super) cpu_seconds: f64,
    /// When it began, in seconds of Unix time.
    pub(super) started: f64,
    /// Memory that it holds, in bytes.
    pub(super) resident: u64,
    /// Memory that it may address, in bytes.
    pub(super) addressed: u64,
    /// Its threads.
    pub(super) threads: u64,
    /// Its open files.
    pub(super) open_files: u64,
    /// How many it may have open.
    pub(super) most_files: Option<u64>,
}

impl Process {
    /// What is known, or nothing where it cannot be read.
    pub(super) fn read() -> Option<Self> {
        let read = |path: &str| fs::read_to_string(path).ok();
        let texts = Texts {
            stat: read("/proc/self/stat")?,
            status: read("/proc/self/status")?,
            limits: read("/proc/self/limits")?,
            system: read("/proc/stat")?,
        };
        // The listing itself is an open file of that moment.
        let open_files = fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1);
        texts.parse(open_files as u64)
    }
}

struct Texts {
    stat: String,
    status: String,
    limits: String,
    system: String,
}

impl Texts {
    fn parse(&self, open_files: u64) -> Option<Process> {
        // The program's name may hold spaces; it stands in parentheses before everything else.
        let (_, fields) = self.stat.rsplit_once(") ")?;
        let field = |number: usize| fields.split(' ').nth(number - 3)?.parse::<f64>().ok();
        let boot = number_behind(&self.system, "btime ")?;
        let [resident, addressed] = PAGE_NAMES
            .map(|name| number_behind(&self.status, name).map(|kilobytes| kilobytes * 1024));
        let most = self.limits.lines().find_map(|line| line.strip_prefix("Max open files"));
        Some(Process {
            cpu_seconds: (field(14)? + field(15)?) / TICKS,
            started: f64::from(u32::try_from(boot).ok()?) + field(22)? / TICKS,
            resident: resident?,
            addressed: addressed?,
            threads: number_behind(&self.status, "Threads:")?,
            open_files,
            most_files: most.and_then(|rest| rest.split_whitespace().next()?.parse().ok()),
        })
    }
}

/// The number that follows this word at the begin of a line.
fn number_behind(text: &str, word: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(word))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests;
