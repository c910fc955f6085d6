//! When an endpoint that accepts nothing is disabled, and what enabling it again begins anew.

use std::time::Duration;

use delivery::{DeliveryStore, Limits, RETRIES, WebhookEdit};
use ledger::record::Webhook;
use model::{DeliveryStatus, EventType, WebhookStatus};

use crate::world::{ORG, Operator, World};

async fn status(world: &World, webhook: &Webhook) -> WebhookStatus {
    world.webhooks.show(&Operator, webhook.id).await.unwrap().status()
}

/// One event that fails in all of its attempts, which are over twelve hours later.
async fn one_dead_event(world: &World) {
    world.answer([Ok(500); 9]);
    let first = world.now();
    world.happen(1).await;
    world.look().await;
    for due in RETRIES {
        world.pass((first + due).since(world.now()));
        assert_eq!(world.look().await.failed, 1);
    }
}

#[tokio::test]
async fn an_endpoint_that_accepted_nothing_for_the_whole_time_is_disabled_with_a_deed() {
    for hours in [1, 72, 720] {
        let disable_after = Duration::from_hours(hours);
        let world = World::limited(Limits { disable_after, ..Limits::default() }).await;
        let (webhook, _) = world.endpoint(&["org.updated"]).await;
        world.answer([Ok(500); 300]);
        let began = world.now();
        for _ in 0..12 {
            world.happen(1).await;
            assert_eq!(world.look().await.disabled, 0);
            world.pass(disable_after / 12);
        }
        let shown = world.webhooks.show(&Operator, webhook.id).await.unwrap();
        assert_eq!(shown.status(), WebhookStatus::Failing);
        assert_eq!(shown.disables_at, Some(began + disable_after));
        world.happen(1).await;
        assert_eq!(world.look().await.disabled, 1);
        let shown = world.webhooks.show(&Operator, webhook.id).await.unwrap();
        assert_eq!((shown.status(), shown.disables_at), (WebhookStatus::Disabled, None));
        assert!(shown.webhook.disabled.unwrap().is_failed);
        let bodies = world.fixture.bodies(ORG);
        let last = &bodies.last().unwrap();
        assert!(last.to_string().contains("webhook.disabled"), "{last}");
    }
}

/// Nothing happens for days, so one event that failed on Monday and one moment on Thursday are all
/// that is known of the endpoint.
#[tokio::test]
async fn one_bad_moment_of_a_quiet_endpoint_disables_nothing() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    let (watches, _) = world.endpoint_at("https://watches.example.com", &["webhook.*"]).await;
    let monday = world.now();
    one_dead_event(&world).await;
    world.look().await;
    let told = world.deliveries(watches.id).await;
    assert_eq!(told[0].kind, EventType::WebhookDeliveryDead, "its owner was told before");
    world.pass((monday + Duration::from_mins(72 * 60 + 30)).since(world.now()));
    world.answer([Ok(500); 3]);
    world.happen(1).await;
    for wait in [30, 90] {
        let worked = world.look().await;
        assert_eq!((worked.failed, worked.disabled), (1, 0));
        assert_eq!(status(&world, &webhook).await, WebhookStatus::Failing);
        assert!(world.courier.waiting(true, 9).await.unwrap().is_empty(), "nothing is to be done");
        world.pass(Duration::from_secs(wait));
    }
    // Two events failed three times each, and nothing was accepted for three days.
    let worked = world.look().await;
    assert_eq!((worked.failed, worked.disabled), (1, 1));
}

/// Where events have few attempts, two of them are over within one bad moment.
#[tokio::test]
async fn two_events_of_one_bad_moment_disable_nothing_days_later() {
    for max_attempts in [1, 2] {
        let world = World::limited(Limits { max_attempts, ..Limits::default() }).await;
        let (webhook, _) = world.endpoint(&["org.updated"]).await;
        world.answer([Ok(500); 20]);
        world.happen(2).await;
        for wait in [30, 90, 0] {
            world.look().await;
            world.pass(Duration::from_secs(wait));
        }
        world.pass(Duration::from_hours(72));
        world.happen(1).await;
        let worked = world.look().await;
        assert_eq!((worked.failed, worked.disabled), (1, 0), "{max_attempts}");
        assert_eq!(status(&world, &webhook).await, WebhookStatus::Failing);
        let mut disabled = 0;
        for wait in [30, 90] {
            world.pass(Duration::from_secs(wait));
            disabled += world.look().await.disabled;
        }
        assert_eq!(disabled, 1, "its own attempts failed often enough");
    }
}

