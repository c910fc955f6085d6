//! Whatever can hide a transaction from the log: calls of that time are never verified, and others are once
//! the log is read on, with a new slot where the old one is lost. What became of the log is told once.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::{
    change_log::{Scene, credential, kept, reasons},
    eventually::eventually,
    house::{House, OwnPostgres, Plan, Request, Site, call, name},
    upkeep,
};

const SETTINGS: &str = "
decoder: { heartbeat_interval: 1s, heartbeat_deadline: 10s, reconcile_interval: 5s }
gate: { wait_timeout: 25s }
";
/// So much log of a governed database may a slot hold back here, in MiB.
const LAG_ALERT: &str = "40";

/// A scene whose governed database is on a PostgreSQL of its own.
struct Stage {
    // Dropped in this order: the service, then what it stands on.
    scene: Scene,
    postgres: OwnPostgres,
}

impl Stage {
    async fn new() -> Option<Self> {
        let common = Site::common().await?;
        let postgres = OwnPostgres::new()?;
        let own = Site::prepare(postgres.cluster.clone()).await;
        let plan = Plan { control: common, governed: &own, settings: SETTINGS };
        let mut house = House::build(plan).await;
        house.verbs = house.verbs.with("SERVICE_SLOT_LAG_ALERT_MB", LAG_ALERT);
        let config = kept(&house);
        let scene = Scene::of(house, &config).await;
        scene.enable().await;
        Some(Self { scene, postgres })
    }

    async fn run(&self, sql: &str) {
        self.scene.house.governed.run(sql).await;
    }

    /// Keeps the service from reading the log, and lets it again.
    async fn away(&self) {
        self.run("alter role svc_decoder nologin").await;
        let end = "select pg_terminate_backend(pid) from pg_stat_activity where usename =";
        self.run(&format!("{end} 'svc_decoder'")).await;
    }

    async fn back(&self) {
        self.run("alter role svc_decoder login").await;
    }

    /// A call that ran and whose evidence is not in.
    async fn waits(&self) -> String {
        let mut body = call("kept.note", json!({ "mark": name() }));
        body["wait"] = json!(0);
        let begun = self.scene.caller.send(Request::post("/v1/actions", &body)).await.is(202);
        let path = format!("/v1/actions/{}", begun["id"].as_str().unwrap());
        eventually(async || {
            let action = self.scene.org.get(&path).await.ok();
            (action["state"] == "witnessing").then_some(())
        })
        .await;
        path
    }

    /// The call ends without a proof, for this reason.
    async fn ends_unproved(&self, path: &str, reason: &str) {
        let action = eventually(async || {
            let action = self.scene.org.get(path).await.ok();
            (action["state"] == "sealed").then_some(action)
        })
        .await;
        assert_eq!(action["witness"]["verdict"], "UNVERIFIABLE", "{reason}: {}", action["witness"]);
        assert!(reasons(&action).contains(&reason), "{reason}: {}", action["witness"]);
    }

    /// A call that runs once its database is there, and what is said of it.
    async fn executed(&self) -> Value {
        eventually(async || {
            let answer = self.scene.caller.call("kept.note", json!({ "mark": name() })).await;
            (answer.status == 200)
                .then(|| answer.json())
                .filter(|action| action["execution"]["status"] == "succeeded")
        })
        .await
    }

    /// A call that is verified, at once where nothing is in the way.
    async fn verified(&self, after: &str) {
        let action = eventually(async || {
            let action = self.executed().await;
            let early = ["decoder_off", "evidence_gap", "slot_invalidated"];
            (!reasons(&action).iter().any(|reason| early.contains(reason))).then_some(action)
        })
        .await;
        let (witness, log) = (&action["witness"], self.scene.service.log());
        assert_eq!(witness["verdict"], "VERIFIED", "after {after}: {witness}\n{log}");
    }

