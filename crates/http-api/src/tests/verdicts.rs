//! What people are told of verdicts: green is for what was checked and true, and for nothing else.

use std::{sync::Arc, time::Duration};

use gate::ActionStore;
use ledger::record::{Action, Amendment};
use model::{
    ExecutionErrorCode, ExecutionStatus, Fault, Level, Outcome, Report, Role, SideEffect, Status,
    Verdict,
};
use serde_json::{Value, json};
use testkit::ScriptedTool;

use super::{
    console::{approver, text},
    house::House,
    rooms::refunding,
};

/// A house whose tool `mail.send` comes to this, the page of its call, and the list with it.
async fn pages_of(outcome: Outcome) -> (Value, String, String) {
    let tool = ScriptedTool::new("mail.send", SideEffect::Write);
    tool.answer(outcome);
    pages(Arc::new(tool), "mail.send").await
}

async fn pages(tool: Arc<ScriptedTool>, name: &str) -> (Value, String, String) {
    let house = House::that_runs(tool).await;
    let call = house.post("/v1/actions", json!({ "tool": name, "args": {} })).await;
    let id = call.body["id"].as_str().or(call.body["error"]["action"]["id"].as_str()).unwrap();
    let browser = approver(&house, "vie@example.com", Role::Viewer).await.0;
    let page = text(&house.get(&format!("/app/actions/{id}"), &browser.key).await);
    let list = text(&house.get("/app/actions", &browser.key).await);
    let list = list.split("<tbody>").nth(1).unwrap_or_else(|| panic!("{list}")).to_owned();
    let action = house.get(&format!("/v1/actions/{id}"), &house.support.key).await.body;
    (action, page, list)
}

fn is_green(html: &str) -> bool {
    ["verdict-panel ok", "badge ok", "<li class=\"ok\">", "Verified"]
        .iter()
        .any(|sign| html.contains(sign))
}

#[tokio::test]
async fn a_failed_call_has_no_verdict_and_nothing_green() {
    let fault = Fault::new(ExecutionErrorCode::ConnectorAuthFailed, "the password was refused");
    let (action, page, list) = pages_of(Outcome::Failed(fault)).await;
    let witness = &action["witness"];
    assert_eq!(json!([witness["verdict"], witness["level"]]), json!(["VERIFIED", "L0"]));
    assert!(list.contains("<span class=\"hidden\"> failed"), "{list}");
    for html in [&page, &list] {
        assert!(!is_green(html) && html.contains("connector_auth_failed"), "{html}");
    }
    assert!(page.contains("class=\"note bad\"") && !page.contains("verdict-panel"), "{page}");
}

#[tokio::test]
async fn what_the_tool_alone_reports_is_called_reported() {
    let report = Report::of_rows(Some(2));
    let (action, page, list) =
        pages_of(Outcome::Succeeded { result: json!({ "sent": true }), report }).await;
    assert_eq!(action["witness"]["verdict"], "VERIFIED", "the interface says what the deed says");
    assert_eq!(action["execution"]["rows_changed"], 2);
    for html in [&page, &list] {
        assert!(!is_green(html) && html.contains("Reported"), "{html}");
    }
    assert!(page.contains("verdict-panel line"), "{page}");
    assert!(page.contains("Reported by the tool, and checked by nobody else."), "{page}");
    assert!(list.contains("2 rows changed, by its own report."), "{list}");
}

#[tokio::test]
async fn a_write_that_changed_no_row_says_so_and_an_answer_that_is_null_is_drawn() {
    let report = Report::of_rows(Some(0));
    let (action, page, list) = pages_of(Outcome::Succeeded { result: Value::Null, report }).await;
    assert_eq!(action["execution"]["rows_changed"], 0);
    for html in [&page, &list] {
        assert!(!is_green(html) && html.contains("Changed nothing"), "{html}");
        assert!(html.contains("It ran and changed nothing, by its own report."), "{html}");
    }
    assert!(page.contains("The tool returned null."), "{page}");
}

#[tokio::test]
async fn what_was_checked_and_is_true_is_green() {
    let (action, page, list) = pages(refunding("20.00"), "mail.refund").await;
    assert_eq!(action["witness"]["level"], "L1");
    for html in [&page, &list] {
        assert!(is_green(html) && html.contains("1 row"), "{html}");
    }
    assert!(page.contains("verdict-panel ok"), "{page}");
}

/// A refund whose record is then changed like this, its page, and the list with it.
async fn recorded(change: impl FnOnce(&mut Action)) -> (String, String) {
    let house = House::new().await;
    let id = house.refund(5).await.id();
    let action = house.store.action(house.org, id.parse().unwrap()).await.unwrap();
    let mut action = action.unwrap();
    change(&mut action);
    house.rewrite(action).await;
    let browser = approver(&house, "vie@example.com", Role::Viewer).await.0;
    let page = text(&house.get(&format!("/app/actions/{id}"), &browser.key).await);
    let list = text(&house.get("/app/actions", &browser.key).await);
    (page, list.split("<tbody>").nth(1).unwrap().to_owned())
}

fn found(action: &mut Action, run: ExecutionStatus, verdict: Verdict, level: Level) {
    let witness = action.witness.as_mut().unwrap();
    (witness.verdict, witness.level) = (verdict, level);
    let execution = action.execution.as_mut().unwrap();
    (execution.status, execution.rows_changed) = (run, None);
    if run == ExecutionStatus::Failed {
        action.status = Status::Failed;
    }
}

