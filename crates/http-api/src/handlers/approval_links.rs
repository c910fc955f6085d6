//! What people are asked, read and answered with the link of their mail, without a session.
//!
//! The link stands in the body and nowhere else: an address would be kept by browsers and proxies, and
//! whoever opens mails before people do would answer in their name.

use std::{collections::BTreeMap, sync::Arc};

use crypto::Secret;
use gate::{Approver, JudgeError, Judgement, Link, Question, Reference};
use ledger::record::{Action, Member};
use model::{ApprovalStatus, Assurance, MemberId, Role, State};
use people::LinkedTo;
use web::{ApiError, Call, Fields, Reply, see_other};

use super::{
    approvals::{address, eligible},
    detached::detached,
};
use crate::{
    access::Anyone,
    app::App,
    refusal::{Answer, CallError},
    wire::{
        approval_links::{Given, LinkView, link_of},
        approvals::{ApprovalDetail, ApprovalView, Viewing},
    },
};

/// `POST /v1/approvals/link`
///
/// A form is answered by the page of the link, which tells what became of it.
pub(crate) async fn answer(app: Arc<App>, _: Anyone, call: Call) -> Answer {
    app.sign_in.site.no_other_page(&call.headers)?;
    let mut fields = call.fields()?;
    let token = link_of(&mut fields)?;
    if !call.is_form() {
        return given(&app, &token, fields).await;
    }
    let page = format!("/approve?t={}", pages::encoded(token.expose()));
    match given(&app, &token, fields).await.map_err(ApiError::from) {
        Ok(_) => Ok(see_other(&format!("{page}#asked"))?),
        Err(error) if error.status().is_client_error() => {
            Ok(see_other(&format!("{page}&problem={}#notice", error.code()))?)
        }
        Err(error) => Err(error.into()),
    }
}

async fn given(app: &App, token: &Secret<String>, beside: Fields) -> Answer {
    let given = Given::read(beside)?;
    let (to, holder) = holder(app, token).await?;
    let Some(given) = given else { return holder.look(app, to).await };
    let judgement = Judgement {
        org: to.org,
        approval: to.approval,
        member: holder.member.id,
        user: holder.member.user,
        address: holder.address,
        vote: given.vote,
        assurance: Assurance::EmailLink,
        shown: given.shown,
        note: given.note,
    };
    // Whoever shows a link is not told what there is.
    let hides = |error: JudgeError| {
        if matches!(error, JudgeError::NotFound) { JudgeError::Unauthenticated } else { error }
    };
    let gate = app.gate.clone();
    let judged = detached(async move { gate.judge(judgement).await }).await;
    let action = judged.map_err(hides)?.action;
    let link = app.gate.link(&action, holder.member.id).ok_or(JudgeError::Unauthenticated)?;
    Ok(Reply::ok(&LinkView::of(&action, &holder.member, &link)))
}

/// What stands behind a link, for whoever only looks.
pub(crate) async fn look(app: &App, token: &Secret<String>) -> Answer {
    let (to, holder) = holder(app, token).await?;
    holder.look(app, to).await
}

/// The addresses of these members, where whom the link was sent to may know them.
pub(crate) async fn people(
    app: &App,
    token: &Secret<String>,
    members: &[MemberId],
) -> Result<BTreeMap<MemberId, String>, CallError> {
    let mut found = BTreeMap::new();
    if members.is_empty() {
        return Ok(found);
    }
    let (to, holder) = holder(app, token).await?;
    for id in members.iter().filter(|_| holder.member.role.is_at_least(Role::Admin)) {
        if let Some(member) = app.admin.member(to.org, *id).await? {
            found.extend(address(app, member.user).await?.map(|address| (*id, address)));
        }
    }
    Ok(found)
}

/// What the link is good for, and whom it was sent to.
async fn holder(app: &App, token: &Secret<String>) -> Result<(LinkedTo, Holder), CallError> {
    let to = app.sign_in.people.asked_by(token).ok_or(JudgeError::Unauthenticated)?;
    let member = app.admin.member(to.org, to.member).await?.ok_or(JudgeError::Unauthenticated)?;
    Ok((to, Holder { address: address(app, member.user).await?, member }))
}

/// Whom a link was sent to.
struct Holder {
    member: Member,
    address: Option<String>,
}

impl Holder {
    /// Shows what is asked as long as the link may answer it, and how it stands afterwards.
    async fn look(&self, app: &App, to: LinkedTo) -> Answer {
        let found = app.gate.approval(to.org, to.approval).await?;
        let detail = found.ok_or(JudgeError::Unauthenticated)?;
        let action = &detail.action;
        let link = app.gate.link(action, self.member.id).ok_or(JudgeError::Unauthenticated)?;
        tells(app, action, &link)?;
        let view = LinkView::of(action, &self.member, &link);
        if !view.is_open() {
            return Ok(Reply::ok(&view));
        }
        let asked = ApprovalView::of(action, self.viewing(app, action).await?);
        let asked = ApprovalDetail::of(asked, &detail, true);
        let asked = asked.with_eligible(&eligible(app, action).await?);
        Ok(Reply::ok(&view.asking(asked)))
    }

    /// What the question is to them; who may not answer it is shown nothing of it.
    async fn viewing(&self, app: &App, action: &Action) -> Result<Viewing, CallError> {
        let approval = action.approval.as_ref().ok_or(JudgeError::Unauthenticated)?;
        let barring = app.gate.barring(action).await?;
        let (author, owner) = (barring.author.as_deref(), barring.owner);
        let stated = &Reference::of(action);
        let question = Question { action, approval, stated, author, owner };
        let approver = Approver { member: &self.member, address: self.address.as_deref() };
        let barred = approver.barred(question);
        if let Some(error) = barred.and_then(JudgeError::of) {
            return Err(error.into());
        }
        let takes_links = approval.assurance.is_none_or(|asked| asked == Assurance::EmailLink);
        Ok(match barred {
            None if !takes_links => Viewing::NoSession,
            None if barring.is_held => Viewing::Held,
            barred => Viewing::Person(barred),
        })
    }
}

/// Whether the link still tells anything.
fn tells(app: &App, action: &Action, link: &Link) -> Result<(), JudgeError> {
    let (now, status) = (app.clock.now(), action.approval.as_ref().map(|it| it.status));
    let is_over = action.approval.as_ref().is_some_and(|it| it.expires_at <= now);
    match &link.used {
        Some(used) if now < used.follows_until => Ok(()),
        Some(_) => Err(JudgeError::LinkUsed),
        None if status == Some(ApprovalStatus::Expired) => Err(JudgeError::Expired),
        None if is_over && action.state == State::PendingApproval => Err(JudgeError::Expired),
        None if link.is_live(now) => Ok(()),
        None => Err(JudgeError::LinkExpired),
    }
}
