//! The families of rows that turns write, and what is known of those that turns ask for.
//!
//! A family is one line of the table below. [`Needs`], [`Loaded`], [`Changes`] and the shelves of a
//! snapshot follow from it; what a family is to a store, each store says in the one place where it
//! takes [`Changes`] apart.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::Timestamp;

use crate::record::{
    AcceptedTool, Action, ActiveChange, ActivePolicy, Agent, ApiKey, ApprovalMail, BudgetUse,
    Connector, IdempotencyKey, IntentKeys, Invite, InviteMail, Member, NewAction, Org, OrgRenamed,
    OrgSettings, OrgWebhooks, Policy, PolicyActivation, PolicyTests, PolicyVersion, Proposal,
    Pruned, ReportChange, Row, UsedIntent, WebhookMail, WebhookSend,
};

/// What is known of the rows of one family: of each key that was asked for, its row or that there
/// is none. Of a key that is not here nobody asked yet.
#[derive(Debug, Clone)]
pub(crate) struct Shelf<K, V>(BTreeMap<K, Option<V>>);

impl<K, V> Default for Shelf<K, V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<R: Row> Shelf<R::Key, R> {
    /// Finds a row that was asked for and is there.
    pub(crate) fn get(&self, key: &R::Key) -> Option<&R> {
        self.0.get(key)?.as_ref()
    }

    /// Whether it is known if there is a row of this key.
    pub(crate) fn knows(&self, key: &R::Key) -> bool {
        self.0.contains_key(key)
    }

    /// Puts a row in the place of what was known of its key.
    fn put(&mut self, row: R) {
        self.0.insert(row.key(), Some(row));
    }

    /// Leaves those of the keys of which nobody asked yet.
    fn missing(&self, mut keys: BTreeSet<R::Key>) -> BTreeSet<R::Key> {
        keys.retain(|key| !self.0.contains_key(key));
        keys
    }

    /// Adds what a store found for these keys; what it did not find is absent.
    fn learn(&mut self, keys: BTreeSet<R::Key>, found: Vec<R>) {
        self.0.extend(keys.into_iter().map(|key| (key, None)));
        for row in found {
            self.put(row);
        }
    }

    fn forget_settled(&mut self, now: Timestamp) {
        self.0.retain(|_, row| R::is_worth_keeping(row.as_ref(), now));
    }
}

