//! Checks how long and how many keys are remembered.

use std::sync::Arc;

use ledger::record::{ApiKey, Holder};
use model::{KeyId, OrgId, Timestamp};
use uuid::Uuid;

use super::{CACHED, CACHED_FOR, Caller, KeyCache, KeyHolder, KnownKey};

const NOW: Timestamp = Timestamp::from_unix_millis(1_000_000);

fn id(number: usize) -> KeyId {
    KeyId::from_uuid(Uuid::from_u128(number as u128))
}

fn known(id: KeyId, read_at: Timestamp) -> Arc<KnownKey> {
    let org = OrgId::from_uuid(Uuid::nil());
    let key = ApiKey {
        id,
        org,
        holder: Holder::Org,
        name: "first".into(),
        scopes: vec![],
        livemode: true,
        mac: String::new(),
        hint: String::new(),
        created_at: NOW,
        expires_at: None,
        revoked_at: None,
    };
    let caller = Caller { org, key: id, holder: KeyHolder::Org, scopes: vec![], livemode: true };
    Arc::new(KnownKey { key, caller, read_at })
}

#[test]
fn a_key_is_remembered_for_a_second_and_never_from_the_future() {
    let keys = KeyCache::default();
    keys.put(id(1), known(id(1), NOW));
    let nearly = std::time::Duration::from_millis(999);
    assert!(keys.get(id(1), NOW + nearly).is_some());
    assert!(keys.get(id(1), NOW + CACHED_FOR).is_none());
    assert!(keys.get(id(1), NOW.before(nearly)).is_none());
    keys.forget(id(1));
    assert!(keys.get(id(1), NOW).is_none());
}

#[test]
fn no_more_keys_are_remembered_than_there_is_room_for() {
    let keys = KeyCache::default();
    for number in 0..=CACHED {
        keys.put(id(number), known(id(number), NOW));
    }
    assert!(keys.get(id(CACHED), NOW).is_none());
    assert_eq!(keys.lock().len(), CACHED);
    // What is stale by then makes room.
    let later = NOW + CACHED_FOR;
    keys.put(id(CACHED), known(id(CACHED), later));
    assert!(keys.get(id(CACHED), later).is_some());
    assert_eq!(keys.lock().len(), 1);
}
