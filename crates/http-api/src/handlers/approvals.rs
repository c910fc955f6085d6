//! What people are asked, and their answers.

use std::{collections::BTreeMap, sync::Arc};

use deed::Vote;
use gate::{Barring, Judged, Judgement, PersonIdentity, Question, Reference};
use ledger::{
    StoreDown,
    record::{Action, Member},
};
use model::{ActionId, Assurance, Timestamp, UserId};
use web::{ApiError, Call, List, ListView, Reply, see_other};

use super::detached::detached;
use crate::{
    access::{ApprovalReader, Approver},
    app::App,
    refusal::{Answer, CallError},
    wire::approvals::{ApprovalDetail, ApprovalView, Viewing, answer_of, approval_filter},
};

/// The most people who are told to be able to answer.
const MOST_ELIGIBLE: usize = 100;

/// `GET /v1/approvals`
pub(crate) async fn list(app: Arc<App>, caller: ApprovalReader, call: Call) -> Answer {
    let (mut filter, mine) = approval_filter(&call.query)?;
    let listed = List { name: "approvals", org: caller.org(), agent: caller.only_agent() };
    let page = app.cursors.page::<(Timestamp, ActionId)>(listed, &call.query)?;
    let viewer = Viewer::of(&app, &caller).await?;
    if mine {
        let Some(person) = &viewer.person else {
            return Err(ApiError::invalid("mine", "only a session has its own approvals").into());
        };
        if !person.member.can_approve {
            // Whoever may answer nothing has nothing that waits for them.
            return Ok(nothing());
        }
        filter.waits_for = Some(person.asked());
    }
    if let Some(own) = caller.only_agent() {
        if filter.agent.is_some_and(|named| named != own) {
            return Ok(nothing());
        }
        filter.agent = Some(own);
    }
    let after = page.after.map(|(_, id)| id);
    let found = app.gate.approvals(caller.org(), &filter, after, page.limit).await?;
    let barrings = viewer.barring(&app, &found.actions).await?;
    let view = |action| ApprovalView::of(action, viewer.viewing(action, &barrings));
    let part = (&*found.actions, found.has_more);
    Ok(Reply::ok(&page.of_part(part, |it| (it.created_at, it.id), view)))
}

