//! What people are asked: the list with the question that is read, and the page of a mail's link.

use std::sync::Arc;

use crypto::Secret;
use serde_json::{Value, json};
use web::{ApiError, Call, Param};

use super::{Referrer, Visit, Visitor, page, shown, text};
use crate::{
    access::{ACTION_READERS, APPROVAL_READERS, Anyone},
    app::App,
    handlers::{actions::read, approval_links, approvals},
    refusal::Answer,
    wire::approvals::LIST,
};

/// The parameters of the page.
pub(crate) const ROOM: &[Param] =
    &[Param::One("view"), Param::One("cursor"), Param::One("problem")];
/// The parameters of the page of a link.
pub(crate) const LINK: &[Param] = &[Param::One("t"), Param::One("problem")];

/// Which questions a list shows.
const VIEWS: [(&str, &str); 3] = [
    ("mine", "mine=true&status=pending"),
    ("waiting", "status=pending"),
    ("decided", "status=approved,denied,expired,cancelled,voided"),
];

/// `GET /app/approvals`
pub(crate) async fn list(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    room(&visit, None).await
}

/// `GET /app/approvals/{id}`
pub(crate) async fn one(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let id: String = visit.call.param("id")?;
    room(&visit, Some(&id)).await
}

async fn room(visit: &Visit, open: Option<&str>) -> Answer {
    let (mut question, mut action) = (Value::Null, Value::Null);
    if let Some(id) = open {
        question =
            visit.read((APPROVAL_READERS, approvals::show), &[("id", id)], super::NO_QUERY).await?;
        let of = text(&question, "action").unwrap_or_default();
        action =
            visit.read((ACTION_READERS, read::show), &[("id", of)], ("", read::DETAIL)).await?;
    }
    let (view, query) = view(visit, &question)?;
    let cursor = visit.asked("cursor").map(pages::encoded);
    let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
    let query = format!("{query}&limit=20{cursor}");
    let list = visit.read((APPROVAL_READERS, approvals::list), &[], (&query, LIST)).await?;
    let shown = shown([
        ("view", view.into()),
        ("list", list),
        ("open", question),
        ("action", action),
        ("problem", visit.asked("problem").into()),
    ]);
    visit.page("app/approvals.html", "approvals", shown).await
}

/// The view that is asked for; of a question that is settled the settled ones.
fn view(visit: &Visit, open: &Value) -> Result<(&'static str, &'static str), ApiError> {
    let may_decide = open.get("may_decide").is_some_and(|may| *may == json!(true));
    let usual = match text(open, "status") {
        Some("pending") if may_decide => "mine",
        Some("pending") => "waiting",
        Some(_) => "decided",
        None => "mine",
    };
    let asked = visit.asked("view").unwrap_or(usual);
    let found = VIEWS.into_iter().find(|(name, _)| *name == asked);
    found.ok_or_else(|| ApiError::invalid("view", "expected `mine`, `waiting` or `decided`"))
}

/// `GET /approve`
///
/// Opening a link decides nothing: programs that look at mails open them, too.
pub(crate) async fn linked(app: Arc<App>, _: Anyone, call: Call) -> Answer {
    let token = call.query.text("t").unwrap_or_default().to_owned();
    let found = approval_links::look(&app, &Secret::new(token.clone())).await;
    let mut problem = call.query.text("problem").map(str::to_owned);
    let link = match found {
        Ok(reply) => reply.into_json().await.ok_or_else(ApiError::internal)?,
        Err(error) => {
            let error = ApiError::from(error);
            if error.status().is_server_error() {
                return Err(error.into());
            }
            // What it was good for is over, or it never was good for anything.
            problem = problem.or(Some(error.code().to_string()));
            Value::Null
        }
    };
    let shown = shown([("link", link), ("token", token.into()), ("problem", problem.into())]);
    Ok(page(&app, "approve.html", Referrer::Nobody, &shown)?)
}
