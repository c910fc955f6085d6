//! What is posted when, and to whom.

use std::{sync::atomic::Ordering, time::Duration};

use delivery::{Limits, Lookout, RETRIES, Worked};
use ledger::record::{OrgWebhooks, Webhook};
use model::{DeliveryError, DeliveryStatus, EventType};

use crate::world::{ORG, Operator, URL, World, is_signed, number};

#[tokio::test]
async fn what_was_asked_for_is_posted_once_in_order_as_the_stream_has_it() {
    let world = World::new().await;
    world.happen(3).await;
    let (_, secret) = world.endpoint(&["org.*"]).await;
    world.happen(300).await;
    world.look().await;
    let seen = world.take();
    let numbers: Vec<_> = seen.iter().map(number).collect();
    assert_eq!(numbers, (0..300).collect::<Vec<_>>(), "from when it was made, in order");
    assert_eq!(world.aside.turns.load(Ordering::Relaxed), 300, "each waits for its turn");
    let envelopes = world.envelopes(EventType::OrgUpdated).await;
    for (one, envelope) in seen.iter().zip(envelopes.iter().skip(3)) {
        assert_eq!(&one.body, envelope);
        assert!(is_signed(one, std::slice::from_ref(&secret)));
        assert_eq!(one.timestamp, one.at.unix_millis() / 1_000);
        assert_eq!((&*one.url, one.kind), (URL, EventType::OrgUpdated));
    }
    world.look().await;
    assert!(world.take().is_empty());
}

#[tokio::test]
async fn a_page_of_events_is_read_once_for_all_endpoints_that_are_at_it() {
    let world = World::new().await;
    for number in 0..5 {
        world.endpoint_at(&format!("{URL}/{number}"), &["org.updated"]).await;
    }
    let read = || world.events.pages.load(Ordering::Relaxed);
    world.happen(300).await;
    world.look().await;
    assert_eq!(world.take().len(), 5 * 300);
    // The events of the endpoints' making are before those, on the first of three or four pages.
    assert!((3..=4).contains(&read()), "{}", read());
    // What happens behind the last page is read by the first that comes by.
    let before = read();
    world.happen(1).await;
    world.look().await;
    assert_eq!((world.take().len(), read() - before), (5, 1));
}

#[tokio::test]
async fn a_page_that_is_five_seconds_old_is_read_again() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint_at(&format!("{URL}/slow"), &["org.updated"]).await;
    world.endpoint(&["org.updated"]).await;
    world.happen(1).await;
    let claimed = world.courier.claim((ORG, webhook.id)).await.unwrap().unwrap();
    let read = || world.events.pages.load(Ordering::Relaxed);
    world.look().await;
    assert_eq!((world.take().len(), read()), (1, 1), "the other is claimed");
    world.pass(Duration::from_secs(5));
    world.courier.serve(claimed, &|| true).await.unwrap();
    assert_eq!((world.take().len(), read()), (1, 2));
}

#[tokio::test]
async fn while_there_is_no_endpoint_that_is_asked_once_a_second_and_then_once_a_minute() {
    let world = World::new().await;
    let mut lookout = Lookout::default();
    let mut any = async || world.courier.has_endpoints(&mut lookout).await.unwrap();
    assert!(!any().await);
    let (webhook, _) = world.endpoint(&["org.*"]).await;
    world.pass(Duration::from_millis(999));
    assert!(!any().await, "it was asked a moment ago");
    world.pass(Duration::from_millis(1));
    assert!(any().await);
    let gone = Webhook { deleted_at: Some(world.now()), ..webhook };
    world.fixture.write(ORG, OrgWebhooks { org: ORG, endpoints: vec![gone] }).await;
    world.pass(Duration::from_secs(59));
    assert!(any().await, "a look for nothing costs little");
    world.pass(Duration::from_secs(1));
    assert!(!any().await);
}

