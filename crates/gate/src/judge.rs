//! A person's answer to what an action asks, in one turn of its own. A yes that settles it releases
//! the action in that very turn, so that nothing is ever approved and not yet released.

use std::{collections::BTreeSet, sync::Arc};

use crypto::json::Canonical;
use deed::Vote;
use futures_util::future::{Either, select};
use ledger::{
    Entry, LedgerError, Needs, Request, Snapshot, StoreDown,
    record::{Action, Answer, Approval, Member},
};
use model::{
    ApprovalId, ApprovalStatus, Assurance, Digest, MemberId, Mint, Mode, OrgId, State, ToolName,
    UserId,
};
use serde_json::Value;

use crate::{
    approver::{Approver, Barred, Question, counts},
    carry_out::Running,
    case::Case,
    decide::held,
    events::answered_event,
    gate::Gate,
    link::Link,
    permit::AfterTurn,
    ports::Found,
    reference::Reference,
    release::Release,
    resolve::RESOLVED_WITHIN,
    resolved::Resolved,
    store::ActionDetail,
    withdraw::{needs_of_withdrawal, over, withdraw},
};

/// What a person answers.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The org.
    pub org: OrgId,
    /// What was asked.
    pub approval: ApprovalId,
    /// The member who answers; the turn says who they are by then.
    pub member: MemberId,
    /// The person that they are.
    pub user: UserId,
    /// Their address in its one form.
    pub address: Option<String>,
    /// Yes or no.
    pub vote: Vote,
    /// How they showed who they are.
    pub assurance: Assurance,
    /// The digest of what they were shown.
    pub shown: Digest,
    /// What they say about it.
    pub note: Option<String>,
}

