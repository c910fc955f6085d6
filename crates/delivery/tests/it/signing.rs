//! Signatures and secrets, beside the published example of Standard Webhooks.

use std::time::Duration;

use delivery::{SigningSecret, WebhookError, signature};

use crate::world::{ORG, Operator, World, is_signed};

#[test]
fn the_published_example_is_signed_as_it_is_there() {
    let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let signed = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330);
    let body = br#"{"test": 2432232314}"#;
    let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    assert_eq!(signature(std::slice::from_ref(&secret), signed, body), expected);
    let both = signature(&[secret.clone(), secret], signed, body);
    assert_eq!(both, format!("{expected} {expected}"));
}

#[test]
fn a_secret_is_read_in_the_form_that_it_is_shown_in_and_in_no_other() {
    let text = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    assert_eq!(SigningSecret::parse(text).unwrap().text().expose(), text);
    for wrong in ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAA", "whsec_!"] {
        assert_eq!(SigningSecret::parse(wrong), None, "{wrong}");
    }
}

#[tokio::test]
async fn a_secret_that_the_vault_cannot_decrypt_signs_nothing_and_is_named() {
    let world = World::new().await;
    let (webhook, _) = world.endpoint(&["org.updated"]).await;
    assert!(world.webhooks.show(&Operator, webhook.id).await.unwrap().is_secret_readable);
    world.happen(1).await;
    // The vault lost the key under which the secret is kept.
    let (webhooks, courier) = world.under_keys(&[1]);
    assert!(!webhooks.show(&Operator, webhook.id).await.unwrap().is_secret_readable);
    let claimed = courier.claim((ORG, webhook.id)).await.unwrap().unwrap();
    assert_eq!(courier.serve(claimed, &|| true).await.unwrap().tries(), 0);
    assert_eq!(world.take(), []);
    // With a new one events are posted, and it is not said to sign as well.
    let hour = Duration::from_hours(1);
    let (_, secret) = webhooks.roll_secret(&Operator, webhook.id, hour).await.unwrap();
    let shown = webhooks.show(&Operator, webhook.id).await.unwrap();
    assert_eq!((shown.is_secret_readable, shown.previous_expires_at), (true, None));
    world.pass(Duration::from_mins(1));
    let claimed = courier.claim((ORG, webhook.id)).await.unwrap().unwrap();
    assert_eq!(courier.serve(claimed, &|| true).await.unwrap().delivered, 1);
    let secret = SigningSecret::parse(secret.expose()).unwrap();
    assert!(is_signed(&world.take()[0], &[secret]));
}

#[tokio::test]
async fn a_previous_secret_that_the_vault_cannot_decrypt_holds_nothing_up() {
    let world = World::new().await;
    let (webhook, before) = world.endpoint(&["org.updated"]).await;
    // The vault has got a new key and keeps the old one, so that both secrets sign.
    let (webhooks, courier) = world.under_keys(&[1, 0]);
    let hour = Duration::from_hours(1);
    let (_, secret) = webhooks.roll_secret(&Operator, webhook.id, hour).await.unwrap();
    let secret = SigningSecret::parse(secret.expose()).unwrap();
    let expires_at = world.now() + hour;
    let shown = webhooks.show(&Operator, webhook.id).await.unwrap();
    assert_eq!(shown.previous_expires_at, Some(expires_at));
    world.happen(1).await;
    let claimed = courier.claim((ORG, webhook.id)).await.unwrap().unwrap();
    assert_eq!(courier.serve(claimed, &|| true).await.unwrap().delivered, 1);
    assert!(is_signed(&world.take()[0], &[secret.clone(), before]));
    // The old key is removed although it is still needed.
    let (webhooks, courier) = world.under_keys(&[1]);
    let shown = webhooks.show(&Operator, webhook.id).await.unwrap();
    assert_eq!((shown.is_secret_readable, shown.previous_expires_at), (true, None));
    world.happen(1).await;
    let claimed = courier.claim((ORG, webhook.id)).await.unwrap().unwrap();
    assert_eq!(courier.serve(claimed, &|| true).await.unwrap().delivered, 1);
    assert!(is_signed(&world.take()[0], &[secret]));
    // While it counts, nothing of the endpoint moves to another key, and nothing is lost by that.
    let (webhooks, _) = world.under_keys(&[2, 1]);
    let refused = webhooks.reencrypt(&Operator, &shown.webhook).await.unwrap_err();
    assert!(matches!(refused, WebhookError::Vault(_)), "{refused}");
    world.pass(hour);
    let moved = webhooks.reencrypt(&Operator, &shown.webhook).await.unwrap().unwrap();
    assert_eq!(moved.object.previous_secret, None);
    let (webhooks, _) = world.under_keys(&[2]);
    assert!(webhooks.show(&Operator, webhook.id).await.unwrap().is_secret_readable);
}
