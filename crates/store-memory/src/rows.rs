//! The rows of one org and how a turn that won changes them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use event::Event;
use gate::StoredDeed;
use ledger::{
    Changes, Head, LogNo, Place, PlacedDeed, Turn, TurnId,
    record::{
        AcceptedTool, Action, ActivePolicy, Agent, ApiKey, BudgetUse, Connector, IdempotencyKey,
        IntentKeys, Invite, Member, NewAction, Org, OrgSettings, Policy, PolicyActivation,
        PolicyMode, PolicyTests, PolicyVersion, Row, UsedIntent,
    },
};
use model::{
    ActionId, AgentId, ConnectorId, DeedId, Digest, InviteId, KeyId, MemberId, OrgId, PolicyId,
    PolicyVersionId, Timestamp,
};
use records::{ChainCheck, SignedCheckpoint};

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
    pub(crate) key_uses: BTreeMap<KeyId, Timestamp>,
    pub(crate) policies: BTreeMap<PolicyId, Policy>,
    pub(crate) versions: BTreeMap<PolicyVersionId, PolicyVersion>,
    pub(crate) active: BTreeMap<PolicyMode, ActivePolicy>,
    pub(crate) policy_tests: BTreeMap<PolicyId, PolicyTests>,
    /// Oldest first.
    pub(crate) activations: Vec<PolicyActivation>,
    pub(crate) connectors: BTreeMap<ConnectorId, Connector>,
    pub(crate) actions: BTreeMap<ActionId, KeptAction>,
    pub(crate) idempotency_keys: BTreeMap<(AgentId, String), IdempotencyKey>,
    pub(crate) budgets: BTreeMap<(String, Timestamp), BudgetUse>,
    pub(crate) settings: BTreeMap<OrgId, OrgSettings>,
    pub(crate) accepted_tools: BTreeMap<(AgentId, String), AcceptedTool>,
    pub(crate) intent_keys: BTreeMap<AgentId, IntentKeys>,
    pub(crate) used_intents: BTreeMap<ActionId, UsedIntent>,
    pub(crate) members: BTreeMap<MemberId, Member>,
    pub(crate) invites: BTreeMap<InviteId, Invite>,
    pub(crate) deeds: Vec<StoredDeed>,
    /// The stored nodes of the trees over the deeds, by log, level and place.
    pub(crate) nodes: BTreeMap<(LogNo, u8, u64), Digest>,
    /// What opens the commitments of deeds that are about no action.
    pub(crate) opens: BTreeMap<DeedId, Vec<deed::Disclosure>>,
    pub(crate) checkpoints: BTreeMap<(LogNo, u64), SignedCheckpoint>,
    pub(crate) checks: Vec<ChainCheck>,
    pub(crate) events: Vec<Event>,
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
            used_intents,
            // Nobody gets mail from here.
            invite_mails: _,
            approval_mails: _,
            pruned,
        } = changes;
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
        for action in pruned.iter().flat_map(|pruned| &pruned.actions) {
            self.actions.entry(*action).and_modify(|kept| kept.disclosures.clear());
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
        let kept = placed.action.and_then(|action| self.actions.get_mut(&action));
        if let Some(kept) = kept {
            kept.disclosures.extend(placed.disclosures.iter().cloned());
        }
        if placed.action.is_none() {
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
