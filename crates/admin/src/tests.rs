//! Checks that what is said of a change can be sealed, opens, and holds no secret.

use std::collections::BTreeMap;

use act::{By, Reason, Record};
use crypto::Secret;
use deed::{ChainHead, Content, KeySet, LogOrigin, SealKey, SealKeys, Sealer};
use ledger::{
    Entry,
    record::{
        ActivePolicy, Agent, ApiKey, ApprovalSettings, Connector, ConnectorStatus, CredentialSet,
        Holder, Invite, Member, Org, Policy, PolicyMode, PolicyTests, PolicyVersion, Proposal,
        RETENTION_DAYS,
    },
};
use model::{
    AgentId, ConnectorId, Entropy, EventType, IntentMode, InviteId, KeyId, LogId, MemberId, Mint,
    OrgId, PolicyId, PolicyVersionId, ProposalId, Role, Scope, SessionId, Timestamp, UserId,
};
use serde_json::json;
use uuid::Uuid;

use crate::{
    agent, connector, invite,
    key::{self, KeyEvent},
    member, org,
    policy::{
        activation::{self, How},
        manage, proposal, suites, versions,
    },
    seal_key,
    settings::{self, OrgAsRun},
};

const SECRETS: [&str; 5] = ["the-mac", "the-ciphertext", "the-hint", "the-document", "the-suite"];
const ID: Uuid = Uuid::nil();

struct Counting;

impl Entropy for Counting {
    fn fill(&self, buffer: &mut [u8]) {
        (1..).zip(buffer).for_each(|(n, byte)| *byte = n);
    }
}

fn org() -> Org {
    Org {
        id: OrgId::from_uuid(ID),
        name: "Acme".into(),
        time_zone: "UTC".into(),
        pro: true,
        stop: None,
        voids: None,
        voided: None,
        retention_days: RETENTION_DAYS,
        pruned_to: 0,
        keys_made: 0,
        invites_made: 0,
        created_at: Timestamp::EPOCH,
    }
}

fn agent() -> Agent {
    Agent {
        id: AgentId::from_uuid(ID),
        org: OrgId::from_uuid(ID),
        name: "support".into(),
        description: String::new(),
        labels: BTreeMap::from([("team".to_owned(), "care".to_owned())]),
        intent_mode: IntentMode::Off,
        modes: model::Mode::ALL.to_vec(),
        owner: None,
        expires_at: None,
        system: false,
        stop: None,
        voids: None,
        voided: None,
        suspension: None,
        revision: 1,
        keys_made: 0,
        archived_at: None,
        created_at: Timestamp::EPOCH,
    }
}

fn key(holder: Holder) -> ApiKey {
    ApiKey {
        id: KeyId::from_uuid(ID),
        org: OrgId::from_uuid(ID),
        holder,
        name: "first".into(),
        scopes: vec![Scope::ActionsExecute],
        livemode: true,
        mac: "the-mac".into(),
        hint: "abcd".into(),
        created_at: Timestamp::EPOCH,
        expires_at: None,
        revoked_at: None,
        made_by: None,
        rolled_to: None,
    }
}

fn connector() -> Connector {
    Connector {
        id: ConnectorId::from_uuid(ID),
        org: OrgId::from_uuid(ID),
        name: "shop".parse().unwrap(),
        title: String::new(),
        kind: "postgres".into(),
        test: false,
        status: ConnectorStatus::Enabled,
        config: json!({ "port": 5432, "timeout_s": 1.5 }),
        credential: BTreeMap::from([("conn_password".to_owned(), "the-ciphertext".to_owned())]),
        credential_set: Some(CredentialSet {
            kind: "passwords".into(),
            hint: Some("the-hint".into()),
            at: Timestamp::EPOCH,
        }),
        tools: BTreeMap::new(),
        found: None,
        settings: BTreeMap::new(),
        told: BTreeMap::new(),
        witness: None,
        revision: 3,
        created_at: Timestamp::EPOCH,
        archived_at: None,
    }
}

