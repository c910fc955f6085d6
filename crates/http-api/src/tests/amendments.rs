//! What became known of an action once it was sealed, wherever an action and its deeds are told of.

use std::sync::Arc;

use deed::{
    Actor, Amended, AmendmentContent, AmendmentReason, Changes, Draft, Path, Witness, Word, commit,
    verify::{Trust, Verdict, examine},
};
use gate::ActionStore;
use ledger::{
    DeedEntry, Entry, Needs, Request, Snapshot,
    record::{self, Action, Amendment},
};
use model::{DeedId, Level, Mint, Role, WitnessMethod};
use serde_json::{Value, json};

use super::{
    console::{approver, text},
    house::House,
};

/// Amends the deed of an action by a finding that says another verdict.
struct Amend {
    action: Action,
    amends: Amended,
}

impl Request for Amend {
    type Answer = DeedId;

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs { actions: [self.action.id].into(), ..Needs::default() }
    }

    fn decide(&self, _: &Snapshot, mint: &Mint<'_>) -> (Entry, DeedId) {
        let found = json!({ "observed": "one row more" });
        let (detail, opens) = commit(mint, Path::AMENDED_WITNESS_DETAIL, &found);
        let content = AmendmentContent {
            amends: self.amends,
            n: 1,
            reason: AmendmentReason::LateEvidence,
            changes: Changes {
                execution: None,
                witness: Some(Witness {
                    level: Level::L2,
                    required_level: Level::L2,
                    method: WitnessMethod::ChangeLog,
                    verdict: model::Verdict::Mismatch,
                    ..Witness::nobody(mint.now(), detail)
                }),
            },
        };
        let (deed, actor) = (mint.id(DeedId::from_uuid), Actor::System(Word::of("service")));
        let entry = DeedEntry {
            draft: Draft::amendment(deed, actor, self.action.id, content),
            disclosures: vec![opens],
            agent: Some(self.action.agent.id),
            action: Some(self.action.id),
        };
        let sealed = self.action.witness.clone().unwrap();
        let witness = record::Witness {
            level: Level::L2,
            required_level: Level::L2,
            method: WitnessMethod::ChangeLog,
            verdict: model::Verdict::Mismatch,
            summary: "The log has <another> row.".to_owned(),
            reasons: vec!["value_differs".to_owned()],
            witnessed_at: mint.now(),
            ..sealed
        };
        let amendment = Amendment { deed, amended_at: mint.now(), execution: None, witness };
        let action = Action { amendment: Some(Box::new(amendment)), ..self.action.clone() };
        let changes = Arc::new(action).into();
        (Entry { changes, deeds: vec![entry], ..Entry::default() }, deed)
    }
}

/// An action whose deed was amended: its id, its deed, and its amendment.
async fn amended(house: &House) -> (String, DeedId, DeedId) {
    let id = house.refund(5).await.id();
    let detail = house.store.detail(house.org, id.parse().unwrap()).await.unwrap().unwrap();
    let first = &detail.deeds[0];
    let amends = Amended { id: first.id, digest: first.digest, seq: first.seq };
    let amend = Amend { action: detail.action, amends };
    let amendment = house.ledger().enter(house.org, amend).await.unwrap();
    (id, first.id, amendment)
}

async fn read(house: &House, path: &str) -> Value {
    let answer = house.get(path, &house.support.key).await;
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.body
}

