//! What people are asked: the list with the question that is read, and the page of a mail's link.

use std::sync::Arc;

use crypto::Secret;
use model::MemberId;
use serde_json::{Value, json};
use web::{ApiError, Call, Param};

use super::{
    Referrer, Visit,
    lists::{Wanted, left_out},
    page, parameter, text,
    views::{ApprovalsPage, LeftOut, LinkPage},
};
use crate::{
    access::{ACTION_READERS, APPROVAL_READERS, Anyone, Visitor},
    app::App,
    handlers::{actions::read, approval_links, approvals},
    refusal::Answer,
    wire::approvals::LIST,
};

/// The parameters of the page: the filters of the list, the view, and what went wrong.
pub(crate) const ROOM: &[Param] = &[
    Param::One("status"),
    Param::One("agent"),
    Param::One("tool"),
    Param::One("created_at[gte]"),
    Param::One("created_at[lt]"),
    Param::One("cursor"),
    Param::One("view"),
    Param::One("problem"),
];
/// Those that are of the page alone.
const OF_PAGE: [&str; 3] = ["view", "problem", "status"];
/// The parameters of the page of a link.
pub(crate) const LINK: &[Param] = &[Param::One("t"), Param::One("problem")];

/// Which questions a list shows, whatever else it is filtered by.
const VIEWS: [(&str, &str, &str); 3] = [
    ("mine", "mine=true&", "pending"),
    ("waiting", "", "pending"),
    ("decided", "", "approved,denied,expired,cancelled,voided"),
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
    let mut unread = Vec::new();
    let (view, of_view, statuses) = view(visit, &question, &mut unread);
    let status = visit.asked("status");
    let fits = |asked: &&str| asked.split(',').all(|it| statuses.split(',').any(|of| of == it));
    let known = status.filter(fits);
    if status != known {
        let expected = format!("expected some of `{statuses}`, which the view `{view}` shows");
        unread.push(left_out("status", &expected));
    }
    let of_status = parameter("status", known.unwrap_or(statuses));
    let anyway = format!("{of_view}{of_status}limit=20");
    let wanted = Wanted { path: &[], takes: LIST, beside: &OF_PAGE, anyway: &anyway };
    let mut found = visit.list((APPROVAL_READERS, approvals::list), wanted).await?;
    if let Some(status) = status {
        found.filters.insert("status".to_owned(), status.into());
    }
    found.unread.extend(unread);
    let (listed, problem) = (found.listed(), visit.asked("problem"));
    let shown = ApprovalsPage { listed, view, open: question, action, problem };
    visit.page("approvals", &shown).await
}

/// The view that is asked for, if there is one of that name; of a question that is settled the
/// settled ones.
fn view(
    visit: &Visit,
    open: &Value,
    unread: &mut Vec<LeftOut>,
) -> (&'static str, &'static str, &'static str) {
    let may_decide = open.get("may_decide").is_some_and(|may| *may == json!(true));
    let [mine, waiting, decided] = VIEWS;
    let usual = match text(open, "status") {
        Some("pending") if may_decide => mine,
        Some("pending") => waiting,
        Some(_) => decided,
        None => mine,
    };
    let Some(asked) = visit.asked("view") else { return usual };
    let found = VIEWS.into_iter().find(|(name, ..)| *name == asked);
    found.unwrap_or_else(|| {
        unread.push(left_out("view", "expected `mine`, `waiting` or `decided`"));
        usual
    })
}

/// `GET /approve`
///
/// Opening a link decides nothing: programs that look at mails open them, too.
pub(crate) async fn linked(app: Arc<App>, _: Anyone, call: Call) -> Answer {
    let token = call.query.text("t").unwrap_or_default().to_owned();
    let secret = Secret::new(token.clone());
    let found = approval_links::look(&app, &secret).await;
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
    let people = approval_links::people(&app, &secret, &deciders(&link)).await?;
    let shown = LinkPage { link, people, token: &token, problem };
    Ok(page(&app, Referrer::Nobody, &shown)?)
}

/// The members who answered what a link asks.
fn deciders(link: &Value) -> Vec<MemberId> {
    let given = link.get("decisions").and_then(Value::as_array).into_iter().flatten();
    given.filter_map(|given| text(given, "by")?.parse().ok()).collect()
}