#[tokio::test]
async fn an_event_that_is_sent_again_counts_as_one() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    one_dead_event(&world).await;
    let dead = world.deliveries(webhook.id).await[0].clone();
    assert_eq!(dead.status, DeliveryStatus::Dead);
    world.pass(Duration::from_hours(72));
    world.answer([Ok(500); 3]);
    world.webhooks.redeliver(&Operator, dead.id).await.unwrap();
    for wait in [30, 90, 0] {
        let worked = world.look().await;
        assert_eq!((worked.failed, worked.disabled), (1, 0));
        world.pass(Duration::from_secs(wait));
    }
}

#[tokio::test]
async fn where_events_have_fewer_attempts_all_of_them_count() {
    let disable_after = Duration::from_hours(1);
    let world =
        World::limited(Limits { max_attempts: 1, disable_after, ..Limits::default() }).await;
    world.endpoint(&["org.updated"]).await;
    world.answer([Ok(500); 4]);
    world.happen(1).await;
    world.look().await;
    world.pass(Duration::from_secs(30));
    world.look().await;
    world.pass(disable_after);
    world.happen(1).await;
    assert_eq!(world.look().await.disabled, 0);
    world.pass(Duration::from_secs(30));
    assert_eq!(world.look().await.disabled, 1);
}

#[tokio::test]
async fn one_success_ends_the_time_of_failing() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    one_dead_event(&world).await;
    world.happen(1).await;
    assert_eq!(world.look().await.delivered, 1);
    let lane = world.webhooks.show(&Operator, webhook.id).await.unwrap().state.lane;
    assert_eq!((lane.failing_since, lane.failed_events), (None, [None; 2]));
    // What failed before it counts for nothing: the second event that fails is one too few.
    world.pass(Duration::from_hours(72));
    one_dead_event(&world).await;
    world.pass(Duration::from_hours(72));
    world.answer([Ok(500)]);
    world.happen(1).await;
    assert_eq!(world.look().await.disabled, 0);
    assert_eq!(status(&world, &webhook).await, WebhookStatus::Failing);
}

#[tokio::test]
async fn enabling_starts_the_count_anew() {
    let limits = Limits { disable_after: Duration::from_hours(1), ..Limits::default() };
    let world = World::limited(limits).await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    world.answer([Ok(500); 2_000]);
    let disabled_after = async || {
        for minutes in 0..200 {
            world.happen(1).await;
            if world.look().await.disabled == 1 {
                return minutes;
            }
            world.pass(Duration::from_mins(1));
        }
        unreachable!("it is never disabled")
    };
    assert_eq!(disabled_after().await, 60);
    world.webhooks.enable(&Operator, webhook.id, None).await.unwrap();
    world.courier.sweep().await.unwrap();
    assert_eq!(disabled_after().await, 60);
}

#[tokio::test]
async fn the_turn_that_disables_what_failed_lets_owners_be_written_to_and_a_persons_does_not() {
    let world = World::new().await;
    let (unwanted, _) = world.endpoint(&["agent.created"]).await;
    let (failed, _) = world.endpoint(&["org.updated"]).await;
    one_dead_event(&world).await;
    world.webhooks.disable(&Operator, unwanted.id, None).await.unwrap();
    assert_eq!(world.fixture.store.webhook_mails(ORG), []);
    world.pass(Duration::from_hours(72));
    world.answer([Ok(500); 3]);
    world.happen(1).await;
    for wait in [30, 90, 0] {
        world.look().await;
        world.pass(Duration::from_secs(wait));
    }
    let shown = world.webhooks.show(&Operator, failed.id).await.unwrap();
    let mails = world.fixture.store.webhook_mails(ORG);
    let [mail] = mails[..] else { panic!("{mails:?}") };
    assert_eq!((mail.webhook, mail.disabled_at), (failed.id, shown.webhook.disabled.unwrap().at));
    assert_eq!(mail.expires_at, mail.disabled_at + Duration::from_hours(7 * 24));
    // Whoever finds it disabled writes nothing.
    world.look().await;
    assert_eq!(world.fixture.store.webhook_mails(ORG).len(), 1);
}

