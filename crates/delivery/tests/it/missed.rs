//! What an endpoint missed, and how it gets it.

use std::{collections::BTreeMap, sync::atomic::Ordering, time::Duration};

use delivery::{DeliveryStore, Limits, SigningSecret};
use model::DeliveryStatus;

use crate::world::{ORG, Operator, Seen, World, is_signed};

/// Whether a receiver accepts it that knows these secrets and refuses what is more than five minutes off.
fn verifies(seen: &Seen, secrets: &[SigningSecret]) -> bool {
    let off = (seen.at.unix_millis() / 1_000 - seen.timestamp).abs();
    off <= 300 && is_signed(seen, secrets)
}

#[tokio::test]
async fn each_attempt_has_its_own_time_and_the_secrets_of_that_time() {
    let world = World::new().await;
    let (webhook, old) = world.endpoint(&["org.updated"]).await;
    world.answer([Ok(500); 5]);
    world.happen(1).await;
    let first = world.now();
    for due in delivery::RETRIES.into_iter().take(5) {
        world.look().await;
        world.pass((first + due).since(world.now()));
    }
    // The secret is rolled between the attempt after half an hour and the one after an hour.
    let day = Duration::from_hours(24);
    let (_, shown) = world.webhooks.roll_secret(&Operator, webhook.id, day).await.unwrap();
    let new = SigningSecret::parse(shown.expose()).unwrap();
    world.answer([Ok(500)]);
    world.look().await;
    world.pass(Duration::from_hours(2));
    assert_eq!(world.look().await.delivered, 1, "the attempt after three hours");
    let delivery = world.deliveries(webhook.id).await[0].clone();
    world.pass(Duration::from_hours(48));
    world.webhooks.redeliver(&Operator, delivery.id).await.unwrap();
    world.look().await;
    let seen = world.take();
    assert_eq!(seen.len(), 8);
    let (before, after) = seen.split_at(5);
    assert!(before.iter().all(|it| verifies(it, std::slice::from_ref(&old))));
    let (both, last) = after.split_at(2);
    assert!(both.iter().all(|it| verifies(it, &[new.clone(), old.clone()])));
    assert!(verifies(&last[0], std::slice::from_ref(&new)), "the old one signs no more");
    assert!(seen.iter().all(|it| (&it.id, &it.body) == (&seen[0].id, &seen[0].body)));
}

/// 500 events wait for their retries and 50 happen while the endpoint is off.
#[tokio::test]
async fn what_waited_and_what_happened_while_it_was_off_arrives_once() {
    for is_swept in [false, true] {
        let world = World::new().await;
        let (webhook, _) = world.endpoint(&["org.updated"]).await;
        let since = world.now();
        world.answer([Ok(500); 500]);
        world.happen(500).await;
        while world.look().await.tries() > 0 {}
        assert_eq!(world.take().len(), 500);
        world.webhooks.disable(&Operator, webhook.id, None).await.unwrap();
        world.happen(50).await;
        if is_swept {
            world.courier.sweep().await.unwrap();
            let all = world.deliveries(webhook.id).await;
            assert!(all.iter().all(|it| it.status == DeliveryStatus::Dropped));
        }
        world.webhooks.enable(&Operator, webhook.id, None).await.unwrap();
        assert_eq!(world.look().await.tries(), 0, "nothing by itself");
        // Two people ask for it at the same time.
        let (one, other) = tokio::join!(
            world.webhooks.recover(&Operator, webhook.id, (since, false)),
            world.webhooks.recover(&Operator, webhook.id, (since, false)),
        );
        let added = one.unwrap().count + other.unwrap().count;
        assert_eq!(added, if is_swept { 550 } else { 50 });
        if !is_swept {
            assert_eq!(world.look().await.delivered, 50, "the others wait for their retries");
            let retry = world.webhooks.recover(&Operator, webhook.id, (since, true)).await.unwrap();
            assert_eq!((retry.count, retry.retried), (0, 500));
        }
        while world.look().await.tries() > 0 {}
        let mut ids: BTreeMap<String, usize> = BTreeMap::new();
        for seen in world.take() {
            *ids.entry(seen.id).or_default() += 1;
        }
        assert_eq!((ids.len(), ids.values().max()), (550, Some(&1)));
    }
}

