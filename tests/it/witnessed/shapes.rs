//! Writes of every shape and what others do beside them: honest ones are verified as far as the log tells
//! them whole, and nobody passes for the service.

use serde_json::{Value, json};
use tokio_postgres::NoTls;

use crate::{
    change_log::{Scene, kept, reasons},
    eventually::eventually,
    house::{House, name},
};

/// A key that changes, rows that move between partitions, and large values that an update leaves alone,
/// told whole and by the key.
const TABLES: &str = "
    create table keyed (id int primary key, note text not null);
    insert into keyed values (1, 'one'), (2, 'two'), (9, 'nine');
    create table parted (id int, region text, note text, primary key (id, region))
        partition by list (region);
    create table parted_east partition of parted for values in ('east');
    create table parted_west partition of parted for values in ('west');
    insert into parted values (1, 'east', 'moves'), (2, 'east', 'moves in secret');
    create table papers (id int primary key, title text not null, body text not null);
    alter table papers alter column body set storage external;
    insert into papers values (1, 'first', repeat('long ', 2000));
    create table sheets (like papers including all);
    insert into sheets select * from papers;
    create function rekeys_another(a int, b int) returns table (id int, note text)
        language plpgsql as $$
        #variable_conflict use_column
        begin
            update keyed set id = 90 where id = 9;
            return query update keyed k set id = b where k.id = a returning k.id, k.note;
        end $$";