#[tokio::test]
async fn a_disabling_that_was_cut_off_is_made_up_for() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    world.answer([Ok(500); 2]);
    world.happen(1).await;
    world.look().await;
    world.pass(Duration::from_hours(72));
    world.happen(1).await;
    // The note is durable and the turn that disables is not.
    let key = (ORG, webhook.id);
    let claim = world.fixture.store.claim(key, Duration::from_secs(1)).await.unwrap().unwrap();
    let mut lane = claim.lane;
    (lane.failed_at, lane.failed_events) = (Some(world.now()), [Some(4), Some(5)]);
    let held = (key, claim.token);
    world.fixture.store.note(held, (&lane, &[]), delivery::Hold::LetGo).await.unwrap().unwrap();
    assert_eq!(world.look().await.disabled, 1);
}

/// What it failed in before is known to an instance that has not judged it yet.
#[tokio::test]
async fn an_endpoint_that_was_enabled_again_is_not_judged_by_what_was_before() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    let key = (ORG, webhook.id);
    let claim = world.fixture.store.claim(key, Duration::from_secs(1)).await.unwrap().unwrap();
    let mut lane = claim.lane;
    lane.failing_since = Some(world.now());
    world.pass(Duration::from_hours(72));
    (lane.failed_at, lane.failed_events) = (Some(world.now()), [Some(4), Some(5)]);
    let held = (key, claim.token);
    world.fixture.store.note(held, (&lane, &[]), delivery::Hold::LetGo).await.unwrap().unwrap();
    let slow = world.courier.claim(key).await.unwrap().unwrap();
    world.pass(Duration::from_secs(25));
    assert_eq!(world.look().await.disabled, 1, "by another instance");
    world.webhooks.enable(&Operator, webhook.id, None).await.unwrap();
    assert_eq!(world.courier.serve(slow, &|| true).await.unwrap().disabled, 0);
    assert_eq!(status(&world, &webhook).await, WebhookStatus::Enabled);
}

#[tokio::test]
async fn an_endpoint_that_was_disabled_with_more_to_do_is_free_when_it_is_enabled() {
    let limits = Limits { disable_after: Duration::from_hours(1), ..Limits::default() };
    let world = World::limited(limits).await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    world.answer([Ok(500); 2_000]);
    world.happen(2).await;
    for wait in [30, 90, 3_480] {
        world.look().await;
        world.pass(Duration::from_secs(wait));
    }
    // More than a page: the claim goes on when the endpoint is judged.
    world.happen(300).await;
    assert_eq!(world.look().await.disabled, 1);
    let tried = world.take().len();
    world.webhooks.enable(&Operator, webhook.id, None).await.unwrap();
    world.happen(1).await;
    assert_eq!(world.look().await.tries(), 1, "nobody holds it any longer");
    let since = webhook.created_at;
    let done = world.webhooks.recover(&Operator, webhook.id, (since, false)).await.unwrap();
    assert!(tried < 250 && done.count > 0, "{tried}, {done:?}");
}

#[tokio::test]
async fn a_disabling_that_cannot_be_recorded_is_tried_once_for_each_lease() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    let key = (ORG, webhook.id);
    let claim = world.fixture.store.claim(key, Duration::from_secs(1)).await.unwrap().unwrap();
    let lane = delivery::Lane {
        failing_since: Some(world.now().before(Duration::from_hours(72))),
        failed_at: Some(world.now()),
        failed_events: [Some(1), Some(2)],
        ..claim.lane
    };
    let held = (key, claim.token);
    world.fixture.store.note(held, (&lane, &[]), delivery::Hold::LetGo).await.unwrap().unwrap();
    world.fixture.store.fail_next("append a turn", 1);
    assert_eq!(world.look().await.disabled, 0);
    assert!(world.courier.waiting(true, 9).await.unwrap().is_empty(), "it rests");
    world.pass(Duration::from_secs(25));
    assert_eq!(world.look().await.disabled, 1);
}