fn member() -> Member {
    Member {
        id: MemberId::from_uuid(ID),
        org: OrgId::from_uuid(ID),
        user: UserId::from_uuid(ID),
        role: Role::Admin,
        can_approve: true,
        joined_at: Timestamp::EPOCH,
        role_since: Timestamp::EPOCH,
        removed_at: None,
        revision: 1,
    }
}

fn invite() -> Invite {
    Invite {
        id: InviteId::from_uuid(ID),
        org: OrgId::from_uuid(ID),
        user: UserId::from_uuid(ID),
        role: Role::Admin,
        can_approve: true,
        invited_by: "operator".into(),
        created_at: Timestamp::EPOCH,
        expires_at: Timestamp::EPOCH,
        closed_at: None,
        member: None,
    }
}

fn waiting(wanted: ActivePolicy) -> Proposal {
    Proposal {
        id: ProposalId::from_uuid(ID),
        org: OrgId::from_uuid(ID),
        mode: wanted.mode,
        policy: wanted.policy,
        version: wanted.version,
        digest: wanted.digest,
        revision: 1,
        previous: None,
        failed_tests: 2,
        reason: "the night begins".into(),
        proposed_by: "operator".into(),
        person: Some(UserId::from_uuid(ID)),
        proposed_at: Timestamp::EPOCH,
        expires_at: Timestamp::EPOCH,
        closed: None,
    }
}

fn everything(record: &mut Record<'_>) {
    let digest = crypto::sha256("document");
    let (policy, version) = (PolicyId::from_uuid(ID), PolicyVersionId::from_uuid(ID));
    record.seal(org::fact(EventType::LogStarted, org().id));
    org::changed(record, EventType::OrgStopped, Some(&org()), org());
    let approvals = ApprovalSettings {
        default_expires_in: "90s".parse().ok(),
        require_other_person: true,
        allow_single_member: true,
    };
    let before = OrgAsRun {
        org: org(),
        retention_days: 365,
        approvals: ApprovalSettings::default(),
        policy_two_person: false,
        revision: 1,
    };
    let renamed = Org { name: "Beta".into(), time_zone: "Europe/Zurich".into(), ..org() };
    let after = OrgAsRun {
        org: renamed,
        retention_days: 30,
        approvals,
        policy_two_person: true,
        revision: 1,
    };
    settings::changed(record, before, after);
    agent::changed(record, EventType::AgentStopped, Some(&agent()), agent());
    for holder in [Holder::Org, Holder::Agent(AgentId::from_uuid(ID))] {
        key::changed(record, KeyEvent::Created, None, key(holder));
        key::changed(record, KeyEvent::Revoked, Some(&key(holder)), key(holder));
    }
    member::changed(record, EventType::MemberUpdated, (Some(&member()), member()), &[]);
    record.seal(member::revoked(member().id, SessionId::from_uuid(ID)));
    invite::changed(record, EventType::InviteRevoked, Some(&invite()), invite());
    let (created_at, org) = (Timestamp::EPOCH, OrgId::from_uuid(ID));
    let house = Policy {
        id: policy,
        org,
        name: "starter".into(),
        description: String::new(),
        revision: 1,
        created_at,
        archived_at: None,
    };
    manage::changed(record, EventType::PolicyUpdated, Some(&house), house.clone());
    let suite = "the-suite".to_owned();
    let tests = PolicyTests { policy, suite, cases: 1, revision: 2, updated_at: created_at };
    suites::tests_put(record, house, tests);
    versions::version_made(
        record,
        PolicyVersion {
            id: version,
            org,
            policy,
            number: 1,
            document: "the-document".into(),
            digest,
            note: None,
            author: None,
            created_at,
        },
    );
    let active = ActivePolicy { mode: PolicyMode::Enforce, policy, version, digest };
    let waiting = waiting(active);
    let how = How { reason: None, proposal: Some(&waiting), failed_tests: 2 };
    activation::activated(record, 1, (Some(&active), active), &how);
    proposal::changed(record, EventType::PolicyActivationRejected, waiting.clone());
    activation::shadow_ended(record, 2, &active);
    connector::changed(record, EventType::ConnectorCredentialSet, Some(&connector()), connector());
    seal_key::changed(
        record,
        EventType::SealKeyRegistered,
        sealer().registered().keys().first().unwrap(),
    );
}

