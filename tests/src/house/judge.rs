//! Holds every answer of every test against the interface description.

use http::Method;
use http_api::description::{Given, Validator};

use super::caller::Answer;

/// Fails the test whose answer is not as described.
pub(super) fn check(method: &Method, target: &str, answer: &Answer) {
    let description = Validator::embedded().unwrap();
    let path = target.split(['?', '#']).next().unwrap_or_default();
    // A path or a method that is not served is not described either.
    let Some(operation) = operation(description, method, path) else { return };
    let given = Given { status: answer.status, headers: &answer.headers, body: &answer.body };
    if let Err(fault) = description.check(operation, &given) {
        let body = String::from_utf8_lossy(&answer.body);
        panic!("{method} {target} is not answered as described: {fault}\n{body}");
    }
}

fn operation<'a>(description: &'a Validator, method: &Method, path: &str) -> Option<&'a str> {
    let mut operations = description.operations();
    let found = operations.find(|(template, verb, _)| {
        verb.eq_ignore_ascii_case(method.as_str()) && fits(template, path)
    });
    found?.2.get("operationId")?.as_str()
}

fn fits(template: &str, path: &str) -> bool {
    let (mut template, mut path) = (template.split('/'), path.split('/'));
    loop {
        match (template.next(), path.next()) {
            (None, None) => return true,
            (Some(part), Some(given)) if part.starts_with('{') => {
                if given.is_empty() {
                    return false;
                }
            }
            (Some(part), Some(given)) if part == given => {}
            (_, _) => return false,
        }
    }
}

#[test]
fn a_template_fits_the_paths_that_fill_it() {
    assert!(fits("/v1/actions/{id}/result", "/v1/actions/act_1/result"));
    assert!(!fits("/v1/actions/{id}", "/v1/actions/"));
    assert!(!fits("/v1/actions/{id}", "/v1/actions/act_1/result"));
}
