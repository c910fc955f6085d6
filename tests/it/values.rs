//! Values between JSON and the governed database: both ways without loss.

use serde_json::{Value, json};

use crate::calls::caller;

#[tokio::test]
async fn every_type_comes_back_without_loss() {
    let Some((_, caller)) = caller().await else { return };
    let action = caller.executed("lab.values", json!({})).await;
    let expected = json!({
        "id": "9007199254740993",
        "amount": "123456789012345678901234567890.123456789012345678900",
        "moment": "2024-02-29T18:29:59.123456Z",
        // JSON with a number that a double cannot hold stays the text it is.
        "document": "{\"big\": 12345678901234567890, \"deep\": [1, [2, null]], \
                     \"text\": \"\u{e9} \\\" \\\\\", \"precise\": 0.1000000000000000055}",
        "numbers": ["-9223372036854775808", null, "9223372036854775807"],
        "texts": ["plain", "with \"quotes\"", "", null, "NULL"],
        "matrix": [[1, 2], [3, 4]],
        "bytes": "AP8Q",
        "ratio": 0.1,
        "day": "2024-02-29",
        "tag": "00112233-4455-6677-8899-aabbccddeeff",
        "nothing": null,
    });
    assert_eq!(action["execution"]["result"], expected);
    assert_eq!(
        caller.detail(&action).await["result"],
        expected,
        "what was sealed is what was told"
    );
}

#[tokio::test]
async fn arguments_arrive_as_they_were_sent() {
    let Some((_, caller)) = caller().await else { return };
    let args = json!({
        "number": "98765432109876543210.0123456789",
        "moment": "2024-02-29T23:59:59.123456+05:30",
        "json": { "a": [1, "two", null, { "b": 0.5 }], "\u{e9}": "'; drop table orders; --" },
        "list": ["9223372036854775807", null, -1],
        "bytes": "AP8Q",
        "nothing": null,
    });
    let action = caller.executed("lab.echo", args.clone()).await;
    let result = &action["execution"]["result"];
    assert_eq!(result["number"], args["number"]);
    assert_eq!(result["moment"], "2024-02-29T18:29:59.123456Z");
    assert_eq!(result["json"], args["json"]);
    assert_eq!(result["list"], json!(["9223372036854775807", null, -1]));
    assert_eq!(result["bytes"], "AP8Q");
    assert_eq!(result["nothing"], Value::Null);
    assert_eq!(caller.detail(&action).await["request"], args);
}

#[tokio::test]
async fn the_id_that_one_tool_returns_is_an_argument_of_the_next() {
    let Some((_, caller)) = caller().await else { return };
    let found = caller.executed("shop.orders.search", json!({ "customer": 17 })).await;
    let order = &found["execution"]["result"]["rows"][0];
    assert_eq!(order["customer_id"], 17);
    let next = json!({ "customer": order["customer_id"] });
    let customer = caller.executed("shop.customers.read", next).await;
    assert_eq!(customer["execution"]["result"]["id"], order["customer_id"]);
    let next = json!({ "order": order["id"] });
    let read = caller.executed("shop.orders.read", next).await;
    assert_eq!(read["execution"]["result"]["total"], order["total"]);
}

#[tokio::test]
async fn a_statement_in_an_argument_stays_a_text() {
    let Some((shared, caller)) = caller().await else { return };
    let mark = "x'); delete from orders; --";
    let action = caller.executed("lab.note", json!({ "mark": mark })).await;
    assert_eq!(action["execution"]["result"]["mark"], mark);
    assert_eq!(shared.house.notes(mark).await, 1);
    let search = json!({ "text": "%_\\' or true --" });
    let found = caller.executed("shop.customers.search", search).await;
    assert_eq!(found["execution"]["result"], json!({ "rows": [] }));
}