/// A list without a question.
fn nothing() -> Reply {
    Reply::ok(&ListView::whole(Vec::<ApprovalView<'_>>::new()))
}

/// `GET /v1/approvals/{id}`
pub(crate) async fn show(app: Arc<App>, caller: ApprovalReader, call: Call) -> Answer {
    let found = app.gate.approval(caller.org(), call.param("id")?).await?;
    let own = |action: &Action| caller.only_agent().is_none_or(|agent| agent == action.agent.id);
    let detail = found.filter(|it| own(&it.action)).ok_or_else(ApiError::not_found)?;
    let viewer = Viewer::of(&app, &caller).await?;
    let actions = std::slice::from_ref(&detail.action);
    let barrings = viewer.barring(&app, actions).await?;
    let view = ApprovalView::of(&detail.action, viewer.viewing(&detail.action, &barrings));
    let shown = ApprovalDetail::of(view, &detail, caller.member().is_some());
    if caller.only_agent().is_some() {
        return Ok(Reply::ok(&shown.for_agent()));
    }
    let eligible = eligible(&app, &detail.action).await?;
    Ok(Reply::ok(&shown.with_eligible(&eligible)))
}

/// `POST /v1/approvals/{id}/approve`
pub(crate) async fn approve(app: Arc<App>, caller: Approver, call: Call) -> Answer {
    judge(app, caller, &call, Vote::Approve).await
}

/// `POST /v1/approvals/{id}/deny`
pub(crate) async fn deny(app: Arc<App>, caller: Approver, call: Call) -> Answer {
    judge(app, caller, &call, Vote::Deny).await
}

async fn judge(app: Arc<App>, caller: Approver, call: &Call, vote: Vote) -> Answer {
    let approval = call.param("id")?;
    let (shown, note) = answer_of(call)?;
    let address = address(&app, caller.user).await?;
    let judgement = Judgement {
        org: caller.seat.org,
        approval,
        member: caller.seat.member,
        user: caller.user,
        address: address.clone(),
        vote,
        assurance: Assurance::Session,
        shown,
        note,
    };
    let gate = app.gate.clone();
    let Judged { action, .. } = detached(async move { gate.judge(judgement).await }).await?;
    if call.is_form() {
        return Ok(see_other(&format!("/app/approvals/{approval}#asked"))?);
    }
    let viewer = Viewer::member(&app, &caller, address).await?;
    let barrings = viewer.barring(&app, std::slice::from_ref(&*action)).await?;
    Ok(Reply::ok(&ApprovalView::of(&action, viewer.viewing(&action, &barrings))))
}

/// The address of somebody by which rules may call them.
pub(super) async fn address(app: &App, user: UserId) -> Result<Option<String>, CallError> {
    let found = app.sign_in.people.address(user).await?;
    Ok(found.map(|address| address.as_str().to_owned()))
}

/// The members who may answer at this moment.
pub(super) async fn eligible(app: &App, action: &Action) -> Result<Vec<Member>, StoreDown> {
    app.gate.eligible(action, MOST_ELIGIBLE).await
}

/// Whoever looks, as far as what they see hangs on it.
struct Viewer {
    person: Option<Person>,
    is_agent: bool,
}

/// A member who looks.
struct Person {
    member: Member,
    address: Option<String>,
}

impl Viewer {
    async fn of(app: &App, caller: &ApprovalReader) -> Result<Self, CallError> {
        let Some(approver) = caller.member() else {
            return Ok(Self { person: None, is_agent: caller.only_agent().is_some() });
        };
        let address = address(app, approver.user).await?;
        Self::member(app, approver, address).await
    }

    /// A member with this address.
    async fn member(
        app: &App,
        approver: &Approver,
        address: Option<String>,
    ) -> Result<Self, CallError> {
        let member = app.admin.member_of(approver.seat.org, approver.user).await?;
        let person = member.map(|member| Person { member, address });
        Ok(Self { person, is_agent: false })
    }

    /// What keeps people from answering what these actions ask, beside what the questions say.
    async fn barring(&self, app: &App, of: &[Action]) -> Result<Barrings, CallError> {
        let mut found = Barrings::new();
        if self.person.is_some() {
            for action in of {
                // Calls of one agent under one version have it in common, and are asked for once.
                let known = of.iter().find(|it| is_asked_alike(it, action));
                let known = known.and_then(|it| found.get(&it.id)).cloned();
                let barring = match known {
                    Some(barring) => barring,
                    None => app.gate.barring(action).await?,
                };
                found.insert(action.id, barring);
            }
        }
        Ok(found)
    }

    /// What the question is to whoever looks.
    fn viewing(&self, action: &Action, barrings: &Barrings) -> Viewing {
        let (Some(Person { member, address }), Some(approval), Some(barring)) =
            (self.person.as_ref(), action.approval.as_ref(), barrings.get(&action.id))
        else {
            return if self.is_agent { Viewing::Agent } else { Viewing::Onlooker };
        };
        let approver = gate::Approver { member, address: address.as_deref() };
        let (author, owner) = (barring.author.as_deref(), barring.owner);
        let stated = &Reference::of(action);
        match approver.barred(Question { action, approval, stated, author, owner }) {
            None if barring.is_held => Viewing::Held,
            barred => Viewing::Person(barred),
        }
    }
}

/// Whether the same rows say who may not answer about both.
fn is_asked_alike(one: &Action, other: &Action) -> bool {
    let rows = |it: &Action| (it.agent.id, it.decision.policy_version, it.state);
    let exclude = |it: &Action| it.approval.as_ref().map(|approval| approval.exclude.clone());
    rows(one) == rows(other) && exclude(one) == exclude(other)
}

/// What keeps people from answering, by the action that they are asked about.
type Barrings = BTreeMap<ActionId, Barring>;

impl Person {
    fn asked(&self) -> PersonIdentity {
        let ids = [self.member.id.to_string(), self.member.user.to_string()];
        PersonIdentity {
            user: self.member.user,
            role: self.member.role,
            names: ids.into_iter().chain(self.address.clone()).collect(),
        }
    }
}