/// Why an answer was not taken; nothing was recorded of it.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The member was removed, or is another person.
    #[error("the session or the link does not belong to a member of this org")]
    Unauthenticated,
    /// There is no such approval.
    #[error("there is no such approval")]
    NotFound,
    /// The member is not among those who may answer.
    #[error("you are not one of the people who may decide this approval")]
    NotAnApprover,
    /// The rule excludes the member.
    #[error(
        "you cannot decide this: the rule excludes you, because the call is on your behalf, or you \
         wrote the policy version or own the agent"
    )]
    Excluded,
    /// What was shown is not what is asked.
    #[error(
        "`context_digest` is not the digest of what the approval asks now; read the approval again"
    )]
    Stale,
    /// The tool's calls would go elsewhere than was shown.
    #[error(
        "the tool's calls now go to a different target than the one you were shown; nothing was \
         decided, and the approval can still be denied"
    )]
    TargetChanged,
    /// The link was used.
    #[error("the link was already used; a link can be used only once")]
    LinkUsed,
    /// The link is too old, though the question still waits.
    #[error("the link has expired; sign in to decide")]
    LinkExpired,
    /// The rule takes the answers of those who are signed in, and of nobody else.
    #[error("the rule does not accept decisions by link; sign in to decide")]
    SessionRequired,
    /// It is settled.
    #[error("the approval is already `{status}`{}", answered_by(.by))]
    Decided {
        /// As what.
        status: ApprovalStatus,
        /// Who answered so; nobody where no answer settled it.
        by: Vec<MemberId>,
    },
    /// Nobody answered in time.
    #[error("the approval expired, and the call was denied")]
    Expired,
    /// It cannot be answered so now.
    #[error("{0}")]
    Conflict(&'static str),
    /// The tool cannot be looked at, so nobody knows whether it is what was asked about.
    #[error("the tool's connector cannot be read at the moment; nothing was decided")]
    ToolUnavailable,
    /// What is asked cannot be read.
    #[error(transparent)]
    Store(#[from] StoreDown),
    /// The record cannot be reached.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl JudgeError {
    /// Why the answer of somebody whom this bars is not taken; nothing where a no still would be.
    pub fn of(barred: Barred) -> Option<Self> {
        match barred {
            Barred::NotAnApprover => Some(Self::NotAnApprover),
            Barred::Excluded => Some(Self::Excluded),
            Barred::Answered => None,
        }
    }
}

/// An action after an answer.
#[derive(Debug)]
pub struct Judged {
    /// The action: still waiting for more people, released, or sealed.
    pub action: Arc<Action>,
    /// Its run, where the service runs it now.
    pub running: Option<Running>,
}

impl Gate {
    /// Takes a person's answer. Where it is the yes that was missing, the action runs from then on
    /// whether anybody waits or not.
    pub async fn judge(&self, judgement: Judgement) -> Result<Judged, JudgeError> {
        let org = judgement.org;
        let found = self.approval(org, judgement.approval).await?;
        let judge = self.prepared(judgement, found.ok_or(JudgeError::NotFound)?).await?;
        Ok(match self.parts.ledger.enter(org, judge).await?? {
            AfterTurn::Done(action) => Judged { action, running: None },
            AfterTurn::Run(permitted) => {
                let running = self.start(*permitted);
                Judged { action: Arc::clone(&running.action), running: Some(running) }
            }
        })
    }

    /// The answer with all that its turn decides on beside the record.
    async fn prepared(
        &self,
        judgement: Judgement,
        found: ActionDetail,
    ) -> Result<Judge, JudgeError> {
        let ActionDetail { action, disclosures, .. } = found;
        let opened = |path: &str| disclosures.iter().find(|opens| opens.path().as_str() == path);
        // Questions that are older than the digest in their row have it by what opens the commitment.
        let shown = opened("action.approval.context");
        let context = shown.map(|it| crypto::sha256(it.value()));
        let target = shown.and_then(|it| target_shown(it.value()));
        let case = match judgement.vote {
            // A no asks nothing of the tool, and is taken whatever became of it.
            Vote::Deny => None,
            Vote::Approve => {
                let args = opened("action.request").filter(|it| it.commitment() == action.request);
                let args =
                    args.and_then(|opens| crypto::json::parse(opens.value().as_bytes()).ok());
                match args {
                    Some(args) => {
                        let tool = self.tool_of(&action).await?;
                        Some(Case::of_action(&action, tool, Canonical::new(args)))
                    }
                    None => None,
                }
            }
        };
        let author = self.author(&action).await?;
        let (instance, limits) = (self.parts.instance.clone(), self.parts.limits);
        Ok(Judge {
            release: Release { case, instance, limits },
            judgement,
            stated: Reference::of(&action),
            action,
            context,
            target,
            author,
        })
    }

    /// The tool that the action means, as its connector has it now.
    async fn tool_of(&self, action: &Action) -> Result<Resolved, JudgeError> {
        let Ok(name) = action.tool.parse::<ToolName>() else { return Ok(Resolved::Unknown) };
        if let (Mode::Proxy, Some(connector)) = (action.mode, action.connector.clone()) {
            return Ok(Resolved::AtEdge { connector, digest: action.tool_digest });
        }
        // What a person is about to let run goes where its connector leads now, not a moment ago.
        let found = self.parts.toolbox.find_anew(action.org, &name);
        match select(found, self.parts.pause.pause(RESOLVED_WITHIN)).await {
            Either::Left((Ok(Found::Served(served)), _)) => Ok(Resolved::Served(served)),
            Either::Left((Ok(Found::Nobody | Found::NotAmong(_)), _)) => Ok(Resolved::Unknown),
            Either::Left((Ok(Found::Unavailable), _)) | Either::Right(_) => {
                Err(JudgeError::ToolUnavailable)
            }
            Either::Left((Err(down), _)) => Err(down.into()),
        }
    }
}

struct Judge {
    judgement: Judgement,
    /// The action as it was when it was read; its settled parts alone count.
    action: Action,
    context: Option<Digest>,
    /// Where the call was to go, as it was shown; nothing of older questions and of what the edge runs.
    target: Option<Value>,
    author: Option<String>,
    /// For whom the agent says that it acts.
    stated: Reference,
    release: Release,
}

impl Judge {
    /// Who answers, if they may.
    fn admitted<'s>(
        &self,
        at: &'s Snapshot,
        question: Question<'_>,
    ) -> Result<&'s Member, JudgeError> {
        let Judgement { member, user, address, .. } = &self.judgement;
        let row = at.member(*member).filter(|row| row.is_live() && row.user == *user);
        let member = row.ok_or(JudgeError::Unauthenticated)?;
        let unfit = Approver { member, address: address.as_deref() }.unfit(question);
        unfit.and_then(JudgeError::of).map_or(Ok(member), Err)
    }

    fn question<'q>(
        &'q self,
        (action, approval): (&'q Action, &'q Approval),
        at: &Snapshot,
    ) -> Question<'q> {
        let owner = at.agent(action.agent.id).and_then(|agent| agent.owner);
        let (stated, author) = (&self.stated, self.author.as_deref());
        Question { action, approval, stated, author, owner }
    }

    /// The link that the answer was given with, where it was.
    fn link(&self, (action, approval): (&Action, &Approval)) -> Option<Link> {
        match self.judgement.assurance {
            Assurance::Session => None,
            Assurance::EmailLink => {
                let (member, limits) = (self.judgement.member, &self.release.limits);
                Some(Link::of((action, approval), member, limits))
            }
        }
    }

    /// Whether the answer is to what is asked.
    fn is_about(&self, approval: &Approval) -> bool {
        approval.context_digest.or(self.context) == Some(self.judgement.shown)
    }

    /// Whether a yes is to a call that goes where it was shown to go.
    fn goes_there(&self) -> bool {
        let resolved = self.release.case.as_ref().map(Case::resolved);
        let now = resolved.and_then(Resolved::target);
        match (&self.target, now) {
            (Some(shown), Some(now)) => shown == now,
            // Of a tool that is gone, or was shown without its target, the release says whether it is
            // the one that was asked about.
            (None, _) | (_, None) => true,
        }
    }

    fn answer(&self, (by, approval): (&Member, &Approval), mint: &Mint<'_>) -> Answer {
        let Judgement { address, vote, assurance, note, .. } = &self.judgement;
        let approver = Approver { member: by, address: address.as_deref() };
        Answer {
            by: by.id,
            revision: by.revision,
            user: by.user,
            by_address: approver.is_named_by_address(approval),
            decision: *vote,
            assurance: *assurance,
            at: mint.now(),
            note: note.clone(),
        }
    }

    fn approved(
        &self,
        (action, approval, answer): (&Action, &Approval, Answer),
        at: &Snapshot,
        mint: &Mint<'_>,
    ) -> (Entry, Result<AfterTurn, JudgeError>) {
        let refused = |sentence| (Entry::nothing(), Err(JudgeError::Conflict(sentence)));
        if held(action.agent.id, at).is_some() {
            return refused(
                "The agent or its org is held; the call can be approved once the agent may act again.",
            );
        }
        let question = self.question((action, approval), at);
        if counted(at, question).any(|earlier| earlier.user == answer.user) {
            return refused(
                "You have already approved this; it needs the approval of another person.",
            );
        }
        let mut approval = approval.clone();
        approval.decisions.push(answer);
        let question = self.question((action, &approval), at);
        let enough = is_enough(at, question);
        let told = (!enough).then(|| answered_event((action, &approval), mint));
        let mut action = action.clone();
        action.approval = Some(approval);
        if let Some(told) = told {
            let action = Arc::new(action);
            let changes = Arc::clone(&action).into();
            let entry = Entry { changes, events: vec![told], ..Entry::default() };
            return (entry, Ok(AfterTurn::Done(action)));
        }
        let (entry, after) = self.release.of(action, at, mint);
        (entry, Ok(after))
    }
}

