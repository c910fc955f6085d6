//! A pattern that could be tried in very many ways, and is not.

use serde_json::json;

use crate::calls::caller;

#[tokio::test]
async fn a_glob_that_could_be_tried_in_very_many_ways_is_not() {
    let Some((_, caller)) = caller().await else { return };
    let tool = format!("{}.b", "a".repeat(190));
    caller.call(&tool, json!({})).await.is(404);
    let began = std::time::Instant::now();
    for glob in ["*a*a*b", "*a*a*", "a*a*a*", "*a*a*c"] {
        let found = caller.get(&format!("/v1/actions?tool={glob}")).await.ok();
        let expected = usize::from(glob != "*a*a*c");
        assert_eq!(found["data"].as_array().unwrap().len(), expected, "{glob}");
    }
    for escaped in ["%25", "_", "%5c", "a%25b"] {
        let found = caller.get(&format!("/v1/actions?tool={escaped}")).await;
        let nothing = found.status == 400 || found.json()["data"] == json!([]);
        assert!(nothing, "{escaped} is no wildcard: {found:?}");
    }
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
}
