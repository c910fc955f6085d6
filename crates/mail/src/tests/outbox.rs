//! Letters in a folder.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use super::*;
use crate::Outbox;

/// A folder that goes with its test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("chancery-outbox-{}-{}", process::id(), NEXT.fetch_add(1, Relaxed));
        Self(std::env::temp_dir().join(name))
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap();
        names.map(|it| it.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[tokio::test]
async fn a_letter_that_is_sent_twice_is_one_file_that_its_owner_reads() {
    let folder = Folder::new();
    let outbox = Outbox::open(&folder.0, sender()).unwrap();
    let letter = sign_in("bob@example.org");
    // What an interrupted try left behind is in nobody's way.
    fs::write(folder.0.join(format!(".{}.draft", letter.job())), "half").unwrap();
    for _ in 0..2 {
        outbox.send(&letter).await.unwrap();
    }
    assert_eq!(folder.names(), [format!("{}.eml", letter.job())]);
    let path = folder.0.join(format!("{}.eml", letter.job()));
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&folder.0)), (0o600, 0o700));
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains("To: bob@example.org\r\n") && text.contains(CODE), "{text}");
    assert!(text.contains(LINK), "the link stands in one piece, to be copied: {text}");
}

#[tokio::test]
async fn a_folder_that_is_gone_is_a_reason_to_try_again() {
    let folder = Folder::new();
    let outbox = Outbox::open(&folder.0, sender()).unwrap();
    assert_eq!(outbox.check().await, Ok(()));
    fs::remove_dir(&folder.0).unwrap();
    assert!(matches!(outbox.check().await, Err(MailError::TryAgain(_))));
    let sent = outbox.send(&sign_in("bob@example.org")).await;
    assert!(matches!(sent, Err(MailError::TryAgain(_))), "{sent:?}");
}
