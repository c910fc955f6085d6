//! PostgreSQL stopped, paused and back: nothing runs without its record, nothing hangs, nothing
//! that ran is lost.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    calls::assert_sealed,
    eventually::until,
    house::{Answer, Caller, House, OwnPostgres, Plan, Request, Service, Site, call, name},
};

/// Longer than the service may take to say that it cannot answer.
const SAYS_SO_WITHIN: Duration = Duration::from_secs(2);
/// How soon after its database it must be well again.
const WELL_WITHIN: Duration = Duration::from_secs(5);

/// A house whose control database is on a PostgreSQL of its own.
struct Stage {
    // Dropped in this order: the service, then what it stands on.
    service: Service,
    house: House,
    caller: Caller,
    postgres: OwnPostgres,
}

impl Stage {
    async fn new() -> Option<Self> {
        let common = Site::common().await?;
        let postgres = OwnPostgres::new()?;
        let own = Site::prepare(postgres.cluster.clone()).await;
        let plan = Plan { control: &own, governed: common, settings: "" };
        let house = House::build(plan).await;
        let service = house.serve().await;
        let caller = service.caller(&house.agent("patient").await.key);
        Some(Self { service, house, caller, postgres })
    }

    async fn is_well(&self) -> bool {
        self.caller.get("/v1/health").await.status == 200
    }