#[tokio::test]
async fn an_action_and_its_lists_tell_what_became_known_beside_what_was_sealed() {
    let house = House::new().await;
    let plain = house.refund(5).await;
    assert!(plain.body.get("amendment").is_none(), "only what was amended has one");
    let (id, first, amendment) = amended(&house).await;
    let detail = read(&house, &format!("/v1/actions/{id}?expand[]=witness.detail")).await;
    assert_eq!(
        (&detail["witness"]["verdict"], &detail["deed"]),
        (&json!("VERIFIED"), &json!(first))
    );
    let later = &detail["amendment"];
    assert_eq!((&later["deed"], &later["execution"]), (&json!(amendment), &Value::Null));
    assert_eq!(
        (&later["witness"]["verdict"], &later["witness"]["level"]),
        (&json!("MISMATCH"), &json!("L2"))
    );
    assert_eq!(later["witness"]["detail"], json!({ "observed": "one row more" }));
    let deeds = detail["deeds"].as_array().unwrap();
    assert_eq!(deeds.iter().map(|deed| &deed["kind"]).collect::<Vec<_>>(), ["action", "amendment"]);
    let opened = |at: usize| deeds[at]["disclosures"].as_array().unwrap().len();
    assert!(opened(0) > 1 && opened(1) == 1, "each with what opens it: {deeds:?}");
    let keys = house.get("/.well-known/service/keys.json", "").await;
    let trust = Trust { keys: Some(deed::KeySet::parse(&keys.bytes).unwrap()), ..Trust::default() };
    for deed in deeds {
        assert_eq!(examine(deed.to_string().as_bytes(), &trust).verdict, Verdict::Valid);
    }
    let listed = read(&house, "/v1/actions?limit=1").await;
    assert_eq!(listed["data"][0]["amendment"]["witness"]["verdict"], "MISMATCH");
    let filtered = read(&house, "/v1/actions?verdict=MISMATCH").await;
    assert_eq!(filtered["data"], json!([]), "a filter goes by what was sealed");
}

#[tokio::test]
async fn what_was_found_late_wants_an_eye() {
    let house = House::new().await;
    let (id, ..) = amended(&house).await;
    let overview = house.get("/v1/overview", &house.org_key).await.body;
    let item = &overview["attention"][0];
    assert_eq!((&item["kind"], &item["data"]["action"]), (&json!("mismatch"), &json!(id)));
    assert_eq!(item["data"]["summary"], "The log has <another> row.");
    assert_eq!(overview["attention"].as_array().unwrap().len(), 1);
    assert_eq!(overview["totals"]["mismatch"], 0, "what was sealed stays as it is counted");
}

#[tokio::test]
async fn the_deed_names_its_amendments_and_its_evidence_has_them() {
    let house = House::new().await;
    let (id, first, amendment) = amended(&house).await;
    let shown = house.get(&format!("/v1/deeds/{first}"), &house.support.key).await;
    assert_eq!(shown.headers["service-amended-by"], amendment.to_string());
    let shown = house.get(&format!("/v1/deeds/{amendment}"), &house.support.key).await;
    assert!(shown.headers.get("service-amended-by").is_none());
    assert_eq!(shown.body["body"]["amendment"]["amends"]["id"], json!(first));
    let others = house.get(&format!("/v1/deeds/{first}"), &house.other.key).await;
    assert_eq!(others.status, 404);
    let listed = read(&house, &format!("/v1/deeds?kind=amendment&subject={id}")).await;
    assert_eq!(
        (&listed["data"][0]["id"], listed["data"].as_array().unwrap().len()),
        (&json!(amendment), 1)
    );
    for deed in [first, amendment] {
        let file = house.get(&format!("/v1/deeds/{deed}/bundle"), &house.support.key).await;
        assert_eq!(file.body["deeds"].as_array().unwrap().len(), 2);
        let check =
            house.ask(("POST", "/v1/deeds/verify"), &house.support.key, Some(file.body)).await;
        assert_eq!(check.body["verdict"], "valid", "{check:?}");
    }
}

#[tokio::test]
async fn the_page_of_an_action_tells_what_became_known_in_words() {
    let house = House::new().await;
    let (id, _, amendment) = amended(&house).await;
    let browser = approver(&house, "vie@example.com", Role::Viewer).await.0;
    let html = text(&house.get(&format!("/app/actions/{id}"), &browser.key).await);
    for shown in
        ["Found later", "The log has &lt;another&gt; row.", "As sealed", "Mismatch", "Reported"]
    {
        assert!(html.contains(shown), "{shown}: {html}");
    }
    assert!(!html.contains("Verified"), "it was sealed by its own report alone: {html}");
    assert!(html.contains(&format!("/app/deeds/{amendment}")), "{html}");
    let list = text(&house.get("/app/actions", &browser.key).await);
    assert!(list.contains("Found later") && list.contains("later</small>"), "{list}");
    let deed = text(&house.get(&format!("/app/deeds/{amendment}"), &browser.key).await);
    assert!(deed.contains("Amends") && deed.contains(&format!("/app/actions/{id}")), "{deed}");
}
