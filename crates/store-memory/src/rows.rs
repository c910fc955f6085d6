//! The rows of one org and how a turn that won changes them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use admin::{ConnectorTest, KeyUse};
use delivery::Delivery;
use event::Event;
use gate::StoredDeed;
use ledger::{
    Changes, Head, LogNo, Place, PlacedDeed, Turn, TurnId,
    record::{
        AcceptedTool, Action, ActivePolicy, Agent, ApiKey, AwaitedReport, BudgetUse, Connector,
        IdempotencyKey, IntentKeys, Invite, KeptReport, Member, NewAction, Org, OrgSettings,
        Policy, PolicyActivation, PolicyMode, PolicyTests, PolicyVersion, Proposal, Pruned,
        ReportChange, Row, UsedIntent, Webhook, WebhookMail,
    },
};
use model::{
    ActionId, AgentId, ConnectorId, DeedId, DeedKind, DeliveryId, Digest, InviteId, KeyId,
    MemberId, OrgId, PolicyId, PolicyVersionId, ProposalId, Timestamp, WebhookId,
};
use records::{ChainCheck, SignedCheckpoint};

use crate::webhooks::KeptLane;

/// The rows of one org. Without a head the org is not there: only fences of its turns may be.
#[derive(Default)]
pub(crate) struct Rows {
    pub(crate) head: Option<Head>,
    /// The logs that the org had before, with the moment at which each was closed.
    pub(crate) closed: Vec<(Head, Timestamp)>,
    pub(crate) turns: BTreeSet<TurnId>,
    /// Turns that must never become part of the record.
    pub(crate) fenced: BTreeSet<TurnId>,
    pub(crate) org: Option<Org>,
    pub(crate) agents: BTreeMap<AgentId, Agent>,
    pub(crate) keys: BTreeMap<KeyId, ApiKey>,
    pub(crate) key_uses: BTreeMap<KeyId, KeyUse>,
    pub(crate) policies: BTreeMap<PolicyId, Policy>,
    pub(crate) versions: BTreeMap<PolicyVersionId, PolicyVersion>,
    pub(crate) active: BTreeMap<PolicyMode, ActivePolicy>,
    pub(crate) policy_tests: BTreeMap<PolicyId, PolicyTests>,
    /// Oldest first.
    pub(crate) activations: Vec<PolicyActivation>,
    pub(crate) connectors: BTreeMap<ConnectorId, Connector>,
    pub(crate) connector_tests: BTreeMap<ConnectorId, ConnectorTest>,
    pub(crate) actions: BTreeMap<ActionId, KeptAction>,
    pub(crate) idempotency_keys: BTreeMap<(AgentId, String), IdempotencyKey>,
    pub(crate) budgets: BTreeMap<(String, Timestamp), BudgetUse>,
    pub(crate) settings: BTreeMap<OrgId, OrgSettings>,
    pub(crate) accepted_tools: BTreeMap<(AgentId, String), AcceptedTool>,
    pub(crate) intent_keys: BTreeMap<AgentId, IntentKeys>,
    pub(crate) used_intents: BTreeMap<ActionId, UsedIntent>,
    /// Each with the log that is awaited, and since when, where its action is sealed.
    pub(crate) reports: BTreeMap<ActionId, (KeptReport, Option<(ConnectorId, Timestamp)>)>,
    pub(crate) members: BTreeMap<MemberId, Member>,
    pub(crate) invites: BTreeMap<InviteId, Invite>,
    pub(crate) proposals: BTreeMap<ProposalId, Proposal>,
    pub(crate) deeds: Vec<StoredDeed>,
    /// The stored nodes of the trees over the deeds, by log, level and place.
    pub(crate) nodes: BTreeMap<(LogNo, u8, u64), Digest>,
    /// What opens the commitments of amendments, and of deeds that are about no action.
    pub(crate) opens: BTreeMap<DeedId, Vec<deed::Disclosure>>,
    pub(crate) checkpoints: BTreeMap<(LogNo, u64), SignedCheckpoint>,
    pub(crate) checks: Vec<ChainCheck>,
    pub(crate) events: Vec<Event>,
    pub(crate) webhooks: BTreeMap<WebhookId, Webhook>,
    pub(crate) lanes: BTreeMap<WebhookId, KeptLane>,
    pub(crate) deliveries: BTreeMap<DeliveryId, Delivery>,
    /// Mails that turns wrote and that nobody sends.
    pub(crate) webhook_mails: Vec<WebhookMail>,
}

/// An action and what the store keeps beside it.
pub(crate) struct KeptAction {
    pub(crate) action: Arc<Action>,
    pub(crate) lease_until: Option<Timestamp>,
    pub(crate) disclosures: Vec<deed::Disclosure>,
}

/// The deed's place among all of its org.
pub(crate) fn place(deed: &StoredDeed) -> Place {
    Place::of(deed.log_no, deed.seq)
}

impl Rows {
    /// Makes the turn part of the record. It was checked before, so nothing can go wrong.
    pub(crate) fn append(&mut self, turn: &Turn, lease: Duration) {
        let lease_until = turn.at + lease;
        self.change(&turn.changes, lease_until);
        let log_no = turn.head.log_no;
        turn.deeds.iter().for_each(|deed| self.deed(log_no, deed));
        self.closed.extend(turn.closes.iter().map(|head| (head.clone(), turn.at)));
        self.events.extend(turn.events.iter().cloned());
        self.post(turn);
        self.turns.insert(turn.id);
        self.head = Some(turn.head.clone());
    }

