//! What a walk finds in deeds of which one thing each was changed.

use deed::{
    Actor, AdminContent, Amended, ChainHead, Content, Draft, KeySet, LogOrigin, SealKey, SealKeys,
    Sealed, Sealer, Subject, Word, specimen,
};
use model::{ActionId, AgentId, DeedId, EventType, LogId, Mint, OrgId, Timestamp};
use uuid::Uuid;

use crate::{
    DeedRow, Problem,
    walk::{Before, Judge, Leaves, node_fault},
};

const ORG: OrgId = OrgId::from_uuid(Uuid::from_u128(7));

/// A log of sealed deeds, and the key set that they are under.
struct Log {
    origin: LogOrigin,
    keys: KeySet,
    rows: Vec<DeedRow>,
}

fn draft(number: u128) -> Draft {
    Draft {
        id: DeedId::from_uuid(Uuid::from_u128(number)),
        livemode: true,
        actor: Actor::System(Word::of("test")),
        subject: Subject::org(ORG),
        content: Content::Admin(AdminContent {
            event: EventType::OrgUpdated.into(),
            before: None,
            after: None,
            reason: None,
            data: serde_json::Map::default(),
        }),
    }
}

fn log() -> Log {
    let pem = SealKeys::generate_pem(&crypto::SystemEntropy::new());
    let keys = SealKeys::from_pem(pem.expose()).unwrap();
    let since = Timestamp::from_unix_millis(1_000);
    let registered =
        keys.keys().map(|(purpose, key)| SealKey::new(*key.public(), purpose, since)).collect();
    let registered = KeySet::new(registered).unwrap();
    let sealer = Sealer::new(keys, registered.clone());
    let origin = LogOrigin::new("test.example", LogId::from_uuid(Uuid::nil())).unwrap();
    let mut head = ChainHead::genesis(origin.clone());
    let (mut rows, mut last) = (Vec::new(), None);
    for (number, kind) in (0..).zip(KINDS) {
        let at = Timestamp::from_unix_millis(2_000 + i64::from(number));
        let draft = kind(&Mint::new(at, &crypto::SystemEntropy::new()), last.as_ref());
        let deed = sealer.seal(&mut head, draft.clone(), ORG, at).unwrap();
        rows.push(row(&draft, &deed));
        last = matches!(draft.content, Content::Action(_)).then(|| (draft, deed)).or(last);
    }
    Log { origin, keys: registered, rows }
}

