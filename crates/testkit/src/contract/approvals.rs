//! What people are asked: found by its id, and listed by how it stands.

use std::time::Duration;

use gate::{ApprovalFilter, Caller, PersonIdentity, Practice, SLOT, Span};
use ledger::{
    Changes,
    record::{Action, Agent, Answer, Approval, Member, PolicyVersion},
};
use model::{ActionId, ApprovalStatus, Assurance, DeedId, MemberId, PolicyVersionId, Role, UserId};
use policy::Excluded;
use serde_json::json;

use super::Store;
use crate::{Draft, Scribe, sample};

const DAY: Duration = Duration::from_hours(24);

pub(super) async fn check(store: &dyn Store) {
    a_question_is_found_by_its_id_in_its_own_org(store).await;
    questions_are_listed_by_how_they_stand_newest_first(store).await;
    Box::pin(a_person_is_shown_what_waits_for_them(store)).await;
    a_person_is_not_shown_what_they_made_the_rule_or_own_the_agent_of(store).await;
    those_who_may_approve_are_found_and_who_made_a_version(store).await;
    what_was_done_before_a_call_is_told(store).await;
}

fn waiting(agent: &Agent, scribe: &mut Scribe) -> Action {
    scribe.now = scribe.now + Duration::from_millis(1);
    let mint = scribe.mint();
    let (request, _) = sample::request(&json!({}), &mint);
    sample::waiting(&sample::action(agent, request, &mint), scribe.now + DAY, &mint)
}

/// The action with this changed in its question.
fn with(action: &Action, change: impl FnOnce(&mut Approval)) -> Action {
    let mut action = action.clone();
    action.approval.as_mut().map(change).unwrap();
    action
}

fn begun(action: &Action) -> Changes {
    sample::begun(action.clone(), Vec::new())
}

fn ids<'a>(actions: impl IntoIterator<Item = &'a Action>) -> Vec<ActionId> {
    actions.into_iter().map(|action| action.id).collect()
}

async fn listed(store: &dyn Store, scribe: &Scribe, filter: &ApprovalFilter) -> Vec<ActionId> {
    ids(&store.approvals(scribe.org, filter, None, 100).await.unwrap().actions)
}

async fn a_question_is_found_by_its_id_in_its_own_org(store: &dyn Store) {
    let mut scribe = Scribe::created(1_030, store).await;
    let agent = scribe.agent("one");
    let action = waiting(&agent, &mut scribe);
    let id = action.approval.as_ref().unwrap().id;
    scribe.append(store, vec![agent.into(), begun(&action)]).await.unwrap();
    assert_eq!(store.asked(scribe.org, id).await.unwrap(), Some(action.id));
    let other = Scribe::created(1_031, store).await;
    assert_eq!(store.asked(other.org, id).await.unwrap(), None);
}

