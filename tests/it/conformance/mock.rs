//! The tools of two makers' descriptions, called at a mock that refuses every request that is not as
//! the description says: one whose bodies are JSON, and one whose bodies are forms.
//!
//! `CHANCERY_PRISM` names the mock and `CHANCERY_MORE_API_DESCRIPTIONS` the folder of the descriptions;
//! `cargo xtask conformance` installs and fetches them.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use connectors::{Deps, rest};
use crypto::{Secret, SystemEntropy, sha256, vault::Ring};
use egress::{Egress, PrivateNetworks, Rules};
use model::{Level, Outcome};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};
use tool::{Run, Tool};

use super::{
    descriptions::{MOST_TOOLS, blueprint},
    sample::{Extent, Sampler},
};
use crate::house::{exchange, free_port, name, program};

/// A description, and which calls of its tools are made: those for which a value of their schema is found.
struct Judged {
    file: &'static str,
    /// A request that the mock refuses.
    wrong: &'static str,
    /// The tools that are called, and the calls: with what is required, and with all that is described.
    tools: usize,
    calls: usize,
    /// The tools whose calls the mock refuses although they are as the description says: it reads `1`
    /// in a path as a number and as a text, and takes a `oneOf` of both to fit twice.
    refused: &'static [&'static str],
}

/// How long the mock may take to read a description.
const PATIENCE: Duration = Duration::from_mins(2);

const JUDGED: [Judged; 2] = [
    Judged {
        file: "github.json",
        wrong: "POST /user/repos HTTP/1.1\r\nContent-Type: application/json\r\n\
                Content-Length: 10\r\n\r\n{\"name\":1}",
        tools: 1_221,
        calls: 2_439,
        refused: &[
            "actions/create-workflow-dispatch",
            "actions/disable-workflow",
            "actions/enable-workflow",
            "actions/get-workflow",
            "actions/get-workflow-usage",
            "actions/list-workflow-runs",
            "repos/cancel-pages-deployment",
            "repos/get-pages-deployment",
        ],
    },
    Judged {
        file: "stripe.json",
        wrong: "POST /v1/refunds HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                Content-Length: 10\r\n\r\nmetadata=1",
        tools: 440,
        calls: 851,
        refused: &[],
    },
];