#[tokio::test]
async fn a_type_that_another_version_kept_asks_for_nothing_else() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    let keeps = async |types: &[&str]| {
        let types = types.iter().map(|word| (*word).to_owned()).collect();
        let endpoints = vec![Webhook { types, ..webhook.clone() }];
        world.fixture.write(ORG, OrgWebhooks { org: ORG, endpoints }).await;
        world.happen(1).await;
        world.look().await;
        world.take().len()
    };
    assert_eq!(keeps(&["from.tomorrow"]).await, 0);
    assert_eq!(keeps(&["from.tomorrow", "org.updated"]).await, 1);
}

#[tokio::test]
async fn a_delivery_is_tried_at_each_of_its_times_under_one_id_and_then_dead() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    let answers = [Err(DeliveryError::Timeout), Ok(500), Ok(301), Ok(410), Ok(404)];
    world.answer(answers.into_iter().chain([Ok(500); 4]));
    let first = world.now();
    world.happen(1).await;
    world.look().await;
    for due in RETRIES {
        let before = (first + due).since(world.now()).checked_sub(Duration::from_millis(1));
        world.pass(before.unwrap());
        assert_eq!(world.look().await.tries(), 0, "nothing before {due:?}");
        world.pass(Duration::from_millis(1));
        assert_eq!(world.look().await.tries(), 1, "one at {due:?}");
    }
    let seen = world.take();
    assert_eq!(seen.len(), 9);
    assert!(seen.iter().all(|it| it.id == seen[0].id && it.body == seen[0].body));
    assert_eq!(seen[8].timestamp - seen[0].timestamp, 12 * 3600, "each try has its own moment");
    let delivery = &world.deliveries(webhook.id).await[0];
    assert_eq!((delivery.status, delivery.next_at), (DeliveryStatus::Dead, None));
    let errors: Vec<_> = delivery.tries.iter().take(4).filter_map(|it| it.error_class).collect();
    let status = DeliveryError::HttpStatus;
    let expected = [DeliveryError::Timeout, status, DeliveryError::Redirect, status];
    assert_eq!(errors, expected);
    assert!(world.kinds().await.contains(&EventType::WebhookDeliveryDead));
    world.pass(Duration::from_hours(24));
    assert_eq!(world.look().await.tries(), 0);
}

#[tokio::test]
async fn retries_are_as_many_as_the_setting_says() {
    for max_attempts in 1..=8 {
        let world = World::limited(Limits { max_attempts, ..Limits::default() }).await;
        let (webhook, _) = world.endpoint(&["org.updated"]).await;
        world.answer([Ok(500); 20]);
        world.happen(1).await;
        for _ in 0..20 {
            world.look().await;
            world.pass(Duration::from_hours(6));
        }
        let of = world.deliveries(webhook.id).await;
        assert_eq!(of[0].tries.len(), max_attempts + 1);
    }
}

#[tokio::test]
async fn an_attempt_may_take_as_long_as_the_setting_says_and_its_claim_outlives_it() {
    for seconds in [1, 10, 30] {
        let timeout = Duration::from_secs(seconds);
        let world = World::limited(Limits { timeout, ..Limits::default() }).await;
        let (webhook, _) = world.endpoint(&["org.updated"]).await;
        world.answer([Err(DeliveryError::Timeout)]);
        world.happen(1).await;
        let other = world.another_courier();
        let meanwhile = async {
            world.pass(timeout);
            let claimed = other.claim((ORG, webhook.id)).await.unwrap();
            assert!(claimed.is_none(), "another instance has it after {timeout:?}");
        };
        let worked = world.serve_while(webhook.id, meanwhile).await;
        assert_eq!((worked.failed, worked.delivered), (1, 0), "{timeout:?}");
        let [delivery] = world.deliveries(webhook.id).await.try_into().unwrap();
        assert_eq!(delivery.status, DeliveryStatus::Retrying, "it is noted");
        let [one] = delivery.tries.as_slice() else { panic!("{delivery:?}") };
        assert_eq!(one.error_class, Some(DeliveryError::Timeout));
        assert_eq!(u128::from(one.duration_ms), timeout.as_millis());
    }
}

