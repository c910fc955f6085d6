//! By what a process knows that its pepper and vault are those of the record.

use std::{slice, sync::Arc};

use model::Timestamp;
use store_postgres::SealedSecrets;

use crate::world::store;

#[tokio::test(flavor = "multi_thread")]
async fn the_first_pepper_that_is_noted_stands_until_it_is_replaced() {
    let Some((_database, store)) = store().await else { return };
    let now = Timestamp::from_unix_millis(1_000);
    assert_eq!(store.pepper().await.unwrap(), None);
    let noted = (0..8_u8).map(|byte| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.note_pepper(&[byte; 32], now).await.unwrap() })
    });
    let mut stands = Vec::new();
    for task in noted.collect::<Vec<_>>() {
        stands.push(task.await.unwrap());
    }
    let first = store.pepper().await.unwrap().unwrap();
    assert!(stands.iter().all(|mac| *mac == first), "{stands:?}");
    store.replace_pepper(&[9; 32], now).await.unwrap();
    assert_eq!(store.note_pepper(&first, now).await.unwrap(), [9; 32]);
    assert_eq!(store.pepper().await.unwrap(), Some([9; 32]));
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_counted_by_the_keys_that_they_are_under() {
    let Some((database, store)) = store().await else { return };
    let (ours, other) = (b"8 bytes.".to_vec(), b"another.".to_vec());
    let counted = async |keys: &[Vec<u8>]| {
        let SealedSecrets {
            known_credentials, unknown_credentials, unknown_webhook_secrets, ..
        } = store.sealed_secrets(keys).await.unwrap();
        (known_credentials, unknown_credentials, unknown_webhook_secrets)
    };
    assert_eq!(counted(slice::from_ref(&ours)).await, (0, 0, 0));
    let sealed = |key: &[u8]| {
        format!(
            "encode('\\x01'::bytea || '{}'::bytea || 'rest', 'base64')",
            String::from_utf8_lossy(key)
        )
    };
    let (ours_sealed, other_sealed) = (sealed(&ours), sealed(&other));
    // Nobody reads the secret of an endpoint that is deleted.
    let sql = format!(
        "insert into org values (gen_random_uuid(), now(), '{{}}');
        insert into connector select org_id, gen_random_uuid(), 'shop', now(),
            jsonb_build_object('credential',
                jsonb_build_object('one', {ours_sealed}, 'two', {other_sealed}))::text from org;
        insert into connector select org_id, gen_random_uuid(), 'bare', now(), '{{}}' from org;
        insert into webhook select org_id, gen_random_uuid(), now(), gone,
            jsonb_build_object('secret', {ours_sealed})::text
        from org cross join (values (null::timestamptz), (now())) as ends (gone);"
    );
    database.owner().await.batch_execute(&sql).await.unwrap();
    assert_eq!(counted(slice::from_ref(&ours)).await, (1, 1, 0));
    assert_eq!(counted(slice::from_ref(&other)).await, (1, 1, 1));
    assert_eq!(counted(&[ours, other]).await, (2, 0, 0));
    assert_eq!(counted(&[]).await, (0, 2, 1));
}
