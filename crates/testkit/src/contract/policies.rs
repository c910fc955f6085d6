//! Policies as administration reads them: versions, tests and what was active.

use std::time::Duration;

use admin::VersionSummary;
use ledger::{
    AppendError, Changes, Needs,
    record::{
        ClosedProposal, Policy, PolicyActivation, PolicyMode, PolicyTests, Proposal, ProposalStatus,
    },
};
use model::{DeedId, PolicyVersionId, ProposalId, UserId};

use super::Store;
use crate::{Scribe, sample};

pub(super) async fn check(store: &dyn Store) {
    policies_are_found_with_their_versions(store).await;
    versions_are_listed_newest_first_by_pages(store).await;
    an_archived_policy_is_kept_and_its_name_is_free(store).await;
    tests_are_kept_as_they_were_put_last(store).await;
    what_was_active_is_told_newest_first_by_pages(store).await;
    one_activation_waits_in_a_mode_and_gives_way_to_another(store).await;
}

async fn policies_are_found_with_their_versions(store: &dyn Store) {
    let mut scribe = Scribe::created(820, store).await;
    let mint = scribe.mint();
    let [house, shop] = ["house", "shop"].map(|name| sample::policy(scribe.org, name, &mint));
    let versions = [1, 2, 10].map(|number| sample::policy_version(&house, number, &mint));
    let mut policies = vec![house.clone(), shop.clone()];
    policies.sort_by_key(|policy| (policy.created_at, policy.id));
    let mut changes: Vec<_> = policies.iter().cloned().map(Changes::from).collect();
    changes.extend(versions.iter().rev().cloned().map(Changes::from));
    scribe.append(store, changes).await.unwrap();
    assert_eq!(store.policies(scribe.org).await.unwrap(), policies);
    let latest = store.latest_policy_version(scribe.org, house.id).await.unwrap();
    assert_eq!(latest.as_ref(), versions.last());
    assert!(store.latest_policy_version(scribe.org, shop.id).await.unwrap().is_none());
    for version in &versions {
        let found = store.policy_version(scribe.org, version.id).await.unwrap();
        assert_eq!(found.as_ref(), Some(version));
    }
    let other = Scribe::created(821, store).await;
    assert!(store.policies(other.org).await.unwrap().is_empty());
    assert!(store.policy_version(other.org, versions[0].id).await.unwrap().is_none());
    assert!(store.latest_policy_version(other.org, house.id).await.unwrap().is_none());
    let absent = other.mint().id(PolicyVersionId::from_uuid);
    assert!(store.policy_version(scribe.org, absent).await.unwrap().is_none());
}

async fn versions_are_listed_newest_first_by_pages(store: &dyn Store) {
    let mut scribe = Scribe::created(822, store).await;
    let mint = scribe.mint();
    let [house, shop] = ["house", "shop"].map(|name| sample::policy(scribe.org, name, &mint));
    let versions = [1, 2, 3].map(|number| sample::policy_version(&house, number, &mint));
    let mut changes = vec![Changes::from(house.clone()), Changes::from(shop.clone())];
    changes.extend(versions.iter().cloned().map(Changes::from));
    changes.push(Changes::from(sample::policy_version(&shop, 1, &mint)));
    scribe.append(store, changes).await.unwrap();
    let [first, second, third] = versions.each_ref().map(VersionSummary::from);
    let page = |below, limit| store.policy_versions(scribe.org, house.id, below, limit);
    assert_eq!(page(None, 2).await.unwrap(), [third.clone(), second.clone()]);
    assert_eq!(page(Some(2), 2).await.unwrap(), std::slice::from_ref(&first));
    assert_eq!(page(None, 10).await.unwrap(), [third, second, first]);
    assert!(page(Some(1), 10).await.unwrap().is_empty());
    let other = Scribe::created(823, store).await;
    assert!(store.policy_versions(other.org, house.id, None, 10).await.unwrap().is_empty());
}

async fn an_archived_policy_is_kept_and_its_name_is_free(store: &dyn Store) {
    let mut scribe = Scribe::created(824, store).await;
    let mint = scribe.mint();
    let old = sample::policy(scribe.org, "house", &mint);
    let new = Policy { description: String::new(), ..sample::policy(scribe.org, "house", &mint) };
    scribe.append(store, vec![Changes::from(old.clone())]).await.unwrap();
    let taken = scribe.append(store, vec![Changes::from(new.clone())]).await;
    assert!(matches!(taken, Err(AppendError::Refused(_))), "{taken:?}");
    let known = |base: Option<ledger::Base>| base.unwrap().policies;
    assert_eq!(known(store.base(scribe.org).await.unwrap().0), [(old.id, old.clone())].into());
    let archived = Policy { archived_at: Some(scribe.now), revision: 2, ..old };
    scribe.append(store, vec![Changes::from(archived.clone())]).await.unwrap();
    scribe.append(store, vec![Changes::from(new.clone())]).await.unwrap();
    assert_eq!(known(store.base(scribe.org).await.unwrap().0), [(new.id, new.clone())].into());
    let mut both = vec![archived, new];
    both.sort_by_key(|policy| (policy.created_at, policy.id));
    assert_eq!(store.policies(scribe.org).await.unwrap(), both);
}