#[tokio::test]
async fn tries_that_come_late_do_not_follow_each_other_at_once() {
    let limits = Limits::default();
    let world = World::new().await;
    let first = world.now();
    let late = first + Duration::from_hours(2);
    // On time, half of the distance is long over.
    assert_eq!(limits.next_try((first, first), 1), Some(first + Duration::from_secs(30)));
    assert_eq!(limits.next_try((first, late), 2), Some(late + Duration::from_secs(45)));
    assert_eq!(limits.next_try((first, late), 9), None);
}

#[tokio::test]
async fn an_endpoint_that_hangs_delays_no_other() {
    let world = World::new().await;
    let (dead, _) = world.endpoint_at("https://dead.example.com", &["org.updated"]).await;
    let mut others = Vec::new();
    for number in 0..15 {
        let url = format!("https://{number}.example.com");
        others.push(world.endpoint_at(&url, &["org.updated"]).await.0);
    }
    world.receiver.hangs.lock().unwrap().push("https://dead.example.com".to_owned());
    for _ in 0..40 {
        world.happen(250).await;
    }
    // Each is served by itself: the others are through in as many looks as without the dead one.
    let mut looks = 0;
    loop {
        looks += 1;
        for key in world.courier.waiting(false, 100).await.unwrap() {
            if key.1 != dead.id {
                let claimed = world.courier.claim(key).await.unwrap().unwrap();
                world.courier.serve(claimed, &|| true).await.unwrap();
            }
        }
        let behind = async |webhook: &ledger::record::Webhook| {
            let shown = world.webhooks.show(&Operator, webhook.id).await.unwrap();
            shown.state.behind
        };
        let mut left = 0;
        for other in &others {
            left += behind(other).await;
        }
        if left == 0 {
            break;
        }
        assert!(looks < 100, "{left} are left");
    }
    let seen = world.take();
    assert_eq!(seen.len(), 15 * 10_000);
    // And the dead one gives its place back after a try.
    let claimed = world.courier.claim((ORG, dead.id)).await.unwrap().unwrap();
    let worked = world.courier.serve(claimed, &|| true).await.unwrap();
    assert_eq!((worked.failed, worked.delivered), (1, 0));
    assert!(world.courier.waiting(false, 100).await.unwrap().is_empty(), "it has another place");
    assert_eq!(world.courier.waiting(true, 100).await.unwrap(), [(ORG, dead.id)]);
}

#[tokio::test]
async fn of_several_instances_one_serves_an_endpoint_and_a_lost_claim_writes_nothing() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    world.happen(10).await;
    let (one, other) = (&world.courier, world.another_courier());
    let key = (ORG, webhook.id);
    let claimed = one.claim(key).await.unwrap().unwrap();
    assert!(other.claim(key).await.unwrap().is_none());
    assert!(other.waiting(false, 10).await.unwrap().is_empty());
    // The first one is gone for longer than its lease, and the other goes on.
    world.pass(Duration::from_secs(25));
    let taken_over = other.claim(key).await.unwrap().unwrap();
    assert_eq!(one.serve(claimed, &|| true).await.unwrap(), Worked::default());
    assert!(world.take().is_empty(), "what the claim might not outlive is not begun");
    assert_eq!(other.serve(taken_over, &|| true).await.unwrap().delivered, 10);
}

#[tokio::test]
async fn a_post_that_was_not_noted_is_posted_again_under_the_same_id() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    world.happen(2).await;
    world.fixture.store.fail_next("note webhook deliveries", 1);
    let claimed = world.courier.claim((ORG, webhook.id)).await.unwrap().unwrap();
    assert!(world.courier.serve(claimed, &|| true).await.is_err());
    world.pass(Duration::from_secs(25));
    world.look().await;
    let ids: Vec<_> = world.take().into_iter().map(|seen| seen.id).collect();
    assert_eq!(ids.len(), 4);
    assert_eq!(ids[..2], ids[2..]);
    assert_eq!(world.deliveries(webhook.id).await.len(), 2);
}

