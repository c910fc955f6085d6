//! The deeds of the self-test are specimens of each kind, with every member filled.

use expect_test::expect_file;
use serde_json::json;

use super::support::{Log, amendment_of, moment};
use crate::specimen;

/// To write the file again after a change: `UPDATE_EXPECT=1 cargo test -p deed self_test`.
#[test]
fn the_list_of_the_self_test_has_every_member_of_every_kind() {
    let mut log = Log::new();
    let first = log.seal(|mint| specimen::action(mint).unwrap()).unwrap();
    log.seal(specimen::admin).unwrap();
    log.seal(amendment_of(&first)).unwrap();
    let line = |place: usize| {
        let texts: Vec<_> =
            log.opened[place].iter().map(super::super::commitment::Disclosure::text).collect();
        json!({ "body": log.forms[place]["body"], "disclosures": texts }).to_string() + "\n"
    };
    expect_file!["../self_test/deeds.jsonl"].assert_eq(&(0..3).map(line).collect::<String>());
    super::support::sealer().self_test(moment()).unwrap();
}
