//! Writes a call down as a file of tests, so that what was seen once can be kept as a test.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{call::Call, decide::Decision};

impl Call {
    /// A file of tests with this one call, which must be decided so; what
    /// [`read_suite`](crate::read_suite) reads.
    pub fn to_suite(&self, name: &str, policy: Option<&str>, decision: &Decision) -> String {
        let mut expect = BTreeMap::from([("outcome", decision.outcome.as_str())]);
        expect.insert("rule", decision.rule_id.as_deref().unwrap_or("none"));
        expect.extend(decision.code.map(|code| ("code", code.as_str())));
        let mut suite = json!({
            "now": self.now.to_string(),
            "zone": self.zone,
            "agents": { "agent": {
                "id": self.agent.id.to_string(), "name": self.agent.name, "labels": self.agent.labels } },
            "calls": { "call": self.to_json() },
            "cases": [{ "name": name, "agent": "agent", "call": "call", "expect": expect }],
        });
        if let (Some(policy), Some(suite)) = (policy, suite.as_object_mut()) {
            suite.insert("policy".to_owned(), policy.into());
        }
        format!("{suite:#}\n")
    }

    /// The call as files of tests write it: what it does not have is left out.
    pub fn to_json(&self) -> Value {
        let facts = &self.facts;
        let mut call =
            json!({ "tool": self.tool, "args": *self.args, "mode": facts.mode.as_str() });
        let texts = [
            ("transport", &facts.transport),
            ("session", &facts.session),
            ("on_behalf_of", &facts.on_behalf_of),
            ("intent", &facts.intent),
        ];
        if let Some(call) = call.as_object_mut() {
            let texts = texts.into_iter().filter_map(|(name, text)| Some((name, text.clone()?)));
            call.extend(texts.map(|(name, text)| (name.to_owned(), text.into())));
            let effect = facts.side_effect.map(|effect| effect.as_str().into());
            call.extend(effect.map(|effect| ("side_effect".to_owned(), effect)));
            call.extend((!facts.livemode).then(|| ("livemode".to_owned(), false.into())));
            call.extend(facts.tool_changed.then(|| ("tool_changed".to_owned(), true.into())));
        }
        call
    }
}