async fn questions_are_listed_by_how_they_stand_newest_first(store: &dyn Store) {
    let mut scribe = Scribe::created(1_032, store).await;
    let (one, two) = (scribe.agent("one"), scribe.agent("two"));
    let waits: Vec<_> = (0..3).map(|_| waiting(&one, &mut scribe)).collect();
    let of_two = waiting(&two, &mut scribe);
    let mint = scribe.mint();
    let (request, _) = sample::request(&json!({}), &mint);
    let unasked = sample::action(&one, request, &mint);
    let all = waits.iter().chain([&of_two, &unasked]).map(begun);
    let agents = [one.clone(), two].map(Changes::from);
    scribe.append(store, agents.into_iter().chain(all).collect::<Vec<_>>()).await.unwrap();
    let sealed = sample::denied(&waits[0], scribe.mint().id(DeedId::from_uuid));
    let sealed = with(&sealed, |approval| approval.status = ApprovalStatus::Voided);
    scribe.append(store, vec![sample::moved(sealed)]).await.unwrap();
    let every = ApprovalFilter::default();
    let newest = [of_two.id, waits[2].id, waits[1].id, waits[0].id];
    assert_eq!(listed(store, &scribe, &every).await, newest);
    let stands = |statuses: &[ApprovalStatus]| ApprovalFilter {
        statuses: statuses.to_vec(),
        ..ApprovalFilter::default()
    };
    let (pending, voided) = (ApprovalStatus::Pending, ApprovalStatus::Voided);
    assert_eq!(listed(store, &scribe, &stands(&[pending])).await, newest[..3]);
    assert_eq!(listed(store, &scribe, &stands(&[voided])).await, newest[3..]);
    assert_eq!(listed(store, &scribe, &stands(&[voided, pending, voided])).await, newest);
    let of_one = ApprovalFilter { agent: Some(one.id), ..every.clone() };
    assert_eq!(listed(store, &scribe, &of_one).await, newest[1..]);
    let glob = |text| ApprovalFilter { tool: policy::Glob::parse(text).ok(), ..every.clone() };
    assert_eq!(listed(store, &scribe, &glob(&waits[0].tool)).await, newest);
    assert_eq!(listed(store, &scribe, &glob("nothing.*")).await, []);
    let between = ApprovalFilter {
        from: Some(waits[1].created_at),
        to: Some(of_two.created_at),
        ..every.clone()
    };
    assert_eq!(listed(store, &scribe, &between).await, newest[1..3]);
    // Page by page.
    let page = store.approvals(scribe.org, &every, None, 3).await.unwrap();
    assert_eq!((ids(&page.actions), page.has_more), (newest[..3].to_vec(), true));
    let rest = store.approvals(scribe.org, &every, Some(newest[2]), 3).await.unwrap();
    assert_eq!((ids(&rest.actions), rest.has_more), (newest[3..].to_vec(), false));
}

async fn a_person_is_shown_what_waits_for_them(store: &dyn Store) {
    let mut scribe = Scribe::created(1_033, store).await;
    let agent = scribe.agent("one");
    let user = scribe.mint().id(UserId::from_uuid);
    let member = scribe.mint().id(MemberId::from_uuid);
    let names = vec![member.to_string(), user.to_string(), "ann@example.com".to_owned()];
    let asked = PersonIdentity { user, role: Role::Admin, names };
    let answer = Answer {
        by: member,
        revision: 1,
        user,
        by_address: true,
        decision: deed::Vote::Approve,
        assurance: Assurance::Session,
        at: scribe.now,
        note: None,
    };
    let mut from = |from: &[&str]| {
        let names = from.iter().map(ToString::to_string).collect();
        with(&waiting(&agent, &mut scribe), |approval| approval.from = names)
    };
    let anybody = from(&[]);
    // Who has a role may answer what is asked of those below it.
    let by_role = from(&["role:owner", "role:viewer"]);
    let by_address = from(&["member:Ann@example.com"]);
    let by_id = from(&[&format!("member:{member}")]);
    let of_others = from(&["role:owner", "member:bob@example.com"]);
    let said = with(&from(&[]), |approval| approval.decisions = vec![answer]);
    let on_behalf =
        |action: Action| Action { on_behalf_of: Some("ANN@example.com".to_owned()), ..action };
    let own = on_behalf(from(&[]));
    let harmless = with(&on_behalf(from(&[])), |approval| approval.exclude.clear());
    let over = with(&from(&[]), |approval| approval.status = ApprovalStatus::Expired);
    let over = sample::denied(&over, scribe.mint().id(DeedId::from_uuid));
    let over = with(&over, |approval| approval.status = ApprovalStatus::Expired);
    let all = [&anybody, &by_role, &by_address, &by_id, &of_others, &said, &own, &harmless, &over];
    let rows = [Changes::from(agent)].into_iter().chain(all.map(begun));
    scribe.append(store, rows.collect::<Vec<_>>()).await.unwrap();
    let filter = ApprovalFilter { waits_for: Some(asked), ..ApprovalFilter::default() };
    let hers = [&harmless, &by_id, &by_address, &by_role, &anybody];
    assert_eq!(listed(store, &scribe, &filter).await, ids(hers));
}