/// An address that was corrected is tried before anybody judges it.
#[tokio::test]
async fn what_failed_at_another_address_counts_for_nothing() {
    let limits = Limits { disable_after: Duration::from_hours(1), ..Limits::default() };
    for is_served in [true, false] {
        let world = World::limited(limits).await;
        let (webhook, _) = world.endpoint(&["org.updated"]).await;
        world.answer([Ok(500); 8]);
        world.happen(2).await;
        for wait in [30, 90, 3_480] {
            world.look().await;
            world.pass(Duration::from_secs(wait));
        }
        let url = Some("https://other.example.com".to_owned());
        let edit = WebhookEdit { url, ..WebhookEdit::default() };
        let corrected = async {
            world.webhooks.update(&Operator, webhook.id, edit.clone()).await.unwrap();
        };
        if is_served {
            // The attempts that are under way are the last that it takes.
            let worked = world.serve_while(webhook.id, corrected).await;
            assert_eq!((worked.failed, worked.disabled), (2, 0));
        } else {
            corrected.await;
        }
        assert_eq!(status(&world, &webhook).await, WebhookStatus::Enabled);
        world.take();
        world.happen(1).await;
        world.answer([Ok(500)]);
        assert_eq!(world.look().await.disabled, 0);
        assert!(world.take().iter().all(|it| it.url == "https://other.example.com"));
        assert_eq!(status(&world, &webhook).await, WebhookStatus::Failing, "since a moment ago");
        world.pass(Duration::from_secs(30));
        world.look().await;
        assert!(world.courier.waiting(true, 9).await.unwrap().is_empty(), "nothing is to be done");
    }
}

/// Whoever posts for it meanwhile knows it as it was: its place and its failures are those of before.
#[tokio::test]
async fn an_endpoint_that_is_enabled_again_while_it_is_served_begins_anew() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    world.answer([Ok(500)]);
    world.happen(3).await;
    let meanwhile = async {
        world.webhooks.disable(&Operator, webhook.id, None).await.unwrap();
        world.happen(5).await;
        world.webhooks.enable(&Operator, webhook.id, None).await.unwrap();
        let busy = world.webhooks.recover(&Operator, webhook.id, (world.now(), false)).await;
        assert!(busy.unwrap_err().to_string().contains("still under way"));
    };
    let worked = world.serve_while(webhook.id, meanwhile).await;
    assert_eq!((worked.failed, worked.delivered), (1, 2));
    let posted = world.take();
    let kept = world.deliveries(webhook.id).await;
    assert_eq!((posted.len(), kept.len()), (3, 3), "what was tried is known");
    let state = world.webhooks.show(&Operator, webhook.id).await.unwrap().state;
    assert_eq!((state.behind, state.lane.failing_since), (0, None));
    world.happen(1).await;
    assert_eq!(world.look().await.delivered, 1);
    let since = webhook.created_at;
    let done = world.webhooks.recover(&Operator, webhook.id, (since, false)).await.unwrap();
    assert_eq!(done.count, 5, "what happened while it was off, and nothing that was tried");
}

#[tokio::test]
async fn an_endpoint_that_is_disabled_while_it_is_served_keeps_what_was_tried() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    world.happen(3).await;
    let meanwhile = async {
        world.webhooks.disable(&Operator, webhook.id, None).await.unwrap();
    };
    world.serve_while(webhook.id, meanwhile).await;
    assert_eq!((world.take().len(), world.deliveries(webhook.id).await.len()), (3, 3));
    world.webhooks.enable(&Operator, webhook.id, None).await.unwrap();
    let since = webhook.created_at;
    let done = world.webhooks.recover(&Operator, webhook.id, (since, false)).await.unwrap();
    assert_eq!(done.count, 0, "all of it was accepted");
}
