//! The short forms of the description's files.

#[path = "../../build/short_forms.rs"]
mod short_forms;

use short_forms::{list, missing, written_out};

/// The statuses of the one operation, each with what it refers to where it refers to anything.
fn responses(path: &str, operation: &str) -> Vec<(String, String)> {
    let text = format!("  {path}:\n    get:\n      operationId: getIt\n{operation}");
    let written = written_out(&text, "System").unwrap();
    let lines = written.lines().skip_while(|line| *line != "      responses:");
    let statuses = lines.filter_map(|line| line.strip_prefix("        \"")?.split_once("\":"));
    let name = |rest: &str| {
        rest.rsplit_once('/').map_or("", |(_, name)| name.trim_end_matches("\" }")).to_owned()
    };
    statuses.map(|(status, rest)| (status.to_owned(), name(rest))).collect()
}

fn statuses(path: &str, operation: &str) -> String {
    let all: Vec<_> = responses(path, operation).into_iter().map(|(status, _)| status).collect();
    all.join(" ")
}

const OK: &str =
    "      responses:\n        \"200\":\n          description: It.\n          schema: It\n";

#[test]
fn responses_follow_from_path_access_and_body() {
    assert_eq!(statuses("/v1/it", OK), "200 400 401 403 414 429 431 500 503");
    assert_eq!(statuses("/v1/it/{id}", OK), "200 400 401 403 404 414 429 431 500 503");
    let public = format!("      security: []\n{OK}");
    assert_eq!(statuses("/v1/it", &public), "200 400 414 429 431 500 503");
    let sent = format!("      requestBody:\n        schema: It\n        example: {{ a: 1 }}\n{OK}");
    assert_eq!(statuses("/v1/it", &sent), "200 400 401 403 413 414 415 429 431 500 503");
}

#[test]
fn a_response_of_its_own_takes_the_place_of_one_that_follows() {
    let own =
        format!("{OK}        \"401\": ~\n        \"409\": Conflict\n        \"500\": Broken\n");
    assert_eq!(statuses("/v1/it", &own), "200 400 403 409 414 429 431 500 503");
    let named = |status: &str| {
        let all = responses("/v1/it", &own);
        all.into_iter().find(|(known, _)| known == status).map(|(_, name)| name)
    };
    assert_eq!(named("409").as_deref(), Some("Conflict"));
    assert_eq!(named("500").as_deref(), Some("Broken"));
    assert_eq!(named("400").as_deref(), Some("BadRequest"));
}

#[test]
fn an_operation_is_written_out_whole() {
    let short = "  /v1/it:\n    post:\n      operationId: makeIt\n      summary: \"Make it\"\n      \
                 parameters: [ItPath, Limit]\n      requestBody:\n        schema: NewIt\n        required: false\n        \
                 form: ItForm\n        example:\n          a:\n            - 1\n      responses:\n        \"201\":\n          \
                 description: |\n            It,\n            made.\n          headers: { ETag: ETag, Set-Cookie: Session }\n          \
                 schema: It\n          examples: { example: makeIt, other: makeOther }\n        \"303\": OnAPage\n";
    let written = written_out(short, "Things").unwrap();
    let begin = r##"  /v1/it:
    post:
      operationId: makeIt
      tags: [Things]
      summary: "Make it"
      parameters:
        - $ref: "#/components/parameters/Version"
        - $ref: "#/components/parameters/ItPath"
        - $ref: "#/components/parameters/Limit"
      requestBody:
        required: false
        content:
          application/json:
            schema:
              $ref: "#/components/schemas/NewIt"
            examples:
              example:
                value:
                  a:
                    - 1
          application/x-www-form-urlencoded:
            schema: { $ref: "#/components/schemas/ItForm" }
      responses:
        "201":
          description: |
            It,
            made.
          headers:
            Service-Request-Id: { $ref: "#/components/headers/RequestId" }
            Service-Version: { $ref: "#/components/headers/Version" }
            ETag: { $ref: "#/components/headers/ETag" }
            Set-Cookie: { $ref: "#/components/headers/Session" }
          content:
            application/json:
              schema: { $ref: "#/components/schemas/It" }
              examples: { example: { $ref: "#/components/examples/makeIt" }, other: { $ref: "#/components/examples/makeOther" } }
        "303": { $ref: "#/components/responses/OnAPage" }
        "400": { $ref: "#/components/responses/BadRequest" }
"##;
    assert!(written.starts_with(begin), "{written}");
}