/// Makes the types that have one part for each family. Rows that are `asked` for are loaded by
/// key; those that are `written` are read with the base of an org, or by no turn.
macro_rules! families {
    (
        asked { $($(#[$about:meta])* $asked:ident: $row:ty,)* }
        written { $($(#[$tells:meta])* $written:ident: $other:ty,)* }
    ) => {
        /// What requests need to have loaded: keys, by family.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct Needs { $($(#[$about])* pub $asked: BTreeSet<<$row as Row>::Key>,)* }

        impl Needs {
            /// Adds the needs of another request.
            pub fn extend(&mut self, other: Self) {
                $(self.$asked.extend(other.$asked);)*
            }

            /// Whether nothing is needed.
            pub fn is_empty(&self) -> bool {
                true $(&& self.$asked.is_empty())*
            }
        }

        /// Rows that a store found, by family.
        #[derive(Debug, Clone, Default)]
        pub struct Loaded { $($(#[$about])* pub $asked: Vec<$row>,)* }

        /// Rows in their new form, by family: each replaces the whole row, and a later one of the
        /// same key wins. Families have no order among each other.
        #[derive(Debug, Clone, Default)]
        pub struct Changes {
            $($(#[$about])* pub $asked: Vec<$row>,)*
            $($(#[$tells])* pub $written: Vec<$other>,)*
        }

        impl Changes {
            /// Adds later changes.
            pub fn extend(&mut self, mut later: Self) {
                $(self.$asked.append(&mut later.$asked);)*
                $(self.$written.append(&mut later.$written);)*
            }

            /// Whether nothing changes.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// How many rows change.
            pub fn len(&self) -> usize {
                0 $(+ self.$asked.len())* $(+ self.$written.len())*
            }
        }

        $(impl From<$row> for Changes {
            fn from(row: $row) -> Self {
                Self { $asked: vec![row], ..Self::default() }
            }
        })*
        $(impl From<$other> for Changes {
            fn from(row: $other) -> Self {
                Self { $written: vec![row], ..Self::default() }
            }
        })*

        /// What a turn knows of the rows that it asked for, by family.
        #[derive(Debug, Clone, Default)]
        pub(crate) struct Shelves { $(pub(crate) $asked: Shelf<<$row as Row>::Key, $row>,)* }

        impl Shelves {
            /// The part of the needs that nobody asked for yet.
            pub(crate) fn missing(&self, needs: Needs) -> Needs {
                Needs { $($asked: self.$asked.missing(needs.$asked),)* }
            }

            /// Adds what a store found of these needs.
            pub(crate) fn learn(&mut self, needs: Needs, found: Loaded) {
                $(self.$asked.learn(needs.$asked, found.$asked);)*
            }

            /// Puts the changed rows in the place of what was known of them.
            pub(crate) fn apply(&mut self, changes: &Changes) {
                // An action that begins in a turn may move in it too, so its first form comes first.
                for new in &changes.new_actions {
                    self.actions.put(Arc::clone(&new.action));
                }
                $(changes.$asked.iter().for_each(|row| self.$asked.put(row.clone()));)*
            }

            /// Lets go of what no later turn will ask for, and of everything when more than `most`
            /// rows are left.
            pub(crate) fn forget_settled(&mut self, now: Timestamp, most: usize) {
                $(self.$asked.forget_settled(now);)*
                if 0 $(+ self.$asked.0.len())* > most {
                    *self = Self::default();
                }
            }
        }
    };
}

families! {
    asked {
        /// Agents.
        agents: Agent,
        /// API keys.
        keys: ApiKey,
        /// Actions that were there before the turn.
        actions: Arc<Action>,
        /// Idempotency keys of agents, expired ones included.
        idempotency_keys: IdempotencyKey,
        /// Budget counters, by key and window start.
        budgets: BudgetUse,
        /// The org's settings, where somebody made some.
        settings: OrgSettings,
        /// Definitions of tools that edges were let run.
        accepted_tools: AcceptedTool,
        /// The keys that agents sign intents with, by agent.
        intent_keys: IntentKeys,
        /// The people of the org, those who left included.
        members: Member,
        /// Questions to people whether they join the org.
        invites: Invite,
        /// Activations that wait for a second person.
        proposals: Proposal,
        /// The webhook endpoints of the org.
        webhooks: OrgWebhooks,
    }
    written {
        /// The org itself.
        orgs: Org,
        /// Other names of the org.
        renames: OrgRenamed,
        /// Policies.
        policies: Policy,
        /// Versions of policies, which never change once made.
        versions: PolicyVersion,
        /// What is active from now on in a mode.
        active: ActiveChange,
        /// Entries that the history of what was active gets longer by.
        activations: PolicyActivation,
        /// The tests of policies.
        policy_tests: PolicyTests,
        /// Connectors.
        connectors: Connector,
        /// Actions that were not there before the turn.
        new_actions: NewAction,
        /// Signed intents that the turn's new actions used up.
        used_intents: UsedIntent,
        /// Mails of invitations that are to be sent.
        invite_mails: InviteMail,
        /// Mails about questions that are to be sent.
        approval_mails: ApprovalMail,
        /// Mails about webhook endpoints that failed for too long, which are to be sent.
        webhook_mails: WebhookMail,
        /// Reports that are kept until their evidence is in or comes no more, and those that are kept
        /// no longer.
        reports: ReportChange,
        /// What opens commitments and is removed for good.
        pruned: Pruned,
        /// Events that are posted to one endpoint.
        webhook_sends: WebhookSend,
    }
}

impl Changes {
    /// Whether something may decide differently since, and so need what it did not need before: all that
    /// the policy sees of an agent, an org and a tool, and how people are asked.
    pub(crate) fn steer(&self) -> bool {
        !(self.agents.is_empty()
            && self.orgs.is_empty()
            && self.accepted_tools.is_empty()
            && self.connectors.is_empty()
            && self.settings.is_empty()
            && self.intent_keys.is_empty())
    }
}

impl From<ActivePolicy> for Changes {
    fn from(active: ActivePolicy) -> Self {
        ActiveChange::from(active).into()
    }
}

impl FromIterator<Self> for Changes {
    fn from_iter<I: IntoIterator<Item = Self>>(parts: I) -> Self {
        parts.into_iter().fold(Self::default(), |mut changes, later| {
            changes.extend(later);
            changes
        })
    }
}
