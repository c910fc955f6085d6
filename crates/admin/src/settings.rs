//! How an org is run: what it is called, when its days begin, for how long it keeps payloads and how
//! it asks people.

use act::{ActError, Changed, Fact, Record};
use ledger::{
    LedgerError, Needs, Snapshot,
    record::{AnswerTime, ApprovalSettings, Org, OrgRenamed, OrgSettings},
};
use model::{EventType, OrgId};
use serde_json::{Map, Value, json};

use crate::{ChangeError, Expected, OrgChange, OrgOwn, OrgView, Wish, input, org};

/// How long an org may keep payloads, in days.
const DAYS: std::ops::RangeInclusive<u16> = 1..=3650;

/// What is to be changed of how an org is run; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrgEdit {
    /// The name; no two orgs have one.
    pub name: Option<String>,
    /// The time zone, an IANA name.
    pub time_zone: Option<String>,
    /// How many days payloads are kept once their action is sealed. What a longer time would have
    /// kept and was removed already does not come back.
    pub retention_days: Option<u16>,
    /// How long people have to answer when neither rule nor policy says; where it goes, the service's
    /// setting says again.
    pub default_expires_in: Wish<AnswerTime>,
    /// Whether nobody says yes on their own behalf, whatever a rule lets them.
    pub require_other_person: Option<bool>,
    /// Whether the only member may say yes to what a rule excludes them from.
    pub allow_single_member: Option<bool>,
    /// Whether a policy version becomes active only once a second person confirmed it.
    pub policy_two_person: Option<bool>,
    /// The revision that the change is made on.
    pub expected_revision: Expected<u32>,
}

/// An org, and how it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgAsRun {
    /// The org.
    pub org: Org,
    /// How many days payloads are kept once their action is sealed.
    pub retention_days: u16,
    /// How it asks people.
    pub approvals: ApprovalSettings,
    /// Whether a policy version becomes active only once a second person confirmed it.
    pub policy_two_person: bool,
    /// Counts the changes of all that from 1.
    pub revision: u32,
}

impl OrgAsRun {
    fn of(at: &Snapshot) -> Result<Self, ActError> {
        let org = at.org().ok_or(ActError::NotFound("org"))?;
        let settings = at.settings();
        Ok(Self {
            org: org.clone(),
            retention_days: days_of(org, at),
            approvals: settings.map(|settings| settings.approvals).unwrap_or_default(),
            policy_two_person: settings.is_some_and(|settings| settings.policy_two_person),
            revision: settings.map_or(1, |settings| settings.revision),
        })
    }

    /// Each setting by its name, as deeds commit to it.
    fn shown(&self) -> Vec<(&'static str, Value)> {
        let ApprovalSettings { default_expires_in, require_other_person, allow_single_member } =
            self.approvals;
        vec![
            ("name", json!(self.org.name)),
            ("time_zone", json!(self.org.time_zone)),
            ("retention_days", json!(self.retention_days)),
            ("approvals.default_expires_in", json!(default_expires_in)),
            ("approvals.require_other_person", json!(require_other_person)),
            ("approvals.allow_single_member", json!(allow_single_member)),
            ("policy_two_person", json!(self.policy_two_person)),
        ]
    }
}

impl OrgView<'_> {
    /// The org, and how it is run.
    pub async fn org(&self) -> Result<OrgAsRun, ChangeError> {
        let looked = self.admin.parts.ledger.look_at(self.org, settings_of(self.org)).await;
        let snapshot = looked.map_err(|down| ActError::Ledger(down.into()))?;
        Ok(OrgAsRun::of(&snapshot)?)
    }
}

