//! A new log in place of one that lost deeds.

use act::ActError;
use admin::{ChangeError, CreatedOrg};
use deed::{Checkpoint, Recovered, tree::TreeHead};
use futures_util::future::join_all;
use ledger::{Head, LedgerError, LedgerStore, LogNo};
use serde_json::json;

use crate::world::{World, agent};

async fn head(world: &World, org: &CreatedOrg) -> Head {
    world.store.base(org.org.id).await.unwrap().0.unwrap().head
}

/// A checkpoint of the org's open log as if it had `more` deeds.
async fn known(world: &World, org: &CreatedOrg, more: u64) -> Checkpoint {
    let head = head(world, org).await;
    let size = head.chain.size() + more;
    Checkpoint { log: head.chain.log().clone(), tree: TreeHead { size, root: head.chain.root() } }
}

#[tokio::test]
async fn the_first_deed_of_the_new_log_tells_what_the_old_one_lost() {
    let world = World::new();
    let org = world.org().await;
    let (before, known) = (world.bodies(org.org.id), known(&world, &org, 3).await);
    let stands = known.tree.size - 3;
    // No turn of an org is taken that is withheld, except the one that opens another log.
    world.ledger.withhold(org.org.id);
    let refused = world.operator(&org).create_agent(agent("early")).await.unwrap_err();
    assert!(
        matches!(refused, ChangeError::Act(ActError::Ledger(LedgerError::Withheld))),
        "{refused}"
    );
    world.operator(&org).recover_log(known.clone(), Some("A disk died.")).await.unwrap();
    world.ledger.release(org.org.id);

    let first = world.last_body(&org);
    let (seq, log) = (&first["seq"], first["log"].as_str().unwrap());
    assert_eq!((seq, &first["admin"]["event"]), (&json!(0), &json!("log.recovered")));
    assert_eq!(first["prev"], deed::genesis_digest(&log.parse().unwrap()).to_string());
    assert_eq!(first["subject"]["id"], log.rsplit('/').next().unwrap());
    assert!(!first.to_string().contains("disk"), "the reason is a commitment");
    let body = deed::Body::read(first.to_string().as_bytes()).unwrap();
    let told = Recovered::told_by(&body).unwrap();
    assert_eq!((&told.log, told.size, told.known_size), (&known.log, stands, stands + 3));
    assert_eq!((told.lost_from_seq, told.lost_to_seq), (Some(stands), Some(stands + 2)));

    world.operator(&org).create_agent(agent("late")).await.unwrap();
    let next = world.last_body(&org);
    assert_eq!((&next["seq"], &next["log"]), (&json!(1), &first["log"]));
    assert_eq!(world.bodies(org.org.id)[..before.len()], before, "the old log stays as it is");
}

#[tokio::test]
async fn where_the_log_has_other_deeds_no_place_is_told_to_be_lost() {
    let world = World::new();
    let org = world.org().await;
    let mut known = known(&world, &org, 0).await;
    known.tree.root = crypto::sha256("another");
    world.operator(&org).recover_log(known, None).await.unwrap();
    let data = &world.last_body(&org)["admin"]["data"];
    assert_eq!((&data["lost_from_seq"], &data["lost_to_seq"]), (&json!(null), &json!(null)));
}

#[tokio::test]
async fn what_waits_beside_a_recovery_is_decided_by_itself() {
    for (name, is_taken) in [("taken", true), ("free", false)] {
        let world = World::new();
        let org = world.org().await;
        let operator = world.operator(&org);
        operator.create_agent(agent("taken")).await.unwrap();
        let known = known(&world, &org, 1).await;
        // Both wait for the same turn: the first writes nothing, or something of the old log.
        let beside = operator.create_agent(agent(name));
        let (beside, recovered) = tokio::join!(beside, operator.recover_log(known, None));
        assert_eq!(beside.is_err(), is_taken);
        recovered.unwrap();
        assert_eq!(head(&world, &org).await.log_no, LogNo::FIRST.next());
        let last = world.last_body(&org);
        assert_eq!((&last["seq"], &last["admin"]["event"]), (&json!(0), &json!("log.recovered")));
    }
}

#[tokio::test]
async fn of_many_who_recover_a_log_at_once_one_does_and_what_comes_beside_it_is_in_one_log() {
    let world = World::new();
    let other = world.second_instance();
    let org = world.org().await;
    let known = known(&world, &org, 1).await;
    let operators = [world.operator(&org), other.operator(&org)];
    let recovering = (0..6).map(|number| {
        let (operator, known) = (operators[number % 2], known.clone());
        async move { operator.recover_log(known, None).await.is_ok() }
    });
    let busy = (0..6).map(|number| {
        let operator = operators[number % 2];
        async move { operator.create_agent(agent(&format!("busy-{number}"))).await.is_ok() }
    });
    let (recovered, made) = tokio::join!(join_all(recovering), join_all(busy));
    assert_eq!(recovered.iter().filter(|done| **done).count(), 1);
    assert!(made.iter().all(|done| *done), "{made:?}");
    let open = head(&world, &org).await;
    assert_eq!(open.log_no, LogNo::FIRST.next());
    let deeds = world.store.deeds(org.org.id);
    let of = |log: LogNo| deeds.iter().filter(move |deed| deed.log_no == log);
    let read = |body: &str| deed::Body::read(body.as_bytes()).unwrap();
    let told = Recovered::told_by(&read(&of(open.log_no).next().unwrap().body)).unwrap();
    let trees = [(LogNo::FIRST, told.tree()), (open.log_no, Checkpoint::of(&open.chain).tree)];
    for (log, tree) in trees {
        assert_eq!(of(log).count() as u64, tree.size);
        let digests = deed::tree::Tree::of(of(log).map(|deed| deed.digest));
        assert_eq!(digests.root_at(tree.size), Some(tree.root));
        let places: Vec<_> = of(log).map(|deed| read(&deed.body).seq).collect();
        assert_eq!(places, (0..tree.size).collect::<Vec<_>>());
    }
}
