//! What the runbook says of a record that has grown old, run as it stands there.

use crate::calls::note;
use crate::house::House;

const RUNBOOK: &str = include_str!("../../docs/runbook.md");

/// The commands of the chapter, one by one.
fn commands() -> Vec<Vec<&'static str>> {
    let (_, chapter) = RUNBOOK.split_once("## The record has grown old").unwrap();
    let blocks = chapter.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines);
    lines.map(|line| line.split(' ').collect()).collect()
}

#[tokio::test]
async fn what_the_runbook_says_of_an_old_record_runs_as_it_stands() {
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let agent = house.agent("old").await;
    note(&service.caller(&agent.key), "before").await;
    let commands = commands();
    assert_eq!(commands.len(), 5, "{commands:?}");
    let mut said = String::new();
    for command in commands {
        assert_eq!(command.first(), Some(&"chancery"));
        said += &house.verbs.run(&command[1..]).await;
    }
    assert_eq!(said.matches("checkpoints, 0 would go").count(), 2, "{said}");
    assert_eq!(said.matches("checkpoints, 0 went").count(), 2, "{said}");
    assert_eq!(said.matches("  0 deeds were moved\n").count(), 2, "{said}");
    let young = ["archive", "past", "--before", "2099-01-01T00:00:00.000Z"];
    let refused = house.verbs.output(&young).await;
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("younger than 32 days"));
    note(&service.caller(&agent.key), "after").await;
}