async fn a_person_is_not_shown_what_they_made_the_rule_or_own_the_agent_of(store: &dyn Store) {
    let mut scribe = Scribe::created(1_039, store).await;
    let mint = scribe.mint();
    let (user, member) = (mint.id(UserId::from_uuid), mint.id(MemberId::from_uuid));
    let names = vec![member.to_string(), user.to_string()];
    let asked = PersonIdentity { user, role: Role::Admin, names };
    let policy = sample::policy(scribe.org, "hers", &mint);
    let version = sample::policy_version(&policy, 1, &mint);
    let version = PolicyVersion { author: Some(member.to_string()), ..version };
    let (one, owned) = (scribe.agent("one"), scribe.agent("two"));
    let owned = Agent { owner: Some(member), ..owned };
    // Each once with what excludes her, and once with what does not.
    let mut asks = |agent: &Agent, who| {
        let mut action = waiting(agent, &mut scribe);
        if agent.owner.is_none() {
            action.decision.policy_version = version.id;
        }
        with(&action, |approval| {
            approval.from.clear();
            approval.exclude = vec![who];
        })
    };
    let authored = asks(&one, Excluded::PolicyAuthor);
    let authored_freely = asks(&one, Excluded::AgentOwner);
    let of_owned = asks(&owned, Excluded::AgentOwner);
    let of_owned_freely = asks(&owned, Excluded::PolicyAuthor);
    let all = [&authored, &authored_freely, &of_owned, &of_owned_freely].map(begun);
    let rows = [one.into(), owned.into(), policy.into(), version.into()];
    scribe.append(store, rows.into_iter().chain(all).collect::<Vec<_>>()).await.unwrap();
    let filter = ApprovalFilter { waits_for: Some(asked), ..ApprovalFilter::default() };
    let hers = [&of_owned_freely, &authored_freely];
    assert_eq!(listed(store, &scribe, &filter).await, ids(hers));
}

async fn those_who_may_approve_are_found_and_who_made_a_version(store: &dyn Store) {
    let mut scribe = Scribe::created(1_034, store).await;
    let member = |number: u8, can_approve| Member {
        id: scribe.mint().id(MemberId::from_uuid),
        org: scribe.org,
        user: scribe.mint().id(UserId::from_uuid),
        role: Role::Viewer,
        can_approve,
        joined_at: scribe.now + Duration::from_secs(u64::from(number)),
        role_since: scribe.now,
        removed_at: None,
        revision: 1,
    };
    let (late, early, mute) = (member(2, true), member(1, true), member(0, false));
    let gone = Member { removed_at: Some(scribe.now + DAY), ..member(0, true) };
    let mint = scribe.mint();
    let policy = sample::policy(scribe.org, "asks", &mint);
    let sample = sample::policy_version(&policy, 1, &mint);
    let author = Some(early.id.to_string());
    let version = PolicyVersion { author: author.clone(), ..sample };
    let id = version.id;
    let members = [&late, &early, &mute, &gone].map(|member| Changes::from(member.clone()));
    let agent = Agent { owner: Some(early.id), ..scribe.agent("owned") };
    let rows = [policy.into(), version.into(), agent.clone().into()];
    let rows = members.into_iter().chain(rows);
    scribe.append(store, rows.collect::<Vec<_>>()).await.unwrap();
    assert!(!store.has_one_member(scribe.org).await.unwrap(), "some may not approve");
    let found = store.approvers(scribe.org, None, 10).await.unwrap();
    assert_eq!(found, [early.clone(), late.clone()]);
    let first = store.approvers(scribe.org, None, 1).await.unwrap();
    assert_eq!(first, std::slice::from_ref(&early));
    let behind = Some((early.joined_at, early.id));
    let rest = store.approvers(scribe.org, behind, 10).await.unwrap();
    assert_eq!(rest, std::slice::from_ref(&late));
    let has = async |org, members: &[MemberId], users: &[UserId]| {
        store.has_one_of(org, (members, users)).await.unwrap()
    };
    let stranger = scribe.mint();
    let stranger = (stranger.id(MemberId::from_uuid), stranger.id(UserId::from_uuid));
    assert!(has(scribe.org, &[stranger.0, mute.id], &[]).await, "some may not approve");
    assert!(has(scribe.org, &[], &[stranger.1, mute.user]).await);
    assert!(!has(scribe.org, &[gone.id, stranger.0], &[gone.user, stranger.1]).await);
    assert!(!has(scribe.org, &[], &[]).await);
    let elsewhere = Scribe::created(1_047, store).await;
    assert!(!has(elsewhere.org, &[mute.id], &[mute.user]).await);
    assert_eq!(store.author(scribe.org, id).await.unwrap(), author);
    let asks = Caller { org: Some(scribe.org_row()), agent: Some(agent.clone()) };
    assert_eq!(store.caller(scribe.org, agent.id).await.unwrap(), asks);
    let unknown = Caller { agent: None, ..asks };
    assert_eq!(store.caller(scribe.org, scribe.agent("free").id).await.unwrap(), unknown);
    let none = scribe.mint().id(PolicyVersionId::from_uuid);
    assert_eq!(store.author(scribe.org, none).await.unwrap(), None);
    // Of an org that others leave, one is left, and then nobody.
    for (leaves, has_one) in [(&late, false), (&mute, true), (&early, false)] {
        let left = Member { removed_at: Some(scribe.now + DAY), ..leaves.clone() };
        scribe.append(store, vec![left.into()]).await.unwrap();
        assert_eq!(store.has_one_member(scribe.org).await.unwrap(), has_one);
    }
}

