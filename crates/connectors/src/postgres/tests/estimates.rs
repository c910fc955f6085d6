//! What a tool says that a call would do.

use serde_json::{Value, json};
use tokio::time::{Instant, pause, resume};
use tool::{Estimate, Estimated};

use super::world::{LIMIT, World, write_tool};

fn tool(name: &str, estimate_sql: &str) -> Value {
    let sql = "update items set stock = 0 where id = $most";
    let mut tool = write_tool(name, sql, json!({"most": {"type": "integer"}}), "count");
    tool["estimate_sql"] = json!(estimate_sql);
    tool
}

#[tokio::test]
async fn a_tool_tells_what_a_call_would_do_and_does_nothing() {
    let Some(world) = World::new(json!([
        tool(
            "told",
            "select count(*)::int4 as rows, $most::int4 as most from generate_series(1, 3)"
        ),
        tool("slow", "select 1 as rows from pg_sleep(60) where $most::int4 = 1"),
        tool("many", "select n from generate_series(1, 101) as n where $most::int4 = 1"),
        tool("wrong", "select 1 / ($most::int4 - 1) as rows"),
    ]))
    .await
    else {
        return;
    };
    let args = json!({"most": 1});
    let told = world.tool("told").await.estimate(&args, LIMIT).await;
    let rows = vec![json!({"rows": 3, "most": 1})];
    assert_eq!(told, Estimate::Given(Estimated { rows, is_whole: true }));
    let slow = world.tool("slow").await;
    // Its limit passes on a paused clock, and the statement still sleeps.
    let asleep = async {
        world.until_asleep(true).await;
        pause();
        Instant::now()
    };
    let (slow, paused) = tokio::join!(slow.estimate(&args, LIMIT), asleep);
    assert_eq!(slow, Estimate::Late);
    assert!(paused.elapsed() <= LIMIT, "{:?}", paused.elapsed());
    resume();
    let many = world.tool("many").await.estimate(&args, LIMIT).await;
    let Estimate::Given(Estimated { rows, is_whole }) = many else { panic!("{many:?}") };
    assert_eq!((rows.len(), is_whole), (100, false), "the first hundred, and that there are more");
    // The session is as good as before for the next one.
    assert_eq!(world.tool("wrong").await.estimate(&args, LIMIT).await, Estimate::Failed);
    let told = world.tool("told").await.estimate(&args, LIMIT).await;
    assert!(matches!(told, Estimate::Given(_)), "{told:?}");
    world.end().await;
}
