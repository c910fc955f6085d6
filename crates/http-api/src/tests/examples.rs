//! Every operation has examples of what is sent and of what is answered, and they are true: each is
//! sent to the service, which answers as the description shows.
//!
//! With `CHANCERY_WRITE_EXAMPLES` in the environment the answers are written to `api/examples`
//! instead, where they are read before they are committed.

mod answers;
mod scene;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use self::{
    answers::{Answers, assert_same},
    scene::{Scene, caller, failures, two_people},
};
use super::house::Answer;
use crate::{description::Validator, routes::interface};

/// Parameters whose example is not sent: a cursor is good for one org and one list, and an intent
/// for the one who signed it.
const NOT_SENT: [&str; 2] = ["cursor", "Service-Intent"];

/// An operation of the description.
struct Operation<'a> {
    description: &'a Validator,
    id: &'a str,
    method: &'a str,
    path: &'a str,
    value: &'a Value,
}

impl<'a> Operation<'a> {
    fn all(description: &'a Validator) -> Vec<Self> {
        let operations = description.operations();
        let of = |(path, method, value): (&'a str, &'a str, &'a Value)| {
            let id = value["operationId"].as_str().unwrap();
            Self { description, id, method, path, value }
        };
        operations.map(of).collect()
    }

    /// The parameters, each with its place, name and example.
    fn parameters(&self) -> Vec<(&'a str, &'a str, String, bool)> {
        let parameters = self.value["parameters"].as_array().into_iter().flatten();
        let read = |parameter: &'a Value| {
            let parameter = self.description.follow(parameter);
            let name = parameter["name"].as_str().unwrap();
            let example = match &parameter["example"] {
                Value::String(text) => text.clone(),
                Value::Array(items) => {
                    let words: Vec<_> = items.iter().map(|item| item.as_str().unwrap()).collect();
                    words.join(",")
                }
                Value::Null => panic!("`{name}` of {} has no example", self.id),
                other => other.to_string(),
            };
            let required = parameter["required"] == true;
            (parameter["in"].as_str().unwrap(), name, example, required)
        };
        parameters.map(read).collect()
    }

    /// The examples of the body by their names; one that is empty where there is no body.
    fn bodies(&self) -> Vec<(&'a str, Option<&'a Value>)> {
        let Some(body) = self.value.get("requestBody") else { return vec![("example", None)] };
        let examples = body["content"]["application/json"]["examples"].as_object();
        let examples = examples.unwrap_or_else(|| panic!("the body of {} has no example", self.id));
        let value = |example: &'a Value| self.description.follow(example).get("value");
        examples.iter().map(|(name, example)| (name.as_str(), value(example))).collect()
    }

    /// The path with its parameters and the query that must be there.
    fn address(&self) -> String {
        let (mut path, mut query) = (self.path.to_owned(), Vec::new());
        for (place, name, example, required) in self.parameters() {
            match place {
                "path" => path = path.replace(&format!("{{{name}}}"), &example),
                "query" if required => query.push(format!("{name}={example}")),
                _ => {}
            }
        }
        if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
    }

    /// The documented answers of the statuses that mean success.
    fn documented(&self) -> BTreeMap<String, (u16, &'a str, Option<&'a str>)> {
        let responses = self.value["responses"].as_object().unwrap();
        let mut found = BTreeMap::new();
        for (status, response) in responses.iter().filter(|(status, _)| status.starts_with('2')) {
            for (media, content) in response["content"].as_object().unwrap() {
                for (name, example) in content["examples"].as_object().unwrap_or_else(|| {
                    panic!("{} {status} {media} has no example", self.id);
                }) {
                    let key = example["$ref"].as_str().and_then(|it| it.rsplit('/').next());
                    let row = (status.parse().unwrap(), media.as_str(), key);
                    assert!(found.insert(name.clone(), row).is_none(), "{} has two", self.id);
                }
            }
        }
        found
    }

    /// Adds to an address what a parameter's example asks for.
    fn asking(&self, name: &str, example: &str) -> String {
        let address = self.address();
        let mark = if address.contains('?') { '&' } else { '?' };
        format!("{address}{mark}{name}={example}")
    }
}

/// What the answer is documented with, where it is of the documented status and media type.
fn media(answer: &Answer) -> &str {
    let media = answer.headers.get("content-type").and_then(|it| it.to_str().ok());
    media.unwrap_or_default().split(';').next().unwrap()
}

