//! Small file work of the launcher, each failure naming its path.

use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};

/// Makes the folder and those above it, where they are missing.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(Failure::on("make the folder", path))
}

/// Lets every account enter the folder, whatever the umask was when it was made.
pub(crate) fn open_to_all(path: &Path) -> Result<()> {
    fs::set_permissions(path, Permissions::from_mode(0o755))
        .map_err(Failure::on("change the mode of", path))
}

/// Lets only its owner enter the folder.
pub(crate) fn close_to_others(path: &Path) -> Result<()> {
    fs::set_permissions(path, Permissions::from_mode(0o700))
        .map_err(Failure::on("change the mode of", path))
}

/// The paths in a folder; nothing when there is no such folder.
pub(crate) fn children(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(Failure::on("list", folder)(source)),
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>();
    paths.map_err(Failure::on("list", folder))
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(Failure::on("read", path))
}

/// Writes a file that only its owner may read.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<()> {
    let mut options = File::options();
    options.create(true).truncate(true).write(true).mode(0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(Failure::on("write", path))
}

/// Appends to a file that exists.
pub(crate) fn append(path: &Path, text: &str) -> Result<()> {
    let file = File::options().append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(Failure::on("write", path))
}

/// Removes a folder with all in it, if there is one.
pub(crate) fn remove_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(Failure::on("remove", path)(source))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A password nobody can guess: 32 hexadecimal digits from the system's randomness.
pub(crate) fn random_password() -> Result<String> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0_u8; 16];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(Failure::on("read", path))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