#[tokio::test]
async fn an_endpoint_is_not_told_that_it_took_nothing_and_others_are() {
    let world = World::limited(Limits { max_attempts: 1, ..Limits::default() }).await;
    let own = world.endpoint_at("https://dead.example.com", &["org.*", "webhook.*"]).await.0;
    world.endpoint_at("https://watches.example.com", &["webhook.delivery_dead"]).await;
    world.receiver.hangs.lock().unwrap().push("https://dead.example.com".to_owned());
    world.happen(1).await;
    for _ in 0..4 {
        world.look().await;
        world.pass(Duration::from_mins(1));
    }
    let seen = world.take();
    let dead: Vec<_> = seen.iter().filter(|it| it.kind == EventType::WebhookDeliveryDead).collect();
    assert!(dead.iter().all(|it| it.url == "https://watches.example.com"));
    assert!(!dead.is_empty());
    assert!(dead[0].body.contains(&own.id.to_string()));
}

#[tokio::test]
async fn that_news_of_the_dead_never_arrived_is_told_to_nobody() {
    let world = World::limited(Limits { max_attempts: 1, ..Limits::default() }).await;
    let types = ["org.updated", "webhook.delivery_dead"];
    let one = world.endpoint_at("https://one.example.com", &types).await.0;
    let other = world.endpoint_at("https://other.example.com", &types).await.0;
    world.answer([Ok(500); 100]);
    world.happen(1).await;
    for _ in 0..12 {
        world.look().await;
        world.pass(Duration::from_mins(1));
    }
    assert_eq!(world.told_dead().await, 2, "what happened arrived at neither");
    for webhook in [one, other] {
        let all = world.deliveries(webhook.id).await;
        let dead: Vec<_> = all.iter().map(|it| (it.status, it.tries.len())).collect();
        assert_eq!(dead, [(DeliveryStatus::Dead, 2); 2], "what happened, and the news of it");
    }
}

#[tokio::test]
async fn a_dead_delivery_is_told_once_though_the_telling_failed_at_first() {
    let world = World::limited(Limits { max_attempts: 1, ..Limits::default() }).await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    world.answer([Ok(500); 2]);
    world.happen(1).await;
    world.look().await;
    world.pass(Duration::from_secs(30));
    world.fixture.store.fail_next("append a turn", 1);
    let worked = world.look().await;
    assert_eq!((worked.failed, worked.dead), (1, 0));
    let delivery = &world.deliveries(webhook.id).await[0];
    assert_eq!((delivery.status, delivery.tries.len()), (DeliveryStatus::Retrying, 2));
    world.pass(Duration::from_millis(29_999));
    assert_eq!(world.look().await, Worked::default());
    // Others arrive meanwhile, and the endpoint does not fail on for what is only told.
    world.happen(1).await;
    world.pass(Duration::from_millis(1));
    let worked = world.look().await;
    assert_eq!((worked.tries(), worked.delivered, worked.dead), (1, 1, 1));
    let told = world.deliveries(webhook.id).await.into_iter().find(|it| it.id == delivery.id);
    let told = told.unwrap();
    assert_eq!((told.status, told.next_at), (DeliveryStatus::Dead, None));
    assert_eq!(told.tries, delivery.tries, "it is not tried once more");
    let lane = world.webhooks.show(&Operator, webhook.id).await.unwrap().state.lane;
    assert_eq!(lane.failing_since, None);
    world.pass(Duration::from_hours(1));
    world.look().await;
    assert_eq!(world.told_dead().await, 1);
}

#[tokio::test]
async fn what_could_not_be_noted_dead_is_not_told_dead_either() {
    let world = World::limited(Limits { max_attempts: 1, ..Limits::default() }).await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    world.answer([Ok(500); 2]);
    world.happen(1).await;
    world.look().await;
    world.pass(Duration::from_secs(30));
    world.fixture.store.fail_next("note webhook deliveries", 1);
    let claimed = world.courier.claim((ORG, webhook.id)).await.unwrap().unwrap();
    assert!(world.courier.serve(claimed, &|| true).await.is_err());
    assert_eq!(world.told_dead().await, 0);
    // Nobody knows of that try, and the next one is taken.
    world.pass(Duration::from_secs(25));
    assert_eq!(world.look().await.delivered, 1);
    assert_eq!(world.told_dead().await, 0);
    assert_eq!(world.deliveries(webhook.id).await[0].status, DeliveryStatus::Delivered);
}