    /// The slot is told to be lost for this reason; meanwhile nothing is proved, and a new one is made.
    async fn is_lost_and_recreated(&self, cause: &str) {
        let slot = eventually(async || {
            let slot = self.scene.slot().await;
            (slot["state"] == "invalidated").then_some(slot)
        })
        .await;
        assert_eq!(slot["cause"], cause);
        let meanwhile = self.executed().await;
        assert_eq!(meanwhile["witness"]["verdict"], "UNVERIFIABLE", "{}", meanwhile["witness"]);
        assert!(reasons(&meanwhile).contains(&cause), "{}", meanwhile["witness"]);
        upkeep::until(&self.scene.service, "change_logs", "degraded").await;
        let recreated = self.scene.recreate_slot().await;
        assert_eq!(recreated["slot"]["state"], "setup", "{recreated}");
        eventually(async || (self.scene.slot().await["state"] == "streaming").then_some(())).await;
    }

    async fn is_told(&self, kinds: &[&str]) {
        let told = eventually(async || {
            let told = self.scene.told("witness.slot").await;
            (told.len() >= kinds.len()).then_some(told)
        })
        .await;
        assert_eq!(told, kinds, "{}", self.scene.service.log());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_is_lost_proves_nothing_until_a_new_one_is_asked_for() {
    let Some(mut stage) = Stage::new().await else { return };
    stage.verified("it was enabled").await;
    let slot = stage.scene.slot_name().await;

    // Dropped.
    stage.away().await;
    let call = stage.waits().await;
    stage.run(&format!("select pg_drop_replication_slot('{slot}')")).await;
    stage.back().await;
    stage.ends_unproved(&call, "slot_invalidated").await;
    stage.is_lost_and_recreated("slot_invalidated").await;
    stage.verified("it was dropped").await;
    let mut told = vec!["witness.slot_invalidated", "witness.slot_recovered"];
    stage.is_told(&told).await;

    // Its log is given up by the server.
    stage.away().await;
    let call = stage.waits().await;
    stage.run("alter system set max_slot_wal_keep_size = '1MB'").await;
    stage.run("select pg_reload_conf()").await;
    let lost = format!(
        "select count(*) from pg_replication_slots where slot_name = '{slot}' and wal_status = 'lost'"
    );
    eventually(async || {
        stage
            .run("create table if not exists filler (id int); insert into filler values (1)")
            .await;
        stage.run("select pg_switch_wal()").await;
        stage.run("checkpoint").await;
        (stage.scene.house.governed.count(&lost).await == 1).then_some(())
    })
    .await;
    stage.run("alter system reset max_slot_wal_keep_size").await;
    stage.run("select pg_reload_conf()").await;
    stage.back().await;
    stage.ends_unproved(&call, "slot_invalidated").await;
    stage.is_lost_and_recreated("slot_invalidated").await;
    stage.verified("its log was given up").await;
    told.extend(["witness.slot_invalidated", "witness.slot_recovered"]);
    stage.is_told(&told).await;

    // A standby takes over, which has no slot and did not hear of everything.
    block_in_place(|| stage.postgres.make_standby());
    stage.verified("a standby was made").await;
    block_in_place(|| stage.postgres.fail_over());
    stage.is_lost_and_recreated("evidence_gap").await;
    stage.verified("a standby took over").await;
    told.extend(["witness.slot_invalidated", "witness.slot_recovered"]);
    stage.is_told(&told).await;
    stage.scene.disable().await;
    assert_eq!(stage.scene.house.broken_invariants().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_something_was_hidden_from_is_followed_on_and_what_was_hidden_is_not_proved() {
    let Some(mut stage) = Stage::new().await else { return };
    stage.verified("it was enabled").await;
    let slot = stage.scene.slot_name().await;
    let mut told = Vec::new();
    let gap = ["witness.slot_invalidated", "witness.slot_recovered"];

    // Somebody else advances the slot.
    stage.away().await;
    let call = stage.waits().await;
    let advance =
        format!("select pg_replication_slot_advance('{slot}', pg_current_wal_flush_lsn())");
    stage.run(&advance).await;
    stage.back().await;
    stage.ends_unproved(&call, "slot_moved").await;
    stage.verified("somebody advanced the slot").await;
    told.extend(gap);
    stage.is_told(&told).await;

    // A table is taken out of the publication, written to, and put back.
    stage.away().await;
    let call = stage.waits().await;
    stage.run(&format!("alter publication {slot} drop table lab_notes")).await;
    stage.run("insert into lab_notes (mark) values ('hidden')").await;
    stage.run(&format!("alter publication {slot} add table lab_notes")).await;
    stage.back().await;
    stage.ends_unproved(&call, "publication_filtered").await;
    stage.verified("the publication was changed and changed back").await;
    told.extend(gap);
    stage.is_told(&told).await;

    // A copy of the server's files is put back, with its slot, and the log goes on where it was then.
    block_in_place(|| stage.postgres.back_up());
    stage.verified("a backup was made").await;
    stage.away().await;
    let call = stage.waits().await;
    // So long that the clocks cannot differ as to which of the two servers it ran on.
    tokio::time::sleep(Duration::from_secs(3)).await;
    block_in_place(|| stage.postgres.restore());
    stage.ends_unproved(&call, "evidence_gap").await;
    stage.verified("a backup was put back").await;
    told.extend(gap);
    stage.is_told(&told).await;

    is_stalled(&stage, &mut told).await;
    is_stalled_without_its_password(&stage, &mut told).await;
    lags(&stage, &mut told).await;
    // Others wrote too, of whom is told seldom.
    assert!(stage.scene.told("witness.unattributed").await.len() <= 3);
    leaves_no_slot_behind(&stage).await;
}

/// The connector is not archived before its slot is gone, which only its credential can remove.
async fn leaves_no_slot_behind(stage: &Stage) {
    let path = format!("/v1/connectors/{}", stage.scene.connector);
    let reason = json!({ "reason": "It was a test." });
    let archive = || Request::post(&path, &reason).by(http::Method::DELETE);
    stage.scene.org.send(archive()).await.error(409, "conflict", None);
    stage.away().await;
    stage.scene.witness("disable", &reason).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    stage.scene.org.send(archive()).await.error(409, "conflict", None);
    assert_eq!(stage.scene.slots().await, 1);
    stage.back().await;
    eventually(async || (stage.scene.slots().await == 0).then_some(())).await;
    eventually(async || (stage.scene.org.send(archive()).await.status == 200).then_some(())).await;
}

/// Nobody gets to read the log for a while: it is stalled, and nothing is lost.
async fn is_stalled(stage: &Stage, told: &mut Vec<&'static str>) {
    stage.away().await;
    upkeep::until(&stage.scene.service, "change_logs", "degraded").await;
    told.push("witness.slot_stalled");
    stage.is_told(told).await;
    let call = stage.waits().await;
    stage.back().await;
    let ended = eventually(async || {
        let action = stage.scene.org.get(&call).await.ok();
        (action["state"] == "sealed").then_some(action)
    })
    .await;
    assert_eq!(ended["witness"]["verdict"], "VERIFIED", "{}", ended["witness"]);
    told.push("witness.slot_recovered");
    stage.is_told(told).await;
}

/// Somebody takes away the password that the log is read with.
async fn is_stalled_without_its_password(stage: &Stage, told: &mut Vec<&'static str>) {
    let path = format!("/v1/connectors/{}/credential", stage.scene.connector);
    let put = async |fields: &Value| {
        let put = Request::post(&path, &json!({ "fields": fields })).by(http::Method::PUT);
        stage.scene.org.send(put).await.ok();
    };
    let mut without = credential();
    without.as_object_mut().unwrap().remove("decoder_password");
    put(&without).await;
    told.push("witness.slot_stalled");
    stage.is_told(told).await;
    put(&credential()).await;
    told.push("witness.slot_recovered");
    stage.is_told(told).await;
}

/// A transaction that somebody forgot holds the log back; calls beside it are verified all the same.
async fn lags(stage: &Stage, told: &mut Vec<&'static str>) {
    let forgotten = stage.scene.house.governed.client().await;
    forgotten
        .batch_execute("begin; insert into lab_notes (mark) values ('forgotten')")
        .await
        .unwrap();
    stage
        .run("create table bulk as select repeat('x', 1000) as text from generate_series(1, 60000)")
        .await;
    stage.verified("a transaction was forgotten").await;
    told.push("witness.slot_lagging");
    stage.is_told(told).await;
    upkeep::until(&stage.scene.service, "change_logs", "degraded").await;
    forgotten.batch_execute("commit").await.unwrap();
    eventually(async || {
        stage.run("checkpoint").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        (stage.scene.told("witness.slot").await.len() > told.len()).then_some(())
    })
    .await;
    told.push("witness.slot_recovered");
    stage.is_told(told).await;
    upkeep::until(&stage.scene.service, "change_logs", "ok").await;
}