#[tokio::test]
async fn what_a_failed_call_left_behind_is_told_and_that_it_left_nothing_is_not_green() {
    use ExecutionStatus::Failed;
    let (page, list) = recorded(|it| found(it, Failed, Verdict::Verified, Level::L2)).await;
    for html in [&page, &list] {
        assert!(!is_green(html) && html.contains("Not applied"), "{html}");
    }
    assert!(page.contains("It failed, and nothing of it was applied."), "{page}");
    assert!(!page.contains("consistent with itself"), "one sentence is enough: {page}");
    let (page, list) = recorded(|it| found(it, Failed, Verdict::Mismatch, Level::L2)).await;
    for html in [&page, &list] {
        assert!(!is_green(html) && html.contains("Mismatch"), "the gravest is told: {html}");
    }
    assert!(page.contains("verdict-panel bad"), "{page}");
}

#[tokio::test]
async fn a_run_that_was_unknown_and_is_known_later_is_judged_by_how_it_ended() {
    let (page, list) = recorded(|it| {
        found(it, ExecutionStatus::Unknown, Verdict::Unverifiable, Level::L0);
        let mut later = it.clone();
        found(&mut later, ExecutionStatus::Failed, Verdict::Verified, Level::L2);
        let (execution, witness) = (later.execution, later.witness.unwrap());
        let (deed, amended_at) = (it.deed.unwrap(), it.created_at);
        it.amendment = Some(Box::new(Amendment { deed, amended_at, execution, witness }));
    })
    .await;
    for html in [&page, &list] {
        assert!(html.contains("Unverifiable") && html.contains("Not applied"), "{html}");
        assert!(!is_green(html), "{html}");
    }
}

#[tokio::test]
async fn an_action_of_before_rows_were_counted_is_told_without_them() {
    let (page, list) = recorded(|it| it.execution.as_mut().unwrap().rows_changed = None).await;
    for html in [&page, &list] {
        assert!(html.contains("Reported by the tool, and checked by nobody else."), "{html}");
    }
}

#[tokio::test]
async fn an_answer_that_is_not_kept_is_said_not_to_be_shown() {
    let report = Report::of_rows(None);
    let result = json!("x".repeat(300));
    let (action, page, _) = pages_of(Outcome::Succeeded { result, report }).await;
    assert_eq!((action["status"].as_str(), &action["result"]), (Some("executed"), &Value::Null));
    assert!(page.contains("The result is not shown here; its digest is."), "{page}");
    assert!(!page.contains("The tool returned null."), "{page}");
}

#[tokio::test]
async fn the_overview_counts_what_was_checked_and_says_what_was_only_reported() {
    let house = House::that_runs(refunding("20.00")).await;
    house.clock.pass(Duration::from_mins(1));
    house.refund(5).await;
    house.refund(6).await;
    house.post("/v1/actions", json!({ "tool": "mail.refund", "args": {} })).await;
    let totals = house.get("/v1/overview", &house.org_key).await.body["totals"].clone();
    let told = ["verified", "checked", "reported"].map(|name| totals[name].clone());
    assert_eq!(told, [3, 1, 2].map(|count| json!(count)));
    let browser = approver(&house, "vie@example.com", Role::Viewer).await.0;
    let page = text(&house.get("/app", &browser.key).await);
    assert!(page.contains("<span>Checked</span></a><strong>1</strong>"), "{page}");
    assert!(page.contains("2 only reported · 0 unverifiable"), "{page}");
    assert!(!page.contains("Verified"), "{page}");
    // The list behind the number has as many.
    let href =
        page.split("href=\"").find(|part| part.starts_with("/app/actions?level=L1,L2&")).unwrap();
    let href = href.split('"').next().unwrap().replace("&amp;", "&");
    let list = text(&house.get(&href, &browser.key).await);
    assert_eq!(list.matches("<td class=\"main\">").count(), 1, "{list}");
}

#[tokio::test]
async fn an_estimate_is_a_table_with_words_and_without_indexes() {
    let rows = vec![json!({
        "table": "refunds", "op": "insert", "rows": 1, "note": "20.00 of 22.52", "before": null,
        "after": { "amount": "20.00", "<b>": "pay\u{202e}lla" }, "left": ["2.52"],
    })];
    let tool = ScriptedTool::new("shop.credit", SideEffect::Write);
    tool.estimate_rows(rows);
    let house = House::that_runs(Arc::new(tool)).await;
    let held = house.post("/v1/actions", json!({ "tool": "shop.credit", "args": {} })).await;
    let approval = held.body["approval"]["id"].as_str().unwrap().to_owned();
    let browser = approver(&house, "ada@example.com", Role::Admin).await.0;
    let page = text(&house.get(&format!("/app/approvals/{approval}"), &browser.key).await);
    assert!(page.contains("1 row of refunds would be added: 20.00 of 22.52"), "{page}");
    let table = page.split("Rows now, and after the call as the tool expects</caption>").nth(1);
    let table = table.unwrap_or_else(|| panic!("{page}")).split("</table>").next().unwrap();
    for shown in [
        "refunds",
        "new row",
        "amount",
        "<ins><bdi class=\"text\">20.00</bdi></ins>",
        "&lt;b&gt;",
        "<span class=\"hidden\"> none</span>",
    ] {
        assert!(table.contains(shown), "{shown}: {table}");
    }
    assert!(page.contains("<th scope=\"col\"><bdi>left</bdi></th>"), "{page}");
    assert!(
        !page.contains("<bdi>0.") && !page.contains('\u{202e}') && !page.contains("<b>"),
        "{page}"
    );
}