#[tokio::test]
async fn every_operation_answers_its_examples_as_it_shows() {
    let description = Validator::embedded().unwrap();
    let mut answers = Answers::new(description);
    for operation in Operation::all(description) {
        let mut documented = operation.documented();
        let mut sent = Vec::new();
        for (name, body) in operation.bodies() {
            sent.push((name, Vec::new(), operation.address(), body));
        }
        match operation.id {
            "getDeed" => {
                let accept = vec![("accept", "application/vnd.service.deed+json")];
                sent.push(("exact", accept, operation.address(), None));
            }
            "exportLedger" => {
                sent.push(("csv", Vec::new(), operation.asking("format", "csv"), None));
            }
            _ => {}
        }
        for (name, headers, address, body) in sent {
            let scene = Scene::of(&operation).await;
            if name == "two_people" {
                two_people(&scene.house).await;
            }
            let answer = scene.send(&operation, &headers, &address, body).await;
            let (status, of, key) = documented
                .remove(name)
                .unwrap_or_else(|| panic!("{} shows no answer to `{name}`", operation.id));
            let what = format!("{} `{name}`", operation.id);
            assert_eq!((answer.status, media(&answer)), (status, of), "{what}: {}", answer.body);
            let mut shown = scene.shown(&answer);
            if operation.id == "getIntentVectors" {
                let mut body = answer.body.clone();
                for long in ["good", "bad", "signing"] {
                    body[long] = json!([body[long][0]]);
                }
                shown = body.to_string();
            }
            if operation.id == "getDescriptionAsJson" {
                // A description that shows itself has no end.
                let mut body = answer.body.clone();
                for long in ["info", "paths", "components"] {
                    body[long] = json!({});
                }
                shown = body.to_string();
            }
            answers.hold(key.unwrap(), shown);
        }
        assert!(documented.is_empty(), "{}: nothing is sent for {documented:?}", operation.id);
    }
    answers.end("answers");
}

#[tokio::test]
async fn every_example_of_a_parameter_is_taken() {
    let description = Validator::embedded().unwrap();
    for operation in Operation::all(description) {
        let parameters = operation.parameters().into_iter();
        let optional = parameters.filter(|(place, name, _, required)| {
            *place != "path" && !required && !NOT_SENT.contains(name)
        });
        let mut scene = Scene::of(&operation).await;
        for (place, name, example, _) in optional {
            let (mut headers, mut address) = (Vec::new(), operation.address());
            if place == "header" {
                headers.push((name, example.as_str()));
            } else {
                address = operation.asking(name, &example);
            }
            let (_, body) = operation.bodies()[0];
            let answer = scene.send(&operation, &headers, &address, body).await;
            assert!(answer.status < 300, "{} `{name}`: {}", operation.id, answer.body);
            if operation.method != "get" {
                scene = Scene::of(&operation).await;
            }
        }
    }
}

#[tokio::test]
async fn every_operation_shows_an_error_and_gives_it() {
    let description = Validator::embedded().unwrap();
    let mut answers = Answers::new(description);
    for (response, code, answer) in failures().await {
        let described = description.part(&format!("/components/responses/{response}")).unwrap();
        let examples = &described["content"]["application/json"]["examples"];
        assert!(examples.get(code).is_some(), "{response} does not show `{code}`");
        assert_eq!(answer.body["error"]["code"], code);
        answers.hold(code, String::from_utf8(answer.bytes.to_vec()).unwrap());
    }
    answers.end("errors");
    let operations = Operation::all(description);
    let mut scene = Scene::of(&operations[0]).await;
    for operation in operations {
        scene.key = caller(operation.id, &scene.house).await;
        let (_, body) = operation.bodies()[0];
        let refused = |status: &str, code: &str| {
            let described = description.follow(&operation.value["responses"][status]);
            assert!(
                described["content"]["application/json"]["examples"].get(code).is_some(),
                "{} does not show `{code}`",
                operation.id
            );
            description.part(&format!("/components/examples/{code}/value")).unwrap()
        };
        let address = operation.asking("colour", "red");
        let mut answer = scene.send(&operation, &[], &address, body).await;
        // The sentence names what this operation takes.
        let shown = refused("400", "validation_failed");
        answer.body["error"]["message"] = shown["error"]["message"].clone();
        assert_same(shown, &answer.body, operation.id);
        let is_open = |access| matches!(access, "PUBLIC" | "SIGNING_IN");
        if interface().iter().any(|row| row.operation == operation.id && !is_open(row.access)) {
            scene.key.clear();
            let answer = scene.send(&operation, &[], &operation.address(), body).await;
            assert_same(refused("401", "unauthenticated"), &answer.body, operation.id);
        }
    }
}
