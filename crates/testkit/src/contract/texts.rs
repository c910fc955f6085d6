//! Whatever a caller may write comes back as it was, be it odd or huge.

use std::{sync::Arc, time::Duration};

use ledger::{
    Changes, Needs,
    record::{Client, Holder},
};
use model::{ActionId, DeedId, Mint, Timestamp};
use serde_json::{Value, json};

use super::Store;
use crate::{Draft, Scribe, sample};

pub(super) async fn check(store: &dyn Store) {
    odd_texts_come_back_as_they_were(store).await;
    odd_moments_come_back_as_they_were(store).await;
    a_turn_of_256_actions_is_appended_whole(store).await;
}

const ODD: [&str; 8] = [
    "it's \"quoted\" \\ and ; -- `not` $1 {a,NULL}",
    "100%_\\%",
    "Ämter, 役所, 😀👩\u{200d}⚖️",
    "line\nbreak\ttab\r",
    "\u{202e}right to left\u{2028}",
    "e\u{301} is not é",
    "\u{1}\u{7f}\u{fffd}\u{10ffff}",
    " ",
];

async fn odd_texts_come_back_as_they_were(store: &dyn Store) {
    let mut scribe = Scribe::created(300, store).await;
    for text in ODD {
        let mint = scribe.mint();
        let mut agent = scribe.agent(text);
        agent.labels.insert(text.to_owned(), text.to_owned());
        let mut key = sample::api_key(scribe.org, Holder::Agent(agent.id), &mint);
        text.clone_into(&mut key.name);
        // A NUL is refused where calls come in; inside canonical JSON it is an escape.
        let args =
            json!({ "text": text, "huge": "😀".repeat(60_000), "nul": "\u{0}", text: [text] });
        let (request, disclosure) = sample::request(&args, &mint);
        let mut action = sample::action(&agent, request, &mint);
        text.clone_into(&mut action.tool);
        (action.on_behalf_of, action.session) = (Some(text.to_owned()), Some(text.to_owned()));
        action.client = Some(Client { name: text.to_owned(), version: text.to_owned() });
        let known = sample::idempotency_key(&action, text, scribe.now + Duration::from_hours(1));
        let budget = sample::budget(text, scribe.now, "1");
        let draft = Draft {
            changes: Changes::from_iter([
                Changes::from(agent.clone()),
                Changes::from(key.clone()),
                sample::begun(action.clone(), vec![disclosure.clone()]),
                Changes::from(known.clone()),
                Changes::from(budget.clone()),
            ]),
            deeds: Vec::new(),
            events: vec![scribe.event(Some(action.id))],
        };
        let turn = scribe.append(store, draft).await.unwrap();
        assert_eq!(store.agent(scribe.org, agent.id).await.unwrap(), Some(agent.clone()));
        assert_eq!(store.api_key(key.id).await.unwrap(), Some(key));
        let detail = store.detail(scribe.org, action.id).await.unwrap().unwrap();
        assert_eq!(detail.action, action);
        assert_eq!(detail.disclosures, [disclosure]);
        let value: Value = serde_json::from_str(detail.disclosures[0].value()).unwrap();
        assert_eq!(value, args);
        assert_eq!(detail.events, turn.events);
        assert_eq!(store.idempotency_key(scribe.org, agent.id, text).await.unwrap(), Some(known));
        let needs = Needs { budgets: [(text.to_owned(), scribe.now)].into(), ..Needs::default() };
        assert_eq!(store.load(scribe.org, &needs).await.unwrap().budgets, [budget]);
    }
    let agents = store.agents(scribe.org, &admin::AgentList::all(), 100).await.unwrap();
    assert_eq!(agents.len(), ODD.len());
}

async fn odd_moments_come_back_as_they_were(store: &dyn Store) {
    let mut scribe = Scribe::created(301, store).await;
    let moments = [
        "0000-01-01T00:00:00.000Z",
        "1969-12-31T23:59:59.999Z",
        "2024-02-29T23:59:59.001Z",
        "9999-12-30T21:59:59.999Z",
    ];
    for (place, moment) in moments.into_iter().enumerate() {
        let moment: Timestamp = moment.parse().unwrap();
        let agent = scribe.agent(&format!("agent {place}"));
        let mint = scribe.mint();
        let (request, _) = sample::request(&json!({}), &mint);
        let mut action = sample::action(&agent, request, &mint);
        // An action's id is of its moment.
        action.id = Mint::new(moment, &scribe.dice).id(ActionId::from_uuid);
        action.created_at = moment;
        let known = sample::idempotency_key(&action, &format!("key {place}"), moment);
        let budget = sample::budget("odd", moment, "0");
        let changes = vec![
            sample::begun(action.clone(), Vec::new()),
            Changes::from(known.clone()),
            Changes::from(budget.clone()),
        ];
        scribe.append(store, changes).await.unwrap();
        let needs = Needs {
            actions: [action.id].into(),
            idempotency_keys: [(agent.id, known.key.clone())].into(),
            budgets: [("odd".to_owned(), moment)].into(),
            ..Needs::default()
        };
        let found = store.load(scribe.org, &needs).await.unwrap();
        assert_eq!((found.actions, found.idempotency_keys), (vec![Arc::new(action)], vec![known]));
        assert_eq!(found.budgets, [budget]);
    }
}

async fn a_turn_of_256_actions_is_appended_whole(store: &dyn Store) {
    let mut scribe = Scribe::created(302, store).await;
    let agent = scribe.agent("busy");
    let mut draft = Draft { changes: Changes::from(agent.clone()), ..Draft::default() };
    let mut actions = Vec::new();
    for number in 0..256 {
        let mint = scribe.mint();
        let (request, disclosure) = sample::request(&json!({ "number": number }), &mint);
        let action = sample::action(&agent, request, &mint);
        let until = scribe.now + Duration::from_hours(24);
        let known = sample::idempotency_key(&action, &format!("key {number}"), until);
        let ended = sample::sealed(&action, mint.id(DeedId::from_uuid));
        draft.changes.extend(Changes::from_iter([
            sample::begun(action.clone(), vec![disclosure]),
            sample::moved(ended.clone()),
            Changes::from(known),
        ]));
        draft.deeds.push(scribe.deed(Some(action.id)));
        draft.events.extend([scribe.event(Some(action.id)), scribe.event(Some(action.id))]);
        actions.push(ended);
    }
    let turn = scribe.append(store, draft).await.unwrap();
    let needs = Needs {
        actions: actions.iter().map(|action| action.id).collect(),
        idempotency_keys: (0..256).map(|number| (agent.id, format!("key {number}"))).collect(),
        ..Needs::default()
    };
    let mut found = store.load(scribe.org, &needs).await.unwrap();
    found.actions.sort_by_key(|action| action.id);
    actions.sort_by_key(|action| action.id);
    assert!(found.actions.iter().map(|action| &**action).eq(&actions));
    assert_eq!(found.idempotency_keys.len(), 256);
    let events = store.events_after(scribe.org, 0, 1_000).await.unwrap();
    assert_eq!(events, turn.events);
    let base = store.base(scribe.org).await.unwrap().0.unwrap();
    assert_eq!((base.head.chain.size(), base.head.event_seq), (256, 512));
}
