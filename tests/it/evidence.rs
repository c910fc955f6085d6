//! What an agent signed, in the evidence of its action: fetched from the service and checked by
//! `chancery verify`, by the Python verifier and by the JavaScript one, with published keys alone.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::ed25519::SigningKey;
use intent::Claims;
use serde_json::{Value, json};

use crate::house::{Caller, House, Request, call, program, root, unix_seconds};

const TOOL: &str = "lab.note";

/// A house with an agent that signs, and how files are checked there.
struct Scene {
    house: House,
    agent: String,
    caller: Caller,
    org: Caller,
    pair: SigningKey,
    audience: String,
    keys: PathBuf,
}

/// What a verifier came to: its exit code and what it printed.
pub(crate) type Told = (Option<i32>, String);

impl Scene {
    async fn of(house: House, caller: Caller, org: Caller, agent: String) -> Self {
        let words = ["agent", "set", &agent, "--intent-mode", "required", "--org", &house.org];
        house.verbs.run(&words).await;
        let pair = SigningKey::from_seed(&[7; 32]).unwrap();
        let public_key = URL_SAFE_NO_PAD.encode(pair.public().as_bytes());
        let proof = pair.sign(intent::proof_message(&agent, pair.public()).as_bytes());
        let key = json!({ "public_key": public_key, "proof": URL_SAFE_NO_PAD.encode(proof) });
        org.send(Request::post(&format!("/v1/agents/{agent}/intent_keys"), &key)).await.is(201);
        let keys = caller.read("/.well-known/service/keys.json").await;
        let keys = house.write("published.json", &keys.to_string());
        let mut scene = Self { house, agent, caller, org, pair, audience: String::new(), keys };
        // The service says itself which audience it expects.
        let asked =
            json!({ "intent": scene.intent(&json!({}), 0), "request": call(TOOL, json!({})) });
        let told = scene.caller.send(Request::post("/v1/intents/check", &asked)).await.ok();
        let mut checks = told["checks"].as_array().unwrap().iter();
        let audience = checks.find(|checked| checked["check"] == "audience").unwrap();
        audience["expected"].as_str().unwrap().clone_into(&mut scene.audience);
        scene
    }

    fn intent(&self, args: &Value, number: u32) -> String {
        let bound = json!({ "args": args, "tool": TOOL });
        let now = unix_seconds();
        let claims = Claims {
            aud: self.audience.clone(),
            sub: self.agent.clone(),
            tool: TOOL.to_owned(),
            req: crypto::sha256(crypto::json::canonical(&bound)),
            mode: "gateway".to_owned(),
            obo: Some("user:maria".to_owned()),
            ses: None,
            idem: Some(format!("key-{number}")),
            iat: now,
            exp: now + 60,
            jti: format!("{number:0>22}"),
            tdg: None,
            purpose: Some("to be seen years later".to_owned()),
        };
        intent::sign(&claims, &self.pair)
    }

    /// The evidence of a call that its agent signed so.
    async fn evidence(&self, args: Value, number: u32) -> (String, Value) {
        let intent = self.intent(&args, number);
        let request = Request::post("/v1/actions", &call(TOOL, args))
            .header("Service-Intent", &intent)
            .header("Service-On-Behalf-Of", "user:maria")
            .keyed(&format!("key-{number}"));
        let action = self.caller.send(request).await.ok();
        let path = format!("/v1/deeds/{}/bundle", action["deed"].as_str().unwrap());
        (intent, self.org.read(&path).await)
    }

    async fn checked(&self, file: &Value) -> Vec<Told> {
        checked(&self.house, &self.keys, file).await
    }
}

/// What each of the verifiers comes to by these keys; those of which no program is here are left out.
pub(crate) async fn checked(house: &House, keys: &Path, file: &Value) -> Vec<Told> {
    let path = house.write("evidence.json", &file.to_string());
    let (path, keys) = (path.to_str().unwrap(), keys.to_str().unwrap());
    let output = house.verbs.output(&["verify", path, "--keys", keys]).await;
    let mut told = vec![(output.status.code(), String::from_utf8(output.stdout).unwrap())];
    for (variable, script) in [("CHANCERY_PYTHON", "verify.py"), ("CHANCERY_NODE", "verify.mjs")] {
        let Some(program) = program(variable) else { continue };
        told.push(other(&program, script, &[path, "--keys", keys]));
    }
    told
}

pub(crate) fn other(program: &Path, script: &str, words: &[&str]) -> Told {
    let script = root().join("docs/verifiers").join(script);
    let mut command = Command::new(program);
    let output = command.env("PYTHONDONTWRITEBYTECODE", "1").arg(script).args(words).output();
    let output = output.unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[tokio::test]
async fn what_an_agent_signed_is_in_the_evidence_and_three_verifiers_check_it() {
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let (agent, org_key) = (house.agent("signing").await, house.org_key().await);
    let (caller, org) = (service.caller(&agent.key), service.caller(&org_key));
    let scene = Scene::of(house, caller, org, agent.id).await;

    let (intent, file) = scene.evidence(json!({ "mark": "first" }), 1).await;
    assert_eq!(file["intents"][0]["jws"], json!(intent));
    for (code, told) in scene.checked(&file).await {
        assert_eq!(code, Some(0), "{told}");
        assert!(!told.contains("not shown"), "{told}");
    }

    // Another intent by the same key, of a call with the same words.
    let (_, second) = scene.evidence(json!({ "mark": "first" }), 2).await;
    let mut exchanged = file.clone();
    exchanged["intents"][0]["jws"] = second["intents"][0]["jws"].clone();
    let mut strange = file.clone();
    let public = *SigningKey::from_seed(&[8; 32]).unwrap().public();
    strange["intents"][0]["public_key"] = json!(URL_SAFE_NO_PAD.encode(public.as_bytes()));
    let mut twice = file.clone();
    twice["intents"] = json!([file["intents"][0], file["intents"][0]]);
    for wrong in [exchanged, strange, twice] {
        for (code, told) in scene.checked(&wrong).await {
            assert_eq!(code, Some(1), "{told}");
            assert!(told.contains("intents"), "{told}");
        }
    }

    // Who takes it out shows less, and that is said.
    let mut without = file.clone();
    without.as_object_mut().unwrap().remove("intents");
    for (code, told) in scene.checked(&without).await {
        assert_eq!(code, Some(0), "{told}");
        assert!(told.contains("not shown"), "{told}");
    }
    fs::remove_file(&scene.keys).unwrap();
}