async fn what_was_done_before_a_call_is_told(store: &dyn Store) {
    let mut scribe = Scribe::created(1_046, store).await;
    let (one, two) = (scribe.agent("one"), scribe.agent("two"));
    scribe.append(store, vec![one.clone().into(), two.clone().into()]).await.unwrap();
    let now = scribe.now;
    let mut ended = Vec::new();
    let mut end =
        async |scribe: &mut Scribe, (agent, tool): (&Agent, &str), ago: u64, ran: bool| {
            scribe.now = now.before(Duration::from_hours(ago));
            let mint = scribe.mint();
            let (request, _) = sample::request(&json!({}), &mint);
            let mut action = sample::action(agent, request, &mint);
            tool.clone_into(&mut action.tool);
            let deed = scribe.deed(Some(action.id));
            let end = if ran { sample::sealed } else { sample::denied };
            let mut draft = Draft::default();
            draft.changes.extend(begun(&end(&action, deed.draft.id)));
            draft.deeds.push(deed);
            scribe.now = now;
            scribe.append(store, draft).await.unwrap();
            ended.push(action);
        };
    // A call that was refused ran nothing, and one that is older than what is asked has no slot.
    end(&mut scribe, (&one, "a.run"), 1, false).await;
    end(&mut scribe, (&one, "a.run"), 5, true).await;
    end(&mut scribe, (&one, "b.run"), 7, true).await;
    end(&mut scribe, (&one, "b.run"), 100, true).await;
    end(&mut scribe, (&two, "c.run"), 2, false).await;
    store.count_up(None, 1_000, 1_000).await.unwrap();
    let since = now.before(DAY);
    let told = async |agent: &Agent, tool: &str| {
        store.practice(scribe.org, (agent.id, tool), since).await.unwrap()
    };
    let slot = |place: usize| {
        let at: model::Timestamp = ended[place].created_at;
        Span::around(at, at, SLOT).from
    };
    let ones = Practice { org_ran_it: true, agent_ran_it: true, slots: vec![slot(2), slot(1)] };
    assert_eq!(told(&one, "a.run").await, ones);
    assert_eq!(told(&one, "b.run").await, ones);
    let never = Practice { org_ran_it: false, agent_ran_it: false, ..ones.clone() };
    assert_eq!(told(&one, "c.run").await, never, "it was refused");
    let of_others = Practice { agent_ran_it: false, slots: Vec::new(), ..ones };
    assert_eq!(told(&two, "a.run").await, of_others);
    assert_eq!(told(&two, "c.run").await, Practice::default());
}