#[tokio::test]
async fn a_fault_of_our_own_store_uses_no_attempt_up() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    let key = (ORG, webhook.id);
    world.happen(1).await;
    let serve = async || {
        let claimed = world.courier.claim(key).await?;
        let Some(claimed) = claimed else { return Ok(0) };
        world.courier.serve(claimed, &|| true).await.map(|worked| worked.tries())
    };
    for attempt in ["claim a webhook endpoint", "read events"] {
        world.fixture.store.fail_next(attempt, 1);
        assert!(serve().await.is_err(), "{attempt}");
        world.pass(Duration::from_secs(25));
    }
    assert!(world.take().is_empty() && world.deliveries(webhook.id).await.is_empty());
    world.answer([Ok(500)]);
    assert_eq!(serve().await.unwrap(), 1);
    world.take();
    world.pass(Duration::from_secs(30));
    for attempt in ["claim a webhook endpoint", "read events", "read due webhook deliveries"] {
        world.fixture.store.fail_next(attempt, 1);
        assert!(serve().await.is_err(), "{attempt}");
        world.pass(Duration::from_secs(25));
        assert_eq!(world.deliveries(webhook.id).await[0].tries.len(), 1, "{attempt}");
    }
    // The page of events is read, and the event of the delivery is not.
    world.events.fails_from.store(1, Ordering::Relaxed);
    assert_eq!(serve().await.unwrap(), 0);
    world.events.fails_from.store(usize::MAX, Ordering::Relaxed);
    assert_eq!(world.deliveries(webhook.id).await[0].tries.len(), 1);
    assert!(world.take().is_empty(), "the receiver was not asked");
    assert_eq!(serve().await.unwrap(), 1);
    let delivery = &world.deliveries(webhook.id).await[0];
    assert_eq!((delivery.status, delivery.tries.len()), (DeliveryStatus::Delivered, 2));
}

#[tokio::test]
async fn what_is_added_at_the_same_time_is_added_once() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    let since = world.now();
    world.webhooks.disable(&Operator, webhook.id, None).await.unwrap();
    world.happen(1_200).await;
    world.webhooks.enable(&Operator, webhook.id, None).await.unwrap();
    let recover = || world.webhooks.recover(&Operator, webhook.id, (since, false));
    let all = tokio::join!(recover(), recover(), recover());
    let counts = [all.0, all.1, all.2].map(|done| done.unwrap().count);
    assert_eq!(counts.iter().sum::<usize>(), 1_200, "{counts:?}");
    let key = (ORG, webhook.id);
    assert_eq!(world.fixture.store.due_deliveries(key, 9_999).await.unwrap().len(), 1_200);
}

#[tokio::test]
async fn a_delivery_that_waits_is_sent_now_by_its_next_attempt() {
    let limits = Limits { max_attempts: 2, ..Limits::default() };
    let world = World::limited(limits).await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    world.answer([Ok(500); 3]);
    world.happen(1).await;
    world.look().await;
    let first = world.deliveries(webhook.id).await[0].clone();
    assert_eq!(world.look().await.tries(), 0, "it waits for 30 seconds");
    let redeliver = async || world.webhooks.redeliver(&Operator, first.id).await;
    // However often it is asked for: it is the same delivery, and one of its attempts.
    for _ in 0..2 {
        let sent = redeliver().await.unwrap();
        assert_eq!((sent.delivery.id, sent.attempts_left), (first.id, 2));
        assert_eq!(sent.delivery.next_at, Some(world.now()));
    }
    assert_eq!(world.look().await.failed, 1);
    let second = world.deliveries(webhook.id).await[0].clone();
    assert_eq!((second.status, second.tries.len()), (DeliveryStatus::Retrying, 2));
    // The next one keeps its distance to the last, and the last ends it.
    assert!(second.next_at > Some(world.now() + Duration::from_secs(30)), "{second:?}");
    redeliver().await.unwrap();
    assert_eq!(world.look().await.tries(), 1);
    let last = world.deliveries(webhook.id).await[0].clone();
    assert_eq!((last.status, last.tries.len()), (DeliveryStatus::Dead, 3));
    // What is dead is sent by another delivery, which the receiver accepts under the same id.
    let again = redeliver().await.unwrap();
    assert_ne!(again.delivery.id, first.id);
    assert_eq!(world.look().await.delivered, 1);
    let seen = world.take();
    assert!(seen.len() == 4 && seen.iter().all(|it| it.id == seen[0].id));
}

#[tokio::test]
async fn what_waits_is_not_sent_where_that_would_change_nothing() {
    let world = World::limited(Limits { max_attempts: 1, ..Limits::default() }).await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    world.answer([Ok(500); 2]);
    world.happen(1).await;
    world.look().await;
    let first = world.deliveries(webhook.id).await[0].clone();
    world.webhooks.disable(&Operator, webhook.id, None).await.unwrap();
    let refused = world.webhooks.redeliver(&Operator, first.id).await.unwrap_err();
    assert!(refused.to_string().contains("disabled"), "{refused}");
    world.webhooks.enable(&Operator, webhook.id, None).await.unwrap();
    // It had its last attempt, and that cannot be reported now.
    world.fixture.store.fail_next("append a turn", 1);
    world.pass(Duration::from_secs(30));
    world.look().await;
    let waiting = world.deliveries(webhook.id).await[0].clone();
    assert_eq!((waiting.status, waiting.tries.len()), (DeliveryStatus::Retrying, 2));
    let refused = world.webhooks.redeliver(&Operator, first.id).await.unwrap_err();
    assert!(refused.to_string().contains("had its last attempt"), "{refused}");
}
