//! Where files may lie in memory.

use std::fs;
use std::path::{Path, PathBuf};

/// The file system in memory that Linux has.
const SHARED: &str = "/dev/shm";

/// Twice what the databases of all tests come to.
const ROOM: u64 = 12 << 30;

/// The folder for what is thrown away, where this machine has memory enough for it.
pub(super) fn folder() -> Option<PathBuf> {
    let shared = Path::new(SHARED);
    let stat = rustix::fs::statvfs(shared).ok()?;
    let has_room = stat.f_bavail.saturating_mul(stat.f_frsize) >= ROOM;
    let available = available(&fs::read_to_string("/proc/meminfo").ok()?)?;
    // Each account has one of its own, since none may write in another's.
    let account = rustix::process::geteuid().as_raw();
    (has_room && available >= ROOM).then(|| shared.join(format!("chancery-tests-{account}")))
}

/// The bytes of memory that the kernel says are to be had.
fn available(told: &str) -> Option<u64> {
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_tells_is_read() {
        let told = "MemTotal:       24689752 kB\nMemAvailable:   23017852 kB\nBuffers: 1 kB\n";
        assert_eq!(available(told), Some(23_017_852 * 1024));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
    }
}