fn recorded() -> Entry {
    let mint = Mint::new(Timestamp::EPOCH, &Counting);
    let reason = Reason::parse("it ran wild").unwrap();
    let mut record = Record::new(By::OrgKey(KeyId::from_uuid(ID)), Some(reason), &mint);
    everything(&mut record);
    record.into_entry()
}

fn sealer() -> Sealer {
    let pem: Secret<String> = SealKeys::generate_pem(&crypto::SystemEntropy::new());
    let keys = SealKeys::from_pem(pem.expose()).unwrap();
    let registered = keys
        .keys()
        .map(|(purpose, key)| SealKey::new(*key.public(), purpose, Timestamp::EPOCH))
        .collect();
    Sealer::new(keys, KeySet::new(registered).unwrap())
}

#[test]
fn every_change_can_be_sealed() {
    let origin = LogOrigin::new("localhost", LogId::from_uuid(ID)).unwrap();
    let (sealer, mut head) = (sealer(), ChainHead::genesis(origin));
    for deed in recorded().deeds {
        sealer.seal(&mut head, deed.draft.clone(), org().id, Timestamp::EPOCH).unwrap();
    }
}

#[test]
fn every_commitment_is_opened_by_its_disclosure() {
    for deed in recorded().deeds {
        let Content::Admin(admin) = deed.draft.content else { panic!("no admin deed") };
        let committed: Vec<_> =
            [admin.before, admin.after, admin.reason].into_iter().flatten().collect();
        let opened: Vec<_> = deed.disclosures.iter().map(deed::Disclosure::commitment).collect();
        assert_eq!(committed, opened);
        assert!(deed.disclosures.iter().any(|opened| opened.value() == r#""it ran wild""#));
    }
}

#[test]
fn no_secret_stands_in_a_deed_a_disclosure_or_an_event() {
    let entry = recorded();
    let deeds = entry.deeds.iter().map(|deed| format!("{:?}", deed.draft));
    let disclosures =
        entry.deeds.iter().flat_map(|deed| &deed.disclosures).map(deed::Disclosure::text);
    let events = entry.events.iter().map(|event| event.object.to_string());
    for text in deeds.chain(disclosures).chain(events) {
        assert!(!SECRETS.iter().any(|secret| text.contains(secret)), "{text}");
    }
}

#[test]
fn each_deed_has_its_event_of_the_same_name() {
    let entry = recorded();
    let named = entry.deeds.iter().map(|deed| match &deed.draft.content {
        Content::Admin(admin) => admin.event.to_string(),
        Content::Action(_) | Content::Amendment(_) => panic!("no admin deed"),
    });
    let told = entry.events.iter().map(|event| event.kind.to_string());
    assert!(named.eq(told));
}

#[test]
fn thin_objects_are_ids_and_words_only() {
    let objects: Vec<_> =
        recorded().events.into_iter().map(|event| event.object.to_string()).collect();
    let zero = "0".repeat(26);
    assert!(
        objects.contains(&format!(r#"{{"id":"agt_{zero}","object":"agent","status":"active"}}"#))
    );
    assert!(
        objects
            .contains(&format!(r#"{{"id":"key_{zero}","object":"agent_key","status":"active"}}"#))
    );
    assert!(
        objects.contains(&format!(r#"{{"id":"con_{zero}","name":"shop","object":"connector"}}"#))
    );
    assert!(objects.contains(&format!(
        r#"{{"id":"pol_{zero}","mode":"enforce","object":"policy","version":"pv_{zero}"}}"#
    )));
}

#[test]
fn a_replaced_credential_is_told_by_its_fields() {
    let entry = recorded();
    let texts: Vec<_> = entry
        .deeds
        .iter()
        .flat_map(|deed| &deed.disclosures)
        .map(deed::Disclosure::value)
        .collect();
    assert!(texts.iter().any(|text| text.contains(r#""credential_fields":["conn_password"]"#)));
}
