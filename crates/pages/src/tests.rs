//! Templates that can be read, the words on badges, and files that are found by what is in them.

use crate::{Pages, assets};

#[test]
fn every_template_can_be_read() {
    Pages::new().unwrap();
}

#[test]
fn a_file_is_found_under_its_own_digest_alone() {
    let served = assets::served_as("chancery.css").unwrap();
    assert_eq!(assets::find(&served).unwrap().name, "chancery.css");
    assert!(assets::find("chancery.css").is_none());
    assert!(assets::find(&format!("0{served}")).is_none());
    assert!(assets::served_as("other.css").is_none());
}