#[tokio::test]
async fn a_mock_that_refuses_wrong_requests_takes_those_of_every_tool() {
    let Some(prism) = program("CHANCERY_PRISM") else { return };
    let folder = program("CHANCERY_MORE_API_DESCRIPTIONS").unwrap();
    let mut others = Vec::new();
    for judged in &JUDGED {
        let description = std::fs::read_to_string(folder.join(judged.file)).unwrap();
        let converted = rest::convert(&description, &[]).unwrap();
        let mock = Mock::start(&prism, &description).await;
        let head = "Host: a\r\nAuthorization: Bearer a\r\nConnection: close\r\n";
        let wrong = judged.wrong.replacen("\r\n", &format!("\r\n{head}"), 1);
        let answer = exchange(mock.address(), wrong.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 422 "), "{}: {answer}", judged.file);
        let (mut called_tools, mut calls) = (0, 0);
        let mut refused = BTreeSet::new();
        for tools in converted.config["tools"].as_array().unwrap().chunks(MOST_TOOLS) {
            let connector =
                connectors::build(&blueprint(&mock.url(), tools), &deps()).await.unwrap();
            for tool in connector.tools() {
                let before = calls;
                for extent in [Extent::Required, Extent::Described] {
                    match called(&*tool, extent).await {
                        None => {}
                        Some(Ok(())) => calls += 1,
                        Some(Err(outcome)) => {
                            println!("{}, {extent:?}: {outcome:?}", tool.definition().name);
                            calls += 1;
                            refused.insert(tool.definition().name.tool().to_owned());
                        }
                    }
                }
                called_tools += usize::from(calls > before);
            }
        }
        let figures = format!("{}: {called_tools} tools, {calls} calls", judged.file);
        println!("{figures}, {} refused", refused.len());
        others.extend(((called_tools, calls) != (judged.tools, judged.calls)).then_some(figures));
        if !refused.iter().eq(judged.refused) {
            others.push(format!("{}: the mock refuses {refused:#?}", judged.file));
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
}

/// Calls the tool; `None` where no value of its schema is found.
async fn called(tool: &dyn Tool, extent: Extent) -> Option<Result<(), Outcome>> {
    let schema = Arc::clone(tool.definition().input_schema.value());
    let args = Sampler::of(&schema, extent).sample()?;
    if let Err(error) = tool.check_args(&args) {
        println!("not called: {}: {error}", tool.definition().name);
        return None;
    }
    let outcome = tool.run(Run {
        org: "org_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        action: "act_01h2xcejqtf2nbrexx3vqjhp42".parse().unwrap(),
        request_digest: sha256("x"),
        args: &args,
        place: None,
        level: Level::L0,
        time_limit: Duration::from_mins(1),
    });
    match outcome.await {
        Outcome::Succeeded { .. } => Some(Ok(())),
        other => Some(Err(other)),
    }
}

fn deps() -> Deps {
    let rules = Rules { private_networks: PrivateNetworks::Allowed, ..Rules::default() };
    let ring = Secret::new("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".to_owned());
    Deps {
        egress: Egress::new(rules).unwrap(),
        vault: Arc::new(Ring::parse(&ring).unwrap()),
        entropy: Arc::new(SystemEntropy::new()),
    }
}

/// A running mock.
struct Mock {
    _child: Child,
    folder: PathBuf,
    port: u16,
}

impl Mock {
    async fn start(prism: &Path, description: &str) -> Self {
        let folder = std::env::temp_dir().join(name());
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join("description.json");
        std::fs::write(&file, requests_of(description).to_string()).unwrap();
        let port = free_port();
        let mut command = Command::new(prism);
        command.args(["mock", "--errors", "--port", &port.to_string()]).arg(&file);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let listens = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if line.contains("Prism is listening") {
                    return;
                }
            }
            panic!("the mock ended");
        };
        tokio::time::timeout(PATIENCE, listens).await.expect("the mock does not listen");
        // What it says of each request is read, so that it can go on.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self { _child: child, folder, port }
    }

    fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    fn url(&self) -> String {
        format!("http://{}", self.address())
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// What the description says of requests. Neither responses nor credentials are judged.
fn requests_of(description: &str) -> Value {
    let description: Value = serde_json::from_str(description).unwrap();
    let mut paths = description["paths"].clone();
    for item in paths.as_object_mut().unwrap().values_mut() {
        for operation in item.as_object_mut().unwrap().values_mut() {
            if operation.get("responses").is_some() {
                operation["responses"] = json!({"200": {"description": "It was as described."}});
                operation["security"] = json!([]);
                loosen(operation);
            }
        }
    }
    let (mut waiting, mut wanted) = (Vec::new(), BTreeSet::new());
    references(&paths, &mut waiting);
    while let Some(reference) = waiting.pop() {
        if wanted.insert(reference.clone()) {
            references(description.pointer(&reference).unwrap(), &mut waiting);
        }
    }
    let mut components = json!({});
    for reference in wanted {
        let [_, _, kind, name] = *reference.split('/').collect::<Vec<_>>() else { continue };
        components[kind][name] = description["components"][kind][name].clone();
    }
    let (openapi, info) = (&description["openapi"], &description["info"]);
    json!({ "openapi": openapi, "info": info, "paths": paths, "components": components })
}

/// Has what is written as `deepObject` require nothing: the mock takes one that is not sent for an empty
/// one, so what such an object requires is not judged.
fn loosen(operation: &mut Value) {
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        if parameter["style"] == "deepObject" {
            require_nothing(&mut parameter["schema"]);
        }
    }
    let form = "/requestBody/content/application~1x-www-form-urlencoded";
    let Some(form) = operation.pointer_mut(form) else { return };
    let encoding = form.get("encoding").cloned().unwrap_or_default();
    let members = form.pointer_mut("/schema/properties").and_then(Value::as_object_mut);
    for (name, schema) in members.into_iter().flatten() {
        if encoding[name]["style"] == "deepObject" {
            require_nothing(schema);
        }
    }
}

fn require_nothing(schema: &mut Value) {
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(require_nothing),
        Value::Object(members) => {
            members.retain(|word, value| word != "required" || !value.is_array());
            members.values_mut().for_each(require_nothing);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The pointers of the references in the value.
fn references(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| references(item, into)),
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            into.extend(reference.and_then(|it| it.strip_prefix('#')).map(str::to_owned));
            members.values().for_each(|member| references(member, into));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