    fn change(&mut self, changes: &Changes, lease_until: Timestamp) {
        // Every family is named here, so that a new one does not compile until it is kept.
        let Changes {
            orgs,
            agents,
            keys,
            policies,
            versions,
            active,
            activations,
            policy_tests,
            connectors,
            // The org has its name in its own row.
            renames: _,
            new_actions,
            actions,
            idempotency_keys,
            budgets,
            settings,
            accepted_tools,
            intent_keys,
            members,
            invites,
            proposals,
            used_intents,
            // Nobody gets mail from here.
            invite_mails: _,
            approval_mails: _,
            webhook_mails,
            reports,
            pruned,
            // They follow from the turn's events.
            webhooks: _,
            webhook_sends: _,
        } = changes;
        self.webhook_mails.extend(webhook_mails);
        if let Some(org) = orgs.last() {
            self.org = Some(org.clone());
        }
        self.agents.extend(agents.iter().map(|row| (row.id, row.clone())));
        self.keys.extend(keys.iter().map(|row| (row.id, row.clone())));
        self.policies.extend(policies.iter().map(|row| (row.id, row.clone())));
        self.versions.extend(versions.iter().map(|row| (row.id, row.clone())));
        for change in active {
            match change.active {
                Some(active) => drop(self.active.insert(change.mode, active)),
                None => drop(self.active.remove(&change.mode)),
            }
        }
        self.activations.extend(activations.iter().cloned());
        self.policy_tests.extend(policy_tests.iter().map(|row| (row.policy, row.clone())));
        self.connectors.extend(connectors.iter().map(|row| (row.id, row.clone())));
        for NewAction { action, disclosures } in new_actions {
            self.action(action, lease_until).disclosures.clone_from(disclosures);
        }
        for action in actions {
            self.action(action, lease_until);
        }
        self.idempotency_keys.extend(idempotency_keys.iter().map(|row| (row.key(), row.clone())));
        self.budgets.extend(budgets.iter().map(|row| (row.key(), row.clone())));
        self.settings.extend(settings.iter().map(|row| (row.key(), row.clone())));
        self.accepted_tools.extend(accepted_tools.iter().map(|row| (row.key(), row.clone())));
        self.intent_keys.extend(intent_keys.iter().map(|row| (row.key(), row.clone())));
        self.used_intents.extend(used_intents.iter().map(|row| (row.action, row.clone())));
        self.members.extend(members.iter().map(|row| (row.key(), row.clone())));
        self.invites.extend(invites.iter().map(|row| (row.key(), row.clone())));
        self.proposals.extend(proposals.iter().map(|row| (row.key(), row.clone())));
        for change in reports {
            self.report(change);
        }
        for Pruned { actions, deeds } in pruned {
            for action in actions {
                self.actions.entry(*action).and_modify(|kept| kept.disclosures.clear());
            }
            for deed in deeds {
                self.opens.remove(deed);
            }
        }
    }

    fn report(&mut self, change: &ReportChange) {
        match change {
            ReportChange::Kept(report) => {
                self.reports.insert(report.action, (report.clone(), None));
            }
            ReportChange::Awaited(AwaitedReport { report, connector, since }) => {
                let awaited = Some((*connector, *since));
                let kept = self.reports.entry(report.action);
                kept.and_modify(|kept| *kept = (report.clone(), awaited));
            }
            ReportChange::Removed(action) => drop(self.reports.remove(action)),
        }
    }

    /// Sets the action's row, and the end of its lease when it has one.
    fn action(&mut self, action: &Arc<Action>, lease_until: Timestamp) -> &mut KeptAction {
        let kept = self.actions.entry(action.id).or_insert_with(|| KeptAction {
            action: Arc::clone(action),
            lease_until: None,
            disclosures: Vec::new(),
        });
        kept.lease_until = action.lease.is_some().then_some(lease_until);
        kept.action = Arc::clone(action);
        kept
    }

    fn deed(&mut self, log_no: LogNo, placed: &PlacedDeed) {
        // What opens an amendment is none of its action's first deed.
        let of_action = placed.action.filter(|_| placed.sealed.kind != DeedKind::Amendment);
        let kept = of_action.and_then(|action| self.actions.get_mut(&action));
        if let Some(kept) = kept {
            kept.disclosures.extend(placed.disclosures.iter().cloned());
        }
        if of_action.is_none() {
            self.opens.insert(placed.sealed.id, placed.disclosures.clone());
        }
        let nodes = placed.sealed.new_nodes.iter();
        self.nodes.extend(nodes.map(|node| ((log_no, node.level, node.index), node.hash)));
        self.deeds.push(StoredDeed {
            id: placed.sealed.id,
            kind: placed.sealed.kind,
            log_no,
            seq: placed.sealed.seq,
            issued_at: placed.sealed.issued_at,
            body: placed.sealed.body.clone(),
            digest: placed.sealed.digest,
            signature: placed.sealed.signature,
            key_id: placed.sealed.key_id.to_string(),
            agent: placed.agent,
            action: placed.action,
        });
    }
}
