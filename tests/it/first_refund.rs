//! The first hour with the demo, in a real browser: from the one link that it prints to the refund
//! that waits, what that would change, what it changed, and that nothing is called verified that was
//! not.

use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::{Command, Output},
};

use serde_json::json;

use crate::{
    house::{OwnPostgres, binaries, name, program},
    up::Up,
};

/// The one link into the Console that the demo prints.
fn link(said: &str) -> &str {
    let lines = said.lines().map(str::trim);
    let found: Vec<_> = lines.filter(|line| line.contains("/login?")).collect();
    let [one] = found.as_slice() else { panic!("one link: {said}") };
    one
}

#[tokio::test]
async fn the_demos_refund_is_paid_and_its_row_is_shown_before_and_after() {
    let names = ["CHANCERY_NODE", "CHANCERY_CHROMIUM", "CHANCERY_NODE_LIBRARIES"];
    let [Some(node), Some(browser), Some(libraries)] = names.map(program) else { return };
    if binaries().is_none() {
        return;
    }
    let Some(postgres) = OwnPostgres::new() else { return };
    let folder = std::env::temp_dir().join(name());
    let data = folder.to_str().unwrap();
    // The links that it prints lead somewhere.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let demo = Up::start(&postgres, data, &["--port", &free]).await;
    assert!(!demo.said.contains("VERIFIED"), "people are told words: {}", demo.said);
    assert!(demo.said.contains("executed: Reported at L0"), "{}", demo.said);
    assert!(demo.said.contains("executed: Verified at L2"), "{}", demo.said);
    let case = json!({
        "link": link(&demo.said),
        "email": "you@demo.localhost",
        "outbox": folder.join("outbox"),
        "key": demo.key(),
        "libraries": libraries,
    });
    // While it waits, the demo finds it again and asks for no other.
    demo.stop().await;
    let demo = Up::start(&postgres, data, &["--port", &free]).await;
    assert_eq!(link(&demo.said), case["link"]);
    let shop = postgres.cluster.database("shop");
    let refunded = "select count(*) from refunds where order_id = 2 and amount = 20.00";
    assert_eq!(shop.count(refunded).await, 0);
    let file = folder.join("case.json");
    fs::write(&file, case.to_string()).unwrap();
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/first_refund/drive.mjs");
    let mut command = Command::new(node);
    command.arg(driver).arg(browser).arg(file);
    let ended = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let Output { status, stdout, stderr } = ended;
    let seen = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{seen}{}", String::from_utf8_lossy(&stderr));
    assert_eq!(shop.count(refunded).await, 1, "the refund was really paid");
    println!("{seen}");
    let typed = seen.split("typed ").nth(1).unwrap().split_whitespace().next().unwrap();
    let printed = format!("Your sign-in code: {typed}\n");
    assert!(demo.said_since().contains(&printed), "{} lacks {printed}", demo.said_since());
    demo.stop().await;
    // The next demo asks for another order's, since of this one too little is left.
    let again = Up::start(&postgres, data, &["--port", &free]).await;
    let next = link(&again.said);
    assert!(next.contains("/login?email=you@demo.localhost&next=/app/approvals/apr_"), "{next}");
    assert!(!next.contains(case["link"].as_str().unwrap().rsplit('/').next().unwrap()));
    again.stop().await;
    fs::remove_dir_all(folder).unwrap();
}
