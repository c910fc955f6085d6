//! The room in which an org, its people, its keys and one's own sessions are looked after.

use std::sync::Arc;

use serde_json::Value;
use web::{ApiError, Call};

use super::{NO_QUERY, Visit, views::SettingsPage};
use crate::{
    access::{ADMIN_READERS, OWNERS, SIGNED_IN, VIEWERS, Visitor},
    app::App,
    handlers::{invites, members, org, org_keys, sessions},
    refusal::Answer,
};

/// The most rows of each list: an org has few people and few keys.
const ALL: &str = "limit=100";

/// The parts of the room.
const TABS: [&str; 4] = ["org", "members", "keys", "sessions"];

/// `GET /app/settings`
pub(crate) async fn first(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    room(Visit::new(app, caller, call), "org").await
}

/// `GET /app/settings/{tab}`
pub(crate) async fn part(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let asked: String = call.param("tab")?;
    let found = TABS.into_iter().find(|tab| *tab == asked);
    room(Visit::new(app, caller, call), found.ok_or_else(ApiError::not_found)?).await
}

async fn room(visit: Visit, tab: &str) -> Answer {
    let none: &[(&str, &str)] = &[];
    let org = visit.read((VIEWERS, org::show), none, NO_QUERY).await?;
    let me = visit.read((SIGNED_IN, sessions::show), none, NO_QUERY).await?;
    let (mut people, mut asked, mut keys, mut open) = <(Value, Value, Value, Value)>::default();
    match tab {
        "members" => {
            people = visit.read((VIEWERS, members::list), none, (ALL, members::LIST)).await?;
            asked =
                visit.read_if((ADMIN_READERS, invites::list), none, (ALL, invites::LIST)).await?;
        }
        "keys" => {
            keys = visit.read_if((OWNERS, org_keys::list), none, (ALL, org_keys::LIST)).await?;
        }
        "sessions" => {
            open = visit.read((SIGNED_IN, sessions::list), none, (ALL, sessions::LIST)).await?;
        }
        _ => {}
    }
    let shown =
        SettingsPage { tab, org, me, members: people, invites: asked, keys, sessions: open };
    visit.page("settings", &shown).await
}
