//! What an org does with its endpoints.

use std::time::Duration;

use act::{ActError, MayView};
use delivery::{DeliveryStore, Limits, NewWebhook, WebhookEdit, WebhookError};
use model::{DeliveryStatus, EventType, WebhookStatus};

use crate::world::{ORG, Operator, URL, World, is_signed};

#[tokio::test]
async fn while_a_secret_is_replaced_both_sign_and_then_the_new_one_alone() {
    let world = World::new().await;
    let (webhook, old) = world.endpoint(&["org.updated"]).await;
    let (_, shown) =
        world.webhooks.roll_secret(&Operator, webhook.id, Duration::from_mins(5)).await.unwrap();
    let new = delivery::SigningSecret::parse(shown.expose()).unwrap();
    world.happen(1).await;
    world.look().await;
    assert!(is_signed(&world.take()[0], &[new.clone(), old]));
    world.pass(Duration::from_mins(5));
    world.happen(1).await;
    world.look().await;
    assert!(is_signed(&world.take()[0], std::slice::from_ref(&new)));
    // At once, where the old one is known to others.
    let (_, shown) =
        world.webhooks.roll_secret(&Operator, webhook.id, Duration::ZERO).await.unwrap();
    world.happen(1).await;
    world.look().await;
    let newest = delivery::SigningSecret::parse(shown.expose()).unwrap();
    assert!(is_signed(&world.take()[0], &[newest]));
    let longest = Duration::from_hours(24) + Duration::from_secs(1);
    let refused = world.webhooks.roll_secret(&Operator, webhook.id, longest).await;
    assert!(matches!(
        refused,
        Err(WebhookError::Act(ActError::BadInput { param: "expires_in", .. }))
    ));
}

#[tokio::test]
async fn an_org_has_as_many_endpoints_as_the_setting_says() {
    for max_endpoints in [1, 16, 100] {
        let world = World::limited(Limits { max_endpoints, ..Limits::default() }).await;
        let new = || NewWebhook {
            url: URL.to_owned(),
            description: String::new(),
            types: Vec::new(),
            agent: None,
        };
        let mut last = None;
        for _ in 0..max_endpoints {
            last = Some(world.webhooks.create(&Operator, new()).await.unwrap().0.object.id);
        }
        let refused = world.webhooks.create(&Operator, new()).await.unwrap_err();
        assert!(
            matches!(refused, WebhookError::LimitReached(most) if most == max_endpoints),
            "{refused}"
        );
        // One that was deleted leaves its place, and one that is disabled keeps it.
        let id = last.unwrap();
        world.webhooks.disable(&Operator, id, None).await.unwrap();
        assert!(world.webhooks.create(&Operator, new()).await.is_err());
        world.webhooks.delete(&Operator, id).await.unwrap();
        world.webhooks.create(&Operator, new()).await.unwrap();
        assert!(world.webhooks.create(&Operator, new()).await.is_err());
    }
}

#[tokio::test]
async fn no_secret_stands_in_a_row_a_deed_or_an_event() {
    let world = World::new().await;
    let (webhook, secret) = world.endpoint(&[]).await;
    let text = secret.text().expose().clone();
    let kept = serde_json::to_string(&world.fixture.store.webhooks(ORG).await.unwrap()).unwrap();
    let deeds = format!("{:?}", world.fixture.bodies(ORG));
    let events = world.envelopes(EventType::WebhookCreated).await.join("");
    for told in [kept, deeds, events] {
        assert!(!told.contains(&text) && !told.contains(text.trim_start_matches("whsec_")));
    }
    world.webhooks.delete(&Operator, webhook.id).await.unwrap();
    assert!(world.webhooks.list(&Operator).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_disabled_endpoint_gets_nothing_and_what_waited_for_it_is_dropped() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    world.answer([Ok(500)]);
    world.happen(1).await;
    world.look().await;
    world.webhooks.disable(&Operator, webhook.id, None).await.unwrap();
    world.happen(3).await;
    world.pass(Duration::from_hours(24));
    world.take();
    world.look().await;
    assert!(world.take().is_empty());
    world.courier.sweep().await.unwrap();
    assert_eq!(world.deliveries(webhook.id).await[0].status, DeliveryStatus::Dropped);
    // From when it is enabled again.
    world.webhooks.enable(&Operator, webhook.id, None).await.unwrap();
    world.happen(1).await;
    world.look().await;
    assert_eq!(world.take().len(), 1);
    let shown = world.webhooks.show(&Operator, webhook.id).await.unwrap();
    assert_eq!(shown.status(), WebhookStatus::Enabled);
}

#[tokio::test]
async fn deliveries_are_kept_for_eight_days() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    world.happen(2).await;
    world.look().await;
    world.pass(Duration::from_hours(8 * 24));
    world.courier.sweep().await.unwrap();
    assert_eq!(world.deliveries(webhook.id).await.len(), 2);
    world.pass(Duration::from_millis(1));
    world.courier.sweep().await.unwrap();
    assert!(world.deliveries(webhook.id).await.is_empty());
}