#[test]
fn pages_beside_the_interface_have_no_version() {
    let short = format!("  /docs:\n    get:\n      operationId: getDocs\n{OK}");
    let written = written_out(&short, "System").unwrap();
    assert!(!written.contains("Version"), "{written}");
    let served = written_out(&short.replace("/docs", "/v1/docs"), "System").unwrap();
    assert_eq!(served.matches("/Version\"").count(), 2, "{served}");
}

#[test]
fn a_list_is_a_page_of_its_items() {
    let written = list("    AgentList: list of Agent").unwrap();
    assert!(written.starts_with("    AgentList:\n      type: object\n"), "{written}");
    assert!(written.contains("items: { $ref: \"#/components/schemas/Agent\" }"), "{written}");
    for line in ["    AgentList:", "      description: list of words", "    A: list of it all"] {
        assert_eq!(list(line), None, "{line}");
    }
}

#[test]
fn what_is_no_short_form_is_refused_with_its_place() {
    let refused = |operation: &str| {
        let text = format!("  /v1/it:\n    get:\n{operation}");
        written_out(&text, "System").expect_err(operation)
    };
    assert_eq!(refused(OK), "/v1/it: an operation without `operationId`");
    let id = "      operationId: getIt\n";
    let of = |more: &str| refused(&format!("{id}{more}"));
    let odd = OK.replace("schema", "scheme");
    assert_eq!(of(&odd), "getIt 200: `scheme`");
    assert_eq!(of(&format!("      sumary: It\n{OK}")), "getIt: `sumary`");
    assert_eq!(of(&format!("     odd\n{OK}")), "     odd");
    assert_eq!(of(&format!("{id}{OK}")), id.trim_end());
    for responses in [
        "      responses: { \"200\": Ok }\n",
        "      responses:\n        \"409\": Conflict\n          description: It.\n",
        "      responses:\n        \"410\": ~\n",
        "      responses:\n        \"409\": Conflict # at times\n",
        "      responses:\n        \"200\":\n          schema: It\n",
    ] {
        of(responses);
    }
    for more in [
        "          headers:\n            ETag: ETag\n",
        "          headers: { ETag }\n",
        "          headers: { ETag:ETag }\n",
        "          examples:\n            one: it\n",
        "          media: text/plain\n",
        "          content:\n            text/plain: {}\n",
        "            of: { type: string }\n",
    ] {
        of(&format!("{OK}{more}"));
    }
    for parameters in ["[Limit,\n        Cursor]", "Limit", "[]", "\n        - Limit"] {
        of(&format!("      parameters: {parameters}\n{OK}"));
    }
    for body in [
        "        schema: It\n        exemple: { a: 1 }\n",
        "        schema: It\n        example: { a: 1 }\n        odd: true\n",
        "        schema: It\n        example: $\n",
        "        schema: It\n",
        "        example: { a: 1 }\n",
        "        schema:\n          type: object\n        example: { a: 1 }\n",
    ] {
        of(&format!("      requestBody:\n{body}{OK}"));
    }
    let whole = format!("    get:\n{id}{OK}");
    for path in ["  /v1/it:batch:\n", "  /v1/it: {}\n", "  /v1/it\n"] {
        written_out(&format!("{path}{whole}"), "System").expect_err(path);
    }
    written_out(&format!("  /v1/it:\n{whole}"), "").expect_err("no tag");
}

#[test]
fn what_is_referred_to_must_be_there() {
    let document = "paths:\n  /it:\n    $ref: \"#/components/schemas/It\"\n    \
                    a: \"#/components/schemas/It/properties/a\"\n    b: { $ref: \"#/components/headers/It\" }\n\
                    components:\n  schemas:\n    It:\n      type: object\n";
    assert_eq!(missing(document), ["headers/It"]);
}