fn denied(
    (action, approval, answer): (&Action, &Approval, Answer),
    at: &Snapshot,
    mint: &Mint<'_>,
) -> (Entry, Result<AfterTurn, JudgeError>) {
    let mut approval = approval.clone();
    approval.decisions.push(answer);
    approval.decided_at = Some(mint.now());
    let action = Action { approval: Some(approval), ..action.clone() };
    let (entry, sealed) = withdraw(&action, ApprovalStatus::Denied, at, mint);
    (entry, Ok(AfterTurn::Done(sealed)))
}

impl Request for Judge {
    type Answer = Result<AfterTurn, JudgeError>;

    fn needs(&self, snapshot: &Snapshot) -> Needs {
        let mut needs = needs_of_withdrawal(self.action.id, snapshot);
        needs.extend(self.release.needs(&self.action, snapshot));
        needs.members.insert(self.judgement.member);
        let approval = snapshot.action(self.action.id).and_then(|it| it.approval.as_ref());
        let answered = approval.into_iter().flat_map(|approval| &approval.decisions);
        needs.members.extend(answered.map(|answer| answer.by));
        needs
    }

    /// Whoever may not answer learns that first; then whether their link was used, whether there is
    /// anything left to answer, and whether it is what they were shown.
    fn decide(&self, at: &Snapshot, mint: &Mint<'_>) -> (Entry, Self::Answer) {
        let refused = |error| (Entry::nothing(), Err(error));
        let Some(action) = at.action(self.action.id) else { return refused(JudgeError::NotFound) };
        let Some(approval) = &action.approval else { return refused(JudgeError::NotFound) };
        let question = self.question((action, approval), at);
        let member = match self.admitted(at, question) {
            Ok(member) => member,
            Err(error) => return refused(error),
        };
        let link = self.link((action, approval));
        if link.as_ref().is_some_and(|link| link.used.is_some()) {
            return refused(JudgeError::LinkUsed);
        }
        if action.state != State::PendingApproval {
            return refused(late(approval.status, approval));
        }
        if let Some(status) = over(action, at) {
            return (withdraw(action, status, at, mint).0, Err(late(status, approval)));
        }
        if link.as_ref().is_some_and(|link| !link.is_live(at.now())) {
            return refused(JudgeError::LinkExpired);
        }
        if approval.assurance.is_some_and(|asked| asked != self.judgement.assurance) {
            return refused(JudgeError::SessionRequired);
        }
        if !self.is_about(approval) {
            return refused(JudgeError::Stale);
        }
        if !self.goes_there() {
            return refused(JudgeError::TargetChanged);
        }
        let answer = self.answer((member, approval), mint);
        match self.judgement.vote {
            Vote::Approve => self.approved((action, approval, answer), at, mint),
            Vote::Deny => denied((action, approval, answer), at, mint),
        }
    }
}

