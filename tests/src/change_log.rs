//! A house with a connector whose change log is evidence, and how its calls are witnessed.

use serde_json::{Value, json};

use crate::{
    eventually::eventually,
    house::{Caller, House, POLICY, Request, Service, Start, name},
};

/// A function that leaves one note more than it tells of.
const LIAR: &str = "
    create function lab_twice(asked text) returns table (id bigint, mark text) language plpgsql as $$
        begin
            insert into public.lab_notes (mark) values (asked || ', unasked');
            return query insert into public.lab_notes as n (mark) values (asked)
                returning n.id, n.mark;
        end $$";

/// A house with a connector whose change log is evidence.
#[derive(Debug)]
pub struct Scene {
    /// The house.
    pub house: House,
    /// Its service.
    pub service: Service,
    /// An agent of its org.
    pub caller: Caller,
    /// A key of its org.
    pub org: Caller,
    /// The id of the connector.
    pub connector: String,
}

impl Scene {
    /// A scene in a house of its own.
    pub async fn new(settings: &str) -> Option<Self> {
        let house = House::new(settings).await?;
        let config = kept(&house);
        Some(Self::of(house, &config).await)
    }

    /// A scene in this house, whose connector has this config.
    pub async fn of(house: House, config: &Value) -> Self {
        let governed = house.governed.clone();
        governed.run(LIAR).await;
        let file = house.write("kept.json", &config.to_string());
        let credential = house.write("kept-credential.json", &credential().to_string());
        let password = house.write("password", &governed.cluster.password);
        let [file, credential, password] =
            [&file, &credential, &password].map(|path| path.to_str().unwrap());
        let setup = ["connector", "setup", file, "--credential", credential, "--witness"];
        let apply = ["--apply", &governed.cluster.user, "--password-file", password];
        house.verbs.run(&[setup.as_slice(), &apply].concat()).await;
        let create = ["connector", "create", file, "--credential", credential, "--org", &house.org];
        house.verbs.run(&create).await;
        house.activate("kept", &POLICY.replace("match: lab.*", "match: [lab.*, kept.*]")).await;
        let service = house.serve().await;
        let caller = service.caller(&house.agent("keeping").await.key);
        let org = service.caller(&house.org_key().await);
        let listed = org.get("/v1/connectors").await.ok();
        let mut rows = listed["data"].as_array().unwrap().iter();
        let connector = rows.find(|row| row["name"] == "kept").unwrap()["id"].as_str().unwrap();
        let connector = connector.to_owned();
        Self { house, service, caller, org, connector }
    }

    /// What a change of the witness answers.
    pub async fn witness(&self, verb: &str, body: &Value) -> Value {
        let path = format!("/v1/connectors/{}/witness/{verb}", self.connector);
        self.org.send(Request::post(&path, body)).await.ok()
    }

    /// Prepares the governed database and has its log read.
    pub async fn enable(&self) {
        let told = self.witness("setup", &json!({})).await;
        self.house.governed.run(told["script"].as_str().unwrap()).await;
        self.witness("enable", &json!({ "reason": "Notes are to be proved." })).await;
    }

    /// Has the log read no longer, and waits until its slot is gone.
    pub async fn disable(&self) {
        self.witness("disable", &json!({ "reason": "It was a test." })).await;
        eventually(async || (self.slots().await == 0).then_some(())).await;
    }

    /// Asks for a new slot.
    pub async fn recreate_slot(&self) -> Value {
        self.witness("recreate_slot", &json!({ "reason": "It is to be read on." })).await
    }

    /// The slot as it is shown.
    pub async fn slot(&self) -> Value {
        let path = format!("/v1/connectors/{}/witness", self.connector);
        self.org.get(&path).await.ok()["slot"].clone()
    }

    /// The name of the slot and of the publication.
    pub async fn slot_name(&self) -> String {
        self.witness("setup", &json!({})).await["slot"].as_str().unwrap().to_owned()
    }

    /// What the history tells of the connector's log, of kinds that begin so, the oldest first.
    pub async fn told(&self, kinds: &str) -> Vec<String> {
        let path = format!("/v1/ledger?kind=witness&subject={}&limit=100", self.connector);
        let list = self.org.get(&path).await.ok();
        let rows = list["data"].as_array().unwrap().iter().rev();
        let told = rows.map(|row| row["type"].as_str().unwrap().to_owned());
        told.filter(|kind| kind.starts_with(kinds)).collect()
    }

    /// How many slots the governed database has.
    pub async fn slots(&self) -> i64 {
        let name = &self.house.governed.name;
        let sql = "select count(*) from pg_replication_slots where database =";
        self.house.governed.count(&format!("{sql} '{name}'")).await
    }

    /// Calls the tool until its verdict is neither that nobody reads the log nor that it was begun in the
    /// middle of the call.
    pub async fn witnessed(&self, tool: &str) -> Value {
        eventually(async || {
            let action = self.caller.executed(tool, json!({ "mark": name() })).await;
            let early = ["decoder_off", "evidence_gap"];
            (!reasons(&action).iter().any(|reason| early.contains(reason))).then_some(action)
        })
        .await
    }
}

impl Scene {
    /// A call that is sealed before the log tells of it, since nobody reads that meanwhile. No other
    /// service may follow it by then.
    pub async fn unwitnessed(&self, key: &str, (tool, mark): (&str, &str)) -> Value {
        let verbs = self.house.verbs.with("SERVICE_DECODER_PAUSE", "true");
        let mut paused = Service::start(&verbs, Start::Plain).await;
        let action = paused.caller(key).executed(tool, json!({ "mark": mark })).await;
        let told = (&action["witness"]["verdict"], &action["amendment"]);
        assert_eq!(told, (&json!("UNVERIFIABLE"), &Value::Null), "{action}");
        paused.kill();
        action
    }
}

/// How the action stands once its deed is amended.
pub async fn amended(caller: &Caller, action: &Value) -> Value {
    eventually(async || {
        let detail = caller.detail(action).await;
        detail["amendment"].is_object().then_some(detail)
    })
    .await
}

/// Settings of a service that does not wait long for a log.
pub const IMPATIENT: &str = "decoder: { lease: 5s }\nwitness: { readback_timeout: 2s }\n\
    gate: { wait_timeout: 25s, worker: { max_attempts: 1 } }\n";

/// What the connector logs in with, the reader of its log included.
pub fn credential() -> Value {
    json!({
        "conn_password": "conn-password",
        "read_password": "read-password",
        "decoder_password": "decoder-password",
    })
}

/// Two tools that leave a note: one that does so, and one that leaves another beside it.
pub fn kept(house: &House) -> Value {
    let mut config = house.lab();
    let tools = config["tools"].as_array().unwrap();
    let mut note = tools.iter().find(|tool| tool["name"] == "note").unwrap().clone();
    note["required_level"] = json!("L2");
    let mut lie = note.clone();
    lie["name"] = json!("lie");
    lie["sql"] = json!("select id, mark from lab_twice($mark)");
    lie["footprint"]["max_rows"] = json!(2);
    lie["reports"] = json!({ "table": "lab_notes", "op": "insert" });
    config["tools"] = json!([note, lie]);
    config
}

/// The reasons of the action's verdict.
pub fn reasons(action: &Value) -> Vec<&str> {
    let told = action["witness"]["reasons"].as_array().map(Vec::as_slice).unwrap_or_default();
    told.iter().filter_map(Value::as_str).collect()
}