async fn tests_are_kept_as_they_were_put_last(store: &dyn Store) {
    let mut scribe = Scribe::created(825, store).await;
    let house = sample::policy(scribe.org, "house", &scribe.mint());
    let tests = |revision| PolicyTests {
        policy: house.id,
        suite: format!("cases: [] # {revision} \u{201e}\u{1f600}\n"),
        cases: revision,
        revision,
        updated_at: house.created_at + Duration::from_secs(revision.into()),
    };
    scribe.append(store, vec![Changes::from(house.clone())]).await.unwrap();
    assert_eq!(store.policy_tests(scribe.org, house.id).await.unwrap(), None);
    for revision in [2, 3] {
        scribe.append(store, vec![Changes::from(tests(revision))]).await.unwrap();
        let kept = store.policy_tests(scribe.org, house.id).await.unwrap();
        assert_eq!(kept, Some(tests(revision)));
    }
    let other = Scribe::created(826, store).await;
    assert_eq!(store.policy_tests(other.org, house.id).await.unwrap(), None);
}

async fn what_was_active_is_told_newest_first_by_pages(store: &dyn Store) {
    let mut scribe = Scribe::created(827, store).await;
    let mint = scribe.mint();
    let house = sample::policy(scribe.org, "house", &mint);
    let version = sample::policy_version(&house, 1, &mint);
    let made = vec![Changes::from(house.clone()), Changes::from(version.clone())];
    scribe.append(store, made).await.unwrap();
    let mut history = Vec::new();
    for (turn, mode, active) in [
        (3, PolicyMode::Enforce, Some((house.id, version.id))),
        (5, PolicyMode::Shadow, Some((house.id, version.id))),
        (90, PolicyMode::Shadow, None),
    ] {
        let activation = PolicyActivation {
            turn,
            deed: scribe.mint().id(DeedId::from_uuid),
            at: scribe.now,
            mode,
            active,
            previous: active.is_none().then_some(version.id),
            by: "operator".to_owned(),
            reason: "a look \u{1f600}".to_owned(),
            proposed: (turn == 5)
                .then(|| (scribe.mint().id(ProposalId::from_uuid), "mem_another".to_owned())),
            forced: turn == 3,
        };
        scribe.append(store, vec![Changes::from(activation.clone())]).await.unwrap();
        history.push(activation);
    }
    history.reverse();
    let page = |mode, below, limit| store.policy_activations(scribe.org, mode, below, limit);
    assert_eq!(page(None, None, 10).await.unwrap(), history);
    assert_eq!(page(None, None, 1).await.unwrap(), history[..1]);
    assert_eq!(page(None, Some(history[0].turn), 10).await.unwrap(), history[1..]);
    assert_eq!(page(Some(PolicyMode::Shadow), None, 10).await.unwrap(), history[..2]);
    let other = Scribe::created(828, store).await;
    assert!(store.policy_activations(other.org, None, None, 10).await.unwrap().is_empty());
}

async fn one_activation_waits_in_a_mode_and_gives_way_to_another(store: &dyn Store) {
    let mut scribe = Scribe::created(829, store).await;
    let other = Scribe::created(830, store).await;
    let mint = scribe.mint();
    let house = sample::policy(scribe.org, "house", &mint);
    let version = sample::policy_version(&house, 1, &mint);
    let made = vec![Changes::from(house.clone()), Changes::from(version.clone())];
    scribe.append(store, made).await.unwrap();
    let proposal = |scribe: &Scribe, mode| Proposal {
        id: scribe.mint().id(ProposalId::from_uuid),
        org: scribe.org,
        mode,
        policy: house.id,
        version: version.id,
        digest: version.digest,
        revision: 1,
        previous: None,
        failed_tests: 2,
        reason: "a look \u{1f600}".to_owned(),
        proposed_by: "mem_another".to_owned(),
        person: Some(scribe.mint().id(UserId::from_uuid)),
        proposed_at: scribe.now,
        expires_at: scribe.now + Duration::from_hours(24),
        closed: None,
    };
    let first = proposal(&scribe, PolicyMode::Enforce);
    let shadow = proposal(&scribe, PolicyMode::Shadow);
    scribe.append(store, vec![first.clone().into(), shadow.clone().into()]).await.unwrap();
    let again = proposal(&scribe, PolicyMode::Enforce);
    let refused = store.append(&scribe.turn(vec![Changes::from(again.clone())])).await;
    assert!(matches!(refused, Err(AppendError::Refused(_))), "{refused:?}");
    let open = async |org| {
        let mut open = store.open_policy_proposals(org).await.unwrap();
        open.sort_by_key(|proposal| proposal.mode);
        open
    };
    assert_eq!(open(scribe.org).await, [first.clone(), shadow.clone()]);
    assert!(open(other.org).await.is_empty());
    let end = ClosedProposal {
        at: scribe.now,
        status: ProposalStatus::Expired,
        by: "operator".to_owned(),
        reason: Some("Too late.".to_owned()),
    };
    let closed = Proposal { closed: Some(end), ..first.clone() };
    // In one turn one is closed and the next is made.
    scribe.append(store, vec![again.clone().into(), closed.clone().into()]).await.unwrap();
    assert_eq!(open(scribe.org).await, [again, shadow]);
    let found = async |org| store.policy_proposal(org, first.id).await.unwrap();
    assert_eq!((found(scribe.org).await, found(other.org).await), (Some(closed.clone()), None));
    let needs = Needs { proposals: [first.id].into(), ..Needs::default() };
    assert_eq!(store.load(scribe.org, &needs).await.unwrap().proposals, [closed]);
    assert!(store.load(other.org, &needs).await.unwrap().proposals.is_empty());
}