/// The answers that are a yes of somebody who still may.
fn counted<'q>(at: &'q Snapshot, question: Question<'q>) -> impl Iterator<Item = &'q Answer> {
    let still =
        move |answer: &&Answer| at.member(answer.by).is_some_and(|by| counts(answer, by, question));
    question.approval.decisions.iter().filter(still)
}

/// Where the call was to go by what was shown.
fn target_shown(context: &str) -> Option<Value> {
    let mut shown: Value = serde_json::from_str(context).ok()?;
    shown.get_mut("target").map(Value::take).filter(|target| !target.is_null())
}

/// Whether enough different people have said yes of whom each still may.
fn is_enough(at: &Snapshot, question: Question<'_>) -> bool {
    let people: BTreeSet<UserId> = counted(at, question).map(|answer| answer.user).collect();
    people.len() >= usize::from(question.approval.count)
}

/// What somebody is told who comes late.
fn late(status: ApprovalStatus, approval: &Approval) -> JudgeError {
    let vote = match status {
        ApprovalStatus::Expired => return JudgeError::Expired,
        ApprovalStatus::Approved => Some(Vote::Approve),
        ApprovalStatus::Denied => Some(Vote::Deny),
        ApprovalStatus::Pending | ApprovalStatus::Cancelled | ApprovalStatus::Voided => None,
    };
    let settled = approval.decisions.iter().filter(|answer| Some(answer.decision) == vote);
    JudgeError::Decided { status, by: settled.map(|answer| answer.by).collect() }
}

fn answered_by(members: &[MemberId]) -> String {
    let names: Vec<_> = members.iter().map(|member| format!("`{member}`")).collect();
    if names.is_empty() { String::new() } else { format!("; decided by {}", names.join(" and ")) }
}