/// Makes a draft, of an amendment of the action before it.
type Make = fn(&Mint<'_>, Option<&(Draft, Sealed)>) -> Draft;

/// One deed of each kind.
const KINDS: [Make; 4] = [
    |_, _| draft(0),
    |mint, _| specimen::action(mint).unwrap().0,
    |_, _| draft(2),
    |mint, action| {
        let (draft, deed) = action.unwrap();
        let amends = Amended { id: deed.id, digest: deed.digest, seq: deed.seq };
        let amendment = specimen::amendment(mint, amends, draft.subject.clone()).unwrap().0;
        Draft { actor: draft.actor.clone(), ..amendment }
    },
];

/// The row that a store keeps of a deed.
fn row(draft: &Draft, deed: &Sealed) -> DeedRow {
    let is_about_an_action = draft.subject.kind == Word::of("action");
    let agent = match draft.actor {
        Actor::Agent(agent) => is_about_an_action.then_some(agent),
        Actor::ApiKey(_) | Actor::User(_) | Actor::System(_) => None,
    };
    DeedRow {
        log_no: ledger::LogNo::FIRST,
        seq: deed.seq,
        id: deed.id,
        kind: deed.kind.as_str().to_owned(),
        agent,
        action: is_about_an_action.then(|| draft.subject.id.to_string().parse().unwrap()),
        acting: agent,
        issued_at: deed.issued_at,
        body: deed.body.clone(),
        digest: deed.digest,
        signature: deed.signature,
        key_id: deed.key_id.to_string(),
    }
}

impl Log {
    fn found(&self, rows: &[DeedRow]) -> Option<(u64, Problem)> {
        let judge = Judge { org: ORG, log: &self.origin, keys: &self.keys };
        let fault = judge.rows((0, 4), Before::Beginning, rows)?;
        Some((fault.seq, fault.problem))
    }

    fn changed(&self, change: impl FnOnce(&mut DeedRow)) -> Option<(u64, Problem)> {
        let mut rows = self.rows.clone();
        change(&mut rows[2]);
        self.found(&rows)
    }
}

#[test]
fn a_log_as_it_was_sealed_is_well() {
    let log = log();
    assert_eq!(log.found(&log.rows), None);
}

type Change = Box<dyn FnOnce(&mut DeedRow)>;

#[test]
fn a_change_of_any_column_is_found_where_it_is() {
    let log = log();
    let rehashed = |row: &mut DeedRow| {
        row.body = row.body.replace("\"livemode\":true", "\"livemode\":false");
        row.digest = crypto::sha256(&row.body);
    };
    let cases: Vec<(Change, Problem)> = vec![
        (Box::new(|row| row.seq = 9), Problem::Gap),
        (Box::new(|row| row.id = DeedId::from_uuid(Uuid::from_u128(99))), Problem::Row),
        (Box::new(|row| row.kind = "amendment".to_owned()), Problem::Row),
        (Box::new(|row| row.agent = Some(AgentId::from_uuid(Uuid::nil()))), Problem::Row),
        (Box::new(|row| row.action = Some(ActionId::from_uuid(Uuid::nil()))), Problem::Row),
        (Box::new(|row| row.issued_at = Timestamp::from_unix_millis(2_003)), Problem::Row),
        (Box::new(|row| row.key_id = "another".to_owned()), Problem::Row),
        (Box::new(|row| row.digest = crypto::sha256("another")), Problem::Digest),
        (Box::new(|row| row.signature[63] ^= 1), Problem::Signature),
        (Box::new(|row| row.body.push(' ')), Problem::Digest),
        (Box::new(|row| row.body.clear()), Problem::Digest),
        (Box::new(rehashed), Problem::Signature),
    ];
    for (number, (change, problem)) in cases.into_iter().enumerate() {
        assert_eq!(log.changed(change), Some((2, problem)), "change {number}");
    }
}

impl Log {
    /// What is wrong with the deed at this place once its row was changed.
    fn found_at(&self, place: usize, change: impl FnOnce(&mut DeedRow)) -> Option<Problem> {
        let judge = Judge { org: ORG, log: &self.origin, keys: &self.keys };
        let before = match place.checked_sub(1) {
            Some(before) => Before::Deed(&self.rows[before]),
            None => Before::Beginning,
        };
        let mut row = self.rows[place].clone();
        change(&mut row);
        let seq = self.rows[place].seq;
        judge.rows((seq, seq + 1), before, &[row]).map(|fault| fault.problem)
    }
}

fn flip(text: &mut String, place: usize, bit: u8) {
    let mut bytes = std::mem::take(text).into_bytes();
    bytes[place] ^= 1 << bit;
    // A body is ASCII, and so is one of which one of the lower bits was flipped.
    *text = String::from_utf8(bytes).unwrap();
}

#[test]
fn every_bit_of_body_digest_and_signature_of_every_kind_counts() {
    let log = log();
    for place in 0..log.rows.len() {
        assert_eq!(log.found_at(place, |_| {}), None, "as it was sealed");
        for byte in 0..log.rows[place].body.len() {
            for bit in 0..7 {
                let found = log.found_at(place, |row| flip(&mut row.body, byte, bit));
                assert_eq!(found, Some(Problem::Digest), "deed {place}: body {byte}.{bit}");
            }
            // Nor does it help to write the digest of what was changed.
            let found = log.found_at(place, |row| {
                flip(&mut row.body, byte, 0);
                row.digest = crypto::sha256(&row.body);
            });
            let rehashed = [Problem::BodyMissing, Problem::Row, Problem::Link, Problem::Signature];
            let found = found.unwrap_or_else(|| panic!("deed {place}: body {byte} was not found"));
            assert!(rehashed.contains(&found), "deed {place}: body {byte}: {found:?}");
        }
        for (byte, bit) in (0..32).flat_map(|byte| (0..8).map(move |bit| (byte, bit))) {
            let found = log.found_at(place, |row| {
                let mut digest = *row.digest.as_bytes();
                digest[byte] ^= 1 << bit;
                row.digest = model::Digest::from_bytes(digest);
            });
            assert_eq!(found, Some(Problem::Digest), "deed {place}: digest {byte}.{bit}");
        }
        for (byte, bit) in (0..64).flat_map(|byte| (0..8).map(move |bit| (byte, bit))) {
            let found = log.found_at(place, |row| row.signature[byte] ^= 1 << bit);
            assert_eq!(found, Some(Problem::Signature), "deed {place}: signature {byte}.{bit}");
        }
    }
}

#[test]
fn who_acted_is_who_may_read_whatever_the_actions_own_row_says() {
    let found = log().found_at(1, |row| {
        row.agent = Some(AgentId::from_uuid(Uuid::nil()));
        row.acting = row.agent;
    });
    assert_eq!(found, Some(Problem::Row));
}

#[test]
fn deeds_that_are_gone_swapped_or_of_another_log_are_found() {
    let log = log();
    let mut rows = log.rows.clone();
    rows.remove(1);
    assert_eq!(log.found(&rows), Some((1, Problem::Gap)));
    assert_eq!(log.found(&log.rows[..3]), Some((3, Problem::Gap)));
    let other = Log { rows: self::log().rows, ..log };
    // The other log's deeds are well in themselves; its keys are not known here.
    assert_eq!(other.found(&other.rows), Some((0, Problem::KeyUnknown)));
}

#[test]
fn a_deed_that_does_not_name_the_one_before_is_found() {
    let log = log();
    let judge = Judge { org: ORG, log: &log.origin, keys: &log.keys };
    let fault = judge.rows((2, 4), Before::Deed(&log.rows[0]), &log.rows[2..]).unwrap();
    assert_eq!((fault.seq, fault.problem), (2, Problem::Link));
    assert_eq!(judge.rows((2, 4), Before::Deed(&log.rows[1]), &log.rows[2..]), None);
}

#[test]
fn a_key_that_did_not_count_is_told_by_what_is_wrong_with_it() {
    let log = log();
    let with = |change: fn(&mut SealKey)| {
        let mut keys = log.keys.keys().to_vec();
        keys.iter_mut().for_each(change);
        let keys = KeySet::new(keys).unwrap();
        let judge = Judge { org: ORG, log: &log.origin, keys: &keys };
        judge.rows((0, 4), Before::Beginning, &log.rows).map(|fault| (fault.seq, fault.problem))
    };
    assert_eq!(
        with(|key| key.retired_at = Some(Timestamp::from_unix_millis(2_002))),
        Some((2, Problem::KeyWindow))
    );
    assert_eq!(
        with(|key| key.activated_at = Timestamp::from_unix_millis(2_001)),
        Some((0, Problem::KeyWindow))
    );
    assert_eq!(
        with(|key| key.revoked_at = Some(Timestamp::from_unix_millis(9_000))),
        Some((0, Problem::KeyRevoked))
    );
    assert_eq!(with(|_| {}), None);
}

#[test]
fn a_node_is_the_root_of_what_is_under_it() {
    let digests: Vec<_> = log().rows.iter().map(|row| row.digest).collect();
    let root = deed::tree::Tree::of(digests.iter().copied()).root_at(4).unwrap();
    assert_eq!(node_fault(3, &digests, Leaves::Deeds, Some(&root)), None);
    for stored in [None, Some(&digests[0])] {
        let fault = node_fault(3, &digests, Leaves::Deeds, stored).unwrap();
        assert_eq!(fault.problem, Problem::Tree);
    }
}