/// What is called, with what, and what comes of it by the log.
const CALLS: &[(&str, &str, &str, &[&str])] = &[
    ("rekey", r#"{ "from": 1, "to": 11 }"#, "VERIFIED", &[]),
    ("rekey-two", r#"{ "from": 2, "to": 12 }"#, "MISMATCH", &["extra_rows"]),
    ("move", r#"{ "id": 1, "to": "west" }"#, "VERIFIED", &[]),
    ("retitle", r#"{ "id": 1, "title": "second" }"#, "VERIFIED", &[]),
    ("retitle-sheet", r#"{ "id": 1, "title": "second" }"#, "UNVERIFIABLE", &["no_full_identity"]),
];

fn tool(name: &str, sql: &str, args: &Value, table: &str) -> Value {
    let required: Vec<&String> = args.as_object().unwrap().keys().collect();
    json!({
        "name": name, "title": name, "description": "A tool of a test.", "side_effect": "write",
        "sql": sql, "returns": "rows", "max_rows": 2, "required_level": "L2",
        "args": {
            "type": "object", "additionalProperties": false,
            "required": required, "properties": args,
        },
        "footprint": { "tables": { table: ["update"] }, "max_rows": 2 },
    })
}

fn config(house: &House) -> Value {
    let (int, text) = (json!({ "type": "integer" }), json!({ "type": "string", "maxLength": 80 }));
    let keys = json!({ "from": int, "to": int });
    let titled = json!({ "id": int, "title": text });
    let moved = json!({ "id": int, "to": text });
    let rekey = "update keyed set id = $to where id = $from returning id, note";
    let mut two =
        tool("rekey-two", "select id, note from rekeys_another($from, $to)", &keys, "keyed");
    two["reports"] = json!({ "table": "keyed", "op": "update" });
    let retitle = |table: &str| {
        format!("update {table} set title = $title where id = $id returning id, title")
    };
    let mut config = kept(house);
    config["tools"].as_array_mut().unwrap().extend([
        tool("rekey", rekey, &keys, "keyed"),
        two,
        tool(
            "move",
            "update parted set region = $to where id = $id returning id, region",
            &moved,
            "parted",
        ),
        tool("retitle", &retitle("papers"), &titled, "papers"),
        tool("retitle-sheet", &retitle("sheets"), &titled, "sheets"),
    ]);
    config
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_of_every_shape_are_judged_by_the_log_and_nobody_passes_for_the_service() {
    let settings = "decoder: { reconcile_interval: 5s }\ngate: { wait_timeout: 25s }\n";
    let Some(house) = House::new(settings).await else { return };
    house.governed.run(TABLES).await;
    let config = config(&house);
    let scene = Scene::of(house, &config).await;
    let script = scene.witness("setup", &json!({})).await["script"].clone();
    scene.house.governed.run(script.as_str().unwrap()).await;
    scene.house.governed.run("alter table sheets replica identity default").await;
    let body = json!({ "reason": "As far as it goes.", "partial": true });
    let enabled = scene.witness("enable", &body).await;
    let lacking =
        enabled["tables"].as_array().unwrap().iter().find(|it| it["name"] == "public.sheets");
    assert_eq!(lacking.unwrap()["missing"], json!(["identity_not_full"]));
    assert_eq!(scene.witnessed("kept.note").await["witness"]["verdict"], "VERIFIED");

    for (tool, args, verdict, why) in CALLS {
        let args = serde_json::from_str(args).unwrap();
        let action = scene.caller.executed(&format!("kept.{tool}"), args).await;
        let witness = &action["witness"];
        assert_eq!(witness["verdict"], *verdict, "{tool}: {witness}");
        for reason in *why {
            assert!(reasons(&action).contains(reason), "{tool}: {witness}");
        }
    }
    alters_in_flight(&scene).await;
    forges(&scene).await;
    scene.disable().await;
}

/// Columns come and go while calls are under way: whatever is said of those, none is a lie.
async fn alters_in_flight(scene: &Scene) {
    let one = async || {
        let answer = scene.caller.call("kept.note", json!({ "mark": name() })).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let action = answer.json();
        assert_ne!(action["witness"]["verdict"], "MISMATCH", "{}", action["witness"]);
    };
    let calls = async || {
        for _ in 0..4 {
            one().await;
        }
    };
    let altering = async {
        for sql in ["add column extra text default 'more'", "drop column extra"] {
            scene.house.governed.run(&format!("alter table lab_notes {sql}")).await;
            one().await;
        }
    };
    tokio::join!(calls(), calls(), altering);
    let after = scene.caller.executed("kept.note", json!({ "mark": name() })).await;
    assert_eq!(after["witness"]["verdict"], "VERIFIED", "{}", after["witness"]);
}

/// Somebody has the password of the tools' role, and the ledger's owner writes past the log.
async fn forges(scene: &Scene) {
    let governed = &scene.house.governed;
    let url = governed.url("svc_conn", "conn-password");
    let (thief, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(async move { drop(connection.await) });
    let honest = scene.caller.executed("kept.note", json!({ "mark": name() })).await;
    let id = honest["id"].as_str().unwrap();
    thief.execute("insert into lab_notes (mark) values ('past the service')", &[]).await.unwrap();
    let marker = json!({ "act": id, "kind": "act", "v": 1 }).to_string();
    thief.execute("select pg_logical_emit_message(true, 'service', $1)", &[&marker]).await.unwrap();
    // The row of a run is there once.
    let begin = "select service.begin_action($1, $2, 'kept.note', 'digest', 'nonce', 'mac', $3)";
    let org = &scene.house.org;
    assert!(thief.execute(begin, &[&id, org, &marker]).await.is_err());
    let invented = "act_01h2xcejqtf2nbrexx3vqjhp41";
    thief.execute(begin, &[&invented, org, &marker]).await.unwrap();
    let kinds = ["witness.unattributed_write", "witness.forged_marker"];
    eventually(async || {
        let told = scene.told("witness.").await;
        kinds.iter().all(|kind| told.iter().any(|it| it == kind)).then_some(())
    })
    .await;
    // It is at most one of each in a minute, however many transactions there were.
    let told = scene.told("witness.").await;
    for kind in kinds {
        assert!(told.iter().filter(|it| *it == kind).count() <= 2, "{told:?}");
    }
    let path = format!("/v1/actions/{id}");
    assert_eq!(scene.caller.read(&path).await["witness"], honest["witness"]);
    let next = scene.caller.executed("kept.note", json!({ "mark": name() })).await;
    assert_eq!(next["witness"]["verdict"], "VERIFIED", "{}", next["witness"]);
}
