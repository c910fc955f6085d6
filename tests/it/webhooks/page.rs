//! `docs/webhooks.md` as somebody does it who has nothing yet: its own text, in one shell. What its
//! receivers verify with are the libraries of Standard Webhooks itself.

use crate::{connectors::printed, house::House, house::program};

const PAGE: &str = include_str!("../../../docs/webhooks.md");

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_own_commands_end_in_deliveries_that_the_standards_libraries_verify() {
    let named = ["CHANCERY_PYTHON", "CHANCERY_NODE", "CHANCERY_NODE_LIBRARIES"].map(program);
    let [Some(python), Some(node), Some(libraries)] = named else { return };
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    std::os::unix::fs::symlink(libraries, house.folder().join("node_modules")).unwrap();
    let beside = |program: &std::path::Path| program.parent().unwrap().display().to_string();
    let mut command = tokio::process::Command::new("bash");
    command.args(["-euo", "pipefail", "-c", &printed(PAGE)]).current_dir(house.folder());
    command.env_clear().kill_on_drop(true);
    command.env("PATH", format!("{}:{}:/usr/bin:/bin", beside(&python), beside(&node)));
    command.env("CHANCERY", format!("http://{}", service.address));
    command.env("ORG_KEY", house.org_key().await).env("PORT", free.to_string());
    command.env("HOOK", format!("http://127.0.0.1:{free}/hook"));
    let output = tokio::time::timeout(std::time::Duration::from_mins(1), command.output());
    let output = output.await.expect("it ends").unwrap();
    let (said, failed) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{failed}");
    let told = |beginning: &str| -> Vec<&str> {
        said.lines().filter_map(|line| line.strip_prefix(beginning)).collect()
    };
    let (python, node) =
        (told("python verified webhook.ping evt_"), told("node verified webhook.ping evt_"));
    assert_eq!((python.len(), node.len()), (1, 3), "{said}\n{failed}");
    // Sent again, it is the same event; while the secret is rolled both sign.
    assert_eq!(python[0], node[0]);
    assert_eq!(told("python refused:").len(), 1, "{said}");
    assert_eq!(told("forged: "), ["400"]);
    assert_eq!(told("node refused:"), Vec::<&str>::new());
    assert_eq!(said.matches(r#""status":"delivered""#).count(), 4, "{said}");
    assert!(said.contains(r#""object":"webhook_recovery""#), "{said}");
}
