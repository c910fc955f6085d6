//! Who the members are that a page names: whoever may read their addresses is told them beside their
//! ids.

use std::collections::BTreeSet;

use model::{MemberId, Role, UserId};
use serde_json::{Map, Value};

use super::{NO_QUERY, Shown, Visit};
use crate::{access::VIEWERS, handlers::members, refusal::CallError};

/// The most members of one page that are looked up each by itself, as those are who left the org.
const SINGLY: usize = 8;
/// Members as most orgs have no more of.
const MOST: &str = "limit=100";

impl Visit {
    /// The addresses of the members whose ids, or whose user's ids, stand in what is shown, by these
    /// ids: of the reader, and of others where the reader may know them.
    pub(super) async fn people(&self, shown: &Shown, own: &str) -> Result<Value, CallError> {
        let seat = &self.visitor.seat;
        let mut named = BTreeSet::new();
        shown.values().for_each(|value| members_in(value, &mut named));
        let mut people = Map::new();
        for id in [seat.member.to_string(), self.visitor.person.session.user.to_string()] {
            named.remove(&id);
            people.insert(id, own.into());
        }
        if named.is_empty() || seat.role == Role::Viewer {
            return Ok(Value::Object(people));
        }
        let listed = (MOST, members::LIST);
        let list = self.read_if((VIEWERS, members::list), &[], listed).await?;
        for member in list.get("data").and_then(Value::as_array).into_iter().flatten() {
            for (id, address) in known(member).filter(|(id, _)| named.remove(*id)) {
                people.insert(id.to_owned(), address.into());
            }
        }
        let left = named.iter().filter(|id| id.parse::<MemberId>().is_ok()).take(SINGLY);
        for id in left {
            let member = self.read_if((VIEWERS, members::show), &[("id", id)], NO_QUERY).await?;
            people.extend(known(&member).map(|(id, address)| (id.to_owned(), address.into())));
        }
        Ok(Value::Object(people))
    }
}

/// The ids of a member and of its user, each with the address; none where the answer has no address.
fn known(member: &Value) -> impl Iterator<Item = (&str, &str)> {
    let user = member.get("user");
    let address = user.and_then(|user| user.get("email")).and_then(Value::as_str);
    [Some(member), user]
        .into_iter()
        .filter_map(move |of| Some((of?.get("id")?.as_str()?, address?)))
}

/// The ids of members and of users that stand in a value.
fn members_in(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if is_of_somebody(text) => {
            found.insert(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| members_in(item, found)),
        Value::Object(members) => members.values().for_each(|member| members_in(member, found)),
        _ => {}
    }
}

fn is_of_somebody(text: &str) -> bool {
    text.parse::<MemberId>().is_ok() || text.parse::<UserId>().is_ok()
}