    /// Waits until the service is well and fails if that takes too long.
    async fn recovered(&self) {
        let began = Instant::now();
        while !self.is_well().await {
            assert!(began.elapsed() < WELL_WITHIN, "not well after {:?}", began.elapsed());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // Well for its callers too, not for health alone.
        let action = self.caller.executed("lab.sleep", json!({ "milliseconds": 0 })).await;
        assert_sealed(&action, "executed");
        assert!(began.elapsed() < WELL_WITHIN, "well only after {:?}", began.elapsed());
    }

    /// Tries everything that needs the record and returns the marks that must never be seen.
    async fn refuses_everything(&self, within: Duration) -> Vec<String> {
        let mut marks = Vec::new();
        for _ in 0..3 {
            let mark = name();
            let body = call("lab.note", json!({ "mark": mark }));
            let send = Request::post("/v1/actions", &body);
            for request in [send.clone(), send.keyed(&mark), Request::get("/v1/actions")] {
                unavailable(&self.caller, request, within).await;
            }
            marks.push(mark);
        }
        marks
    }

    /// The lines of the log about the control database itself.
    fn told(&self) -> Vec<String> {
        let about = |line: &&str| line.contains("the control database is");
        self.service.log().lines().filter(about).map(str::to_owned).collect()
    }

    async fn none_ran(&self, marks: &[String]) {
        for mark in marks {
            assert_eq!(self.house.notes(mark).await, 0, "{mark} ran without a record");
        }
    }
}

/// Sends a request that must be answered 503 in time.
async fn unavailable(caller: &Caller, request: Request, within: Duration) -> Answer {
    let began = Instant::now();
    let answer = caller.send(request).await;
    assert!(began.elapsed() < within, "after {:?}: {answer:?}", began.elapsed());
    answer.error(503, "service_unavailable", None);
    assert_eq!(answer.header("retry-after"), Some("1"));
    answer
}

#[tokio::test]
async fn without_its_database_the_service_says_so_and_runs_nothing_and_is_well_soon_after() {
    let Some(mut stage) = Stage::new().await else { return };
    stage.recovered().await;
    stage.postgres.stop();
    let marks = stage.refuses_everything(SAYS_SO_WITHIN).await;
    // Health looks once a second at most.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let health = stage.caller.get("/v1/health").await;
    assert_eq!(health.is(503)["status"], "down");
    // It is told once that the database went, and once that it is back.
    until("its going is told", async || stage.told().len() == 1).await;
    stage.postgres.start();
    stage.recovered().await;
    stage.none_ran(&marks).await;
    stage.house.sound_log(&stage.caller).await;
    until("its return is told", async || stage.told().len() == 2).await;
    let (place, lines) = (format!("127.0.0.1:{}", stage.postgres.cluster.port), stage.told());
    assert!(lines[0].contains("ERROR") && lines[0].contains(&place), "{lines:?}");
    assert!(lines[1].contains("INFO") && lines[1].contains("is available again"), "{lines:?}");
}

#[tokio::test]
async fn a_start_gives_a_database_up_that_does_not_come() {
    let Some(mut stage) = Stage::new().await else { return };
    stage.postgres.stop();
    let output = stage.house.verbs.output(&["--config", "settings.yaml", "serve"]).await;
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{said}");
    let place = format!("`127.0.0.1:{}` (`SERVICE_DATABASE_URL`)", stage.postgres.cluster.port);
    let last = said.lines().last().unwrap_or_default();
    assert!(last.contains("gave up after 30s") && last.contains(&place), "{said}");
    stage.postgres.start();
}

#[tokio::test]
async fn a_database_that_hangs_is_given_up_in_bounded_time() {
    let Some(stage) = Stage::new().await else { return };
    stage.recovered().await;
    stage.postgres.pause();
    let marks = stage.refuses_everything(Duration::from_secs(5)).await;
    stage.postgres.resume();
    stage.recovered().await;
    stage.none_ran(&marks).await;
    stage.house.sound_log(&stage.caller).await;
}

#[tokio::test]
async fn a_run_that_ends_while_its_record_is_away_is_sealed_when_it_is_back() {
    let Some(mut stage) = Stage::new().await else { return };
    let mark = name();
    let mut body = call("lab.slow-note", json!({ "mark": mark, "milliseconds": 1500 }));
    body["wait"] = json!(0.1);
    let running = stage.caller.send(Request::post("/v1/actions", &body)).await.is(202);
    stage.postgres.stop();
    while stage.house.notes(&mark).await == 0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // It has run; for a while nobody can write that down.
    tokio::time::sleep(Duration::from_millis(500)).await;
    stage.postgres.start();
    stage.recovered().await;
    let path = format!("/v1/actions/{}?wait=20", running["id"].as_str().unwrap());
    let sealed = stage.caller.get(&path).await.ok();
    assert_sealed(&sealed, "executed");
    assert_eq!(sealed["execution"]["status"], "succeeded");
    assert!(sealed["result"]["id"].is_number(), "its result was kept: {sealed}");
    assert_eq!(stage.house.notes(&mark).await, 1);
    assert!(!stage.service.log().contains("panicked"));
}

#[tokio::test]
async fn a_governed_database_that_hangs_costs_one_failed_call_and_nothing_else() {
    let Some(common) = Site::common().await else { return };
    let Some(postgres) = OwnPostgres::new() else { return };
    let own = Site::prepare(postgres.cluster.clone()).await;
    let settings = "gate: { execute_timeout: 1s }\n";
    let plan = Plan { control: common, governed: &own, settings };
    let house = House::build(plan).await;
    let service = house.serve().await;
    let caller = service.caller(&house.agent("patient").await.key);
    caller.executed("lab.note", json!({ "mark": "before" })).await;
    postgres.pause();
    let began = Instant::now();
    let lost = caller.executed("lab.note", json!({ "mark": "lost" })).await;
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_sealed(&lost, "failed");
    let code = &lost["execution"]["error_code"];
    assert!(*code == "tool_timeout" || *code == "connector_unreachable", "{code}");
    // What needs no database is not held up.
    assert_sealed(&caller.executed("service.whoami", json!({})).await, "executed");
    postgres.resume();
    let after = caller.executed("lab.note", json!({ "mark": "after" })).await;
    assert_sealed(&after, "executed");
    // The database has had the time to come to the lost call, and has not applied it.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(house.notes("lost").await, 0, "`failed` means certainly not applied");
    let ids: Vec<Value> = [lost, after].into_iter().map(|action| action["deed"].clone()).collect();
    let log = house.sound_log(&caller).await;
    for id in ids {
        assert!(log.iter().any(|deed| deed.json()["id"] == id));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_called_while_a_database_that_was_never_met_hung_is_a_sealed_failure() {
    let Some(common) = Site::common().await else { return };
    let Some(postgres) = OwnPostgres::new() else { return };
    let own = Site::prepare(postgres.cluster.clone()).await;
    let house = House::build(Plan { control: common, governed: &own, settings: "" }).await;
    let caller_key = house.agent("patient").await.key;
    // It hangs before the service has ever seen it, and was connected by a version that noted nothing
    // of its tools, so that nothing is known of them but what their config declares.
    house.control.run("update connector set record = (record::jsonb - 'tools')::text").await;
    postgres.pause();
    let service = house.serve().await;
    let caller = service.caller(&caller_key);
    let calls = (0..20).map(|_| {
        let caller = caller.clone();
        tokio::spawn(async move { caller.executed("lab.note", json!({ "mark": "lost" })).await })
    });
    for call in calls.collect::<Vec<_>>() {
        let lost = call.await.unwrap();
        assert_sealed(&lost, "failed");
        assert_eq!(lost["execution"]["error_code"], "connector_unreachable");
    }
    postgres.resume();
    let deadline = Instant::now() + Duration::from_secs(30);
    while caller.executed("lab.note", json!({ "mark": "after" })).await["status"] != "executed" {
        assert!(Instant::now() < deadline, "the database is back, and nobody sees it");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(house.notes("lost").await, 0, "`failed` means certainly not applied");
    assert_eq!(house.notes("after").await, 1);
}