#[tokio::test]
async fn another_address_is_posted_to_from_the_next_try_on() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    world.answer([Ok(500)]);
    world.happen(1).await;
    world.look().await;
    let url = Some("https://other.example.com".to_owned());
    let edit = WebhookEdit { url, ..WebhookEdit::default() };
    world.webhooks.update(&Operator, webhook.id, edit).await.unwrap();
    world.pass(Duration::from_secs(30));
    world.look().await;
    let seen = world.take();
    assert_eq!(seen[1].url, "https://other.example.com");
    assert_eq!(seen[0].id, seen[1].id);
    assert_eq!(Operator.org(), ORG);
}

#[tokio::test]
async fn another_address_is_posted_to_while_the_endpoint_is_being_served() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    // More than is read at once.
    world.happen(200).await;
    let edit = WebhookEdit {
        url: Some("https://other.example.com".to_owned()),
        types: Some(vec!["org.*".to_owned()]),
        ..WebhookEdit::default()
    };
    let changed = async {
        world.webhooks.update(&Operator, webhook.id, edit).await.unwrap();
    };
    assert_eq!(world.serve_while(webhook.id, changed).await.delivered, 200);
    let seen = world.take();
    let to_other = seen.iter().skip_while(|it| it.url == URL);
    assert!(to_other.clone().count() > 0);
    assert!(to_other.clone().all(|it| it.url == "https://other.example.com"));
}

#[tokio::test]
async fn a_secret_signs_no_longer_than_it_may_while_the_endpoint_is_being_served() {
    let world = World::new().await;
    let (webhook, old) = world.endpoint(&["org.updated"]).await;
    let overlap = Duration::from_secs(5);
    let (_, shown) = world.webhooks.roll_secret(&Operator, webhook.id, overlap).await.unwrap();
    let new = delivery::SigningSecret::parse(shown.expose()).unwrap();
    world.happen(2).await;
    let slow = async { world.pass(Duration::from_secs(6)) };
    assert_eq!(world.serve_while(webhook.id, slow).await.delivered, 2);
    let seen = world.take();
    assert!(is_signed(&seen[0], &[new.clone(), old]));
    assert!(is_signed(&seen[1], &[new]));
}

#[tokio::test]
async fn a_recovery_that_takes_long_says_from_where_to_go_on() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    let since = world.now();
    world.webhooks.disable(&Operator, webhook.id, None).await.unwrap();
    // Three pages of one moment, which are never left half-way, and eight of a moment each.
    for _ in 0..3 {
        world.happen(500).await;
    }
    for _ in 0..8 {
        world.pass(Duration::from_secs(1));
        world.happen(500).await;
    }
    world.webhooks.enable(&Operator, webhook.id, None).await.unwrap();
    *world.events.page_takes.lock().unwrap() = Duration::from_secs(6);
    let (mut from, mut counts) = (since, Vec::new());
    loop {
        let done = world.webhooks.recover(&Operator, webhook.id, (from, false)).await.unwrap();
        counts.push(done.count);
        let Some(rest) = done.rest_since else { break };
        assert!(rest > from, "it moves on");
        from = rest;
    }
    assert!(counts.len() > 2, "{counts:?}");
    assert_eq!(counts.iter().sum::<usize>(), 1_500 + 8 * 500);
    // What was added once is looked at again, and not added.
    *world.events.page_takes.lock().unwrap() = Duration::ZERO;
    let done = world.webhooks.recover(&Operator, webhook.id, (since, false)).await.unwrap();
    assert_eq!((done.count, done.rest_since), (0, None));
}