impl OrgOwn<'_> {
    /// Changes how the org is run. The deed names what changed and commits to nothing else.
    pub async fn update_org(&self, edit: OrgEdit) -> Result<Changed<OrgAsRun>, ChangeError> {
        let edit = read(edit)?;
        let name = edit.name.clone();
        if let Some(name) = &name {
            self.name_is_free(name).await?;
        }
        let changed = self.turn(settings_of(self.change.org), move |at, record| {
            let before = OrgAsRun::of(at)?;
            if edit.expected_revision.is_not(&before.revision) {
                let sentence = "`expected_revision` is not the current revision of the org";
                return Err(ActError::Stale { param: "expected_revision", sentence }.into());
            }
            let after = edited(&edit, &before);
            if after == before {
                return Err(ActError::Conflict("the org already has these settings").into());
            }
            Ok(changed(record, before, after))
        });
        match (changed.await, name) {
            // The store's unique key is the second guard: of two who ask at once, one is refused.
            (Err(ChangeError::Act(ActError::Ledger(LedgerError::Fault))), Some(name)) => {
                self.name_is_free(&name).await?;
                Err(ActError::Ledger(LedgerError::Fault).into())
            }
            (changed, _) => changed,
        }
    }

    async fn name_is_free(&self, name: &str) -> Result<(), ChangeError> {
        let OrgChange { admin, org, .. } = self.change;
        let holder = admin.parts.store.org_named(name).await?;
        if holder.is_none_or(|holder| holder == org) {
            return Ok(());
        }
        // Of orgs that had one name before names were told apart, each keeps it and one holds it.
        let own = admin.parts.store.org(org).await?;
        let keeps = own.is_some_and(|own| own.name == name);
        if keeps { Ok(()) } else { Err(ChangeError::NameTaken(name.to_owned())) }
    }
}

/// The edit with what stands in it in its own form.
fn read(edit: OrgEdit) -> Result<OrgEdit, ActError> {
    let expected_revision = edit.expected_revision;
    if edit == (OrgEdit { expected_revision, ..OrgEdit::default() }) {
        let expected = "this field or another setting of the org; at least one is required";
        return Err(ActError::bad_input("name", expected));
    }
    if edit.retention_days.is_some_and(|days| !DAYS.contains(&days)) {
        return Err(ActError::bad_input("retention_days", "a number from 1 to 3650"));
    }
    Ok(OrgEdit {
        name: edit.name.as_deref().map(input::title).transpose()?,
        time_zone: edit.time_zone.as_deref().map(input::time_zone).transpose()?,
        ..edit
    })
}

fn edited(edit: &OrgEdit, before: &OrgAsRun) -> OrgAsRun {
    let (org, asks) = (&before.org, before.approvals);
    OrgAsRun {
        org: Org {
            name: edit.name.clone().unwrap_or_else(|| org.name.clone()),
            time_zone: edit.time_zone.clone().unwrap_or_else(|| org.time_zone.clone()),
            ..org.clone()
        },
        retention_days: edit.retention_days.unwrap_or(before.retention_days),
        approvals: ApprovalSettings {
            default_expires_in: edit.default_expires_in.over(asks.default_expires_in),
            require_other_person: edit.require_other_person.unwrap_or(asks.require_other_person),
            allow_single_member: edit.allow_single_member.unwrap_or(asks.allow_single_member),
        },
        policy_two_person: edit.policy_two_person.unwrap_or(before.policy_two_person),
        revision: before.revision,
    }
}

/// Adds an org that is run in another way.
pub(crate) fn changed(
    record: &mut Record<'_>,
    before: OrgAsRun,
    after: OrgAsRun,
) -> Changed<OrgAsRun> {
    let after = OrgAsRun { revision: before.revision.saturating_add(1), ..after };
    let pairs = before.shown().into_iter().zip(after.shown());
    let pairs: Vec<_> = pairs.filter(|((_, before), (_, after))| before != after).collect();
    let names: Vec<_> = pairs.iter().map(|((name, _), _)| *name).collect();
    let (was, is): (Map<_, _>, Map<_, _>) = pairs
        .into_iter()
        .map(|((name, before), (_, after))| ((name.to_owned(), before), (name.to_owned(), after)))
        .unzip();
    let deed = record.seal(Fact {
        before: Some(was.into()),
        after: Some(is.into()),
        data: vec![("changed", json!(names)), ("revision", json!(after.revision))],
        ..org::fact(EventType::OrgUpdated, after.org.id)
    });
    if after.org != before.org {
        record.write(after.org.clone());
    }
    if after.org.name != before.org.name {
        record.write(OrgRenamed { before: before.org.name, after: after.org.name.clone() });
    }
    record.write(OrgSettings {
        org: after.org.id,
        retention_days: after.retention_days,
        approvals: after.approvals,
        policy_two_person: after.policy_two_person,
        revision: after.revision,
        updated_at: record.now(),
    });
    Changed { object: after, deed }
}

/// What a turn needs to know how the org is run.
pub(crate) fn settings_of(org: OrgId) -> Needs {
    Needs { settings: [org].into(), ..Needs::default() }
}

/// How many days the org keeps payloads: its settings say it, or else the record that it was made
/// with.
pub(crate) fn days_of(org: &Org, at: &Snapshot) -> u16 {
    at.settings().map_or(org.retention_days, |settings| settings.retention_days)
}
