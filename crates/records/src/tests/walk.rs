//! What a walk finds in deeds of which one thing each was changed.

use deed::{
    Actor, AdminContent, ChainHead, Content, Draft, KeySet, LogOrigin, SealKey, SealKeys, Sealer,
    Subject, Word,
};
use model::{ActionId, AgentId, DeedId, EventType, LogId, OrgId, Timestamp};
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
    let mut rows = Vec::new();
    for number in 0..4_u32 {
        let at = Timestamp::from_unix_millis(2_000 + i64::from(number));
        let deed = sealer.seal(&mut head, draft(number.into()), ORG, at).unwrap();
        rows.push(DeedRow {
            log_no: ledger::LogNo::FIRST,
            seq: deed.seq,
            id: deed.id,
            kind: deed.kind.as_str().to_owned(),
            agent: None,
            action: None,
            acting: None,
            issued_at: deed.issued_at,
            body: deed.body,
            digest: deed.digest,
            signature: deed.signature,
            key_id: deed.key_id.to_string(),
        });
    }
    Log { origin, keys: registered, rows }
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

#[test]
fn every_byte_of_a_body_counts() {
    let log = log();
    for place in 0..log.rows[2].body.len() {
        let found = log.changed(|row| {
            let mut bytes = std::mem::take(&mut row.body).into_bytes();
            bytes[place] ^= 1;
            row.body = String::from_utf8(bytes).unwrap();
        });
        assert_eq!(found, Some((2, Problem::Digest)), "byte {place}");
    }
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
