//! What the operator's lists say, for people and for programs.

use serde_json::{Value, json};

use crate::house::House;

/// Runs a list in both forms: its lines without their head, and its JSON rows.
async fn listed(house: &House, words: &[&str]) -> (Vec<String>, Vec<Value>) {
    let table = house.verbs.run(words).await;
    let lines: Vec<_> = table.lines().map(str::to_owned).collect();
    let (head, lines) = lines.split_first().unwrap();
    assert_eq!(head, &head.to_uppercase(), "{table}");
    let text = house.verbs.run(&[words, &["--json"]].concat()).await;
    let list: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(list["object"], "list");
    let rows = list["data"].as_array().unwrap().clone();
    assert_eq!(lines.len(), rows.len(), "{table}");
    for (line, row) in lines.iter().zip(&rows) {
        for member in ["id", "name", "status"] {
            assert!(line.contains(row[member].as_str().unwrap()), "{line}: {row}");
        }
    }
    (lines.to_vec(), rows)
}

#[tokio::test]
async fn orgs_agents_keys_and_connectors_are_listed_for_people_and_for_programs() {
    let Some(house) = House::new("").await else { return };
    let (orgs, rows) = listed(&house, &["org", "list"]).await;
    assert_eq!((orgs.len(), &rows[0]["id"]), (1, &json!(house.org)));
    let (first, second) = (house.agent("first").await, house.agent("second").await);
    house.verbs.run(&["agent", "stop", "second", "--reason", "A test."]).await;
    let (_, rows) = listed(&house, &["agent", "list"]).await;
    let status = |id: &str| rows.iter().find(|row| row["id"] == id).map(|row| &row["status"]);
    assert_eq!(status(&first.id), Some(&json!("active")));
    assert_eq!(status(&second.id), Some(&json!("stopped")));
    let org_key = house.org_key().await;
    let (lines, rows) = listed(&house, &["key", "list"]).await;
    assert_eq!(rows.len(), 3, "{lines:?}");
    let all = format!("{lines:?}{rows:?}");
    for key in [&first.key, &second.key, &org_key] {
        assert!(!all.contains(key.as_str()), "a key's text is shown once");
    }
    let (_, rows) = listed(&house, &["key", "list", "--agent", "first"]).await;
    assert_eq!((rows.len(), &rows[0]["agent"]), (1, &json!(first.id)));
    let id = rows[0]["id"].as_str().unwrap();
    house.verbs.run(&["key", "revoke", id]).await;
    let (_, rows) = listed(&house, &["key", "list", "--agent", &first.id]).await;
    assert_eq!(rows[0]["status"], "revoked");
    let lab = |rows: Vec<Value>| rows.into_iter().find(|row| row["name"] == "lab").unwrap();
    let (_, before) = listed(&house, &["connector", "list"]).await;
    assert_eq!(lab(before)["status"], "enabled");
    house.verbs.run(&["connector", "archive", "lab", "--reason", "A test."]).await;
    let (_, after) = listed(&house, &["connector", "list"]).await;
    assert_eq!(after.last().unwrap()["name"], "lab", "what is archived comes last");
    let archived = lab(after);
    assert_eq!(archived["status"], "archived");
    assert_eq!(archived["credential_fields"], json!([]), "its credential is gone");
}
