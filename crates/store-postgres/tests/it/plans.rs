//! What statements read of a table in which nearly all rows are alike, so that the planner expects much of
//! any value.

use std::time::Duration;

use gate::{ApprovalFilter, ApprovalStore as _, PersonIdentity};
use ledger::{
    Changes,
    record::{Action, Agent},
};
use model::{AgentId, DeedId, Role, UserId};
use store_postgres::PostgresStore;
use testkit::{Scribe, sample};
use tokio_postgres::Client;

use crate::world::store;

/// How many calls of one tool by one agent there are.
const ALIKE: i64 = 20_000;
/// How many of them wait for a person.
const OPEN: i64 = 500;

/// Copies the action that is so, as often, under other ids.
async fn fill(owner: &Client, (is_so, count): (&str, i64)) {
    let columns = "
        select string_agg(attname, ', '), string_agg(case attname
            when 'id' then 'gen_random_uuid()'
            when 'created_at' then 'one.created_at - number * interval ''1 second'''
            else 'one.' || attname end, ', ')
        from pg_attribute
        where attrelid = 'action'::regclass and attnum > 0 and not attisdropped";
    let row = owner.query_one(columns, &[]).await.unwrap();
    let (names, values): (String, String) = (row.get(0), row.get(1));
    let fill = format!(
        "insert into action ({names})
        select {values}
        from (select * from action where {is_so} limit 1) one, generate_series(1, {count}) number"
    );
    owner.batch_execute(&fill).await.unwrap();
}

/// Fills the org with sealed calls of one agent, of which the planner knows; returns the agent and one of
/// them.
async fn crowded(
    scribe: &mut Scribe,
    (store, owner): (&PostgresStore, &Client),
) -> (Agent, Action) {
    let agent = scribe.agent("busy");
    let (request, _) = sample::request(&serde_json::json!({}), &scribe.mint());
    let action = sample::action(&agent, request, &scribe.mint());
    let sealed = sample::sealed(&action, scribe.mint().id(DeedId::from_uuid));
    let rows = vec![Changes::from(agent.clone()), sample::begun(action.clone(), Vec::new())];
    scribe.append(store, rows).await.unwrap();
    scribe.append(store, vec![sample::moved(sealed)]).await.unwrap();
    fill(owner, ("true", ALIKE)).await;
    owner.batch_execute("analyze action").await.unwrap();
    (agent, action)
}

/// How many entries of indexes of the table were read so far by those who have told.
async fn read(owner: &Client) -> i64 {
    let sql = "
        select coalesce(sum(idx_tup_read), 0)::bigint from pg_stat_user_indexes
        where relname = 'action'";
    owner.query_one(sql, &[]).await.unwrap().get(0)
}

/// What is read once everybody has told.
async fn settled(owner: &Client) -> i64 {
    let mut before = read(owner).await;
    loop {
        // A connection tells what it read within a second or so of its next statement.
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        let now = read(owner).await;
        if now == before {
            return now;
        }
        before = now;
    }
}

#[tokio::test]
async fn that_a_tool_and_an_agent_are_new_is_found_without_looking_through_all_calls() {
    let Some((database, store)) = store().await else { return };
    let mut scribe = Scribe::created(61, &*store).await;
    let owner = database.owner().await;
    let (agent, action) = crowded(&mut scribe, (&*store, &owner)).await;
    let before = settled(&owner).await;
    let since = scribe.now.before(Duration::from_hours(24));
    let new = scribe.mint().id(AgentId::from_uuid);
    for (agent, tool) in [(agent.id, "never.called"), (new, &*action.tool), (new, "never.called")] {
        for _ in 0..8 {
            let found = store.practice(scribe.org, (agent, tool), since).await.unwrap();
            assert!(!found.agent_ran_it);
        }
    }
    let seen = settled(&owner).await - before;
    assert!(seen < ALIKE / 2, "{seen} entries were read for 24 questions");
}

#[tokio::test]
async fn of_questions_that_the_planner_has_not_heard_of_no_more_records_are_read_than_are_shown() {
    let Some((database, store)) = store().await else { return };
    let mut scribe = Scribe::created(62, &*store).await;
    let owner = database.owner().await;
    let (agent, _) = crowded(&mut scribe, (&*store, &owner)).await;
    // What the planner knows is from before the questions. That it takes another way to them than the one
    // in their order, as it then may, is made sure of.
    owner.batch_execute("drop index action_asked, action_asked_of_agent").await.unwrap();
    let (request, _) = sample::request(&serde_json::json!({}), &scribe.mint());
    let action = sample::action(&agent, request, &scribe.mint());
    let waiting = sample::waiting(&action, scribe.now + Duration::from_hours(1), &scribe.mint());
    scribe.append(&*store, vec![sample::begun(waiting, Vec::new())]).await.unwrap();
    fill(&owner, ("approval_status is not null", OPEN)).await;
    // Whoever reads the record of the oldest fails.
    let spoilt = "
        update action set record = replace(record, '\"from\":[\"role:admin\"]', '\"from\":0')
        where id = (
            select id from action where approval_status is not null order by id limit 1)
        returning record";
    let record: String = owner.query_one(spoilt, &[]).await.unwrap().get(0);
    assert!(record.contains("\"from\":0"), "{record}");
    let user = scribe.mint().id(UserId::from_uuid);
    let asked = PersonIdentity { user, role: Role::Admin, names: vec![user.to_string()] };
    for agent in [None, Some(agent.id)] {
        let waits_for = Some(asked.clone());
        let filter = ApprovalFilter { waits_for, agent, ..ApprovalFilter::default() };
        let found = store.approvals(scribe.org, &filter, None, 20).await.unwrap();
        assert_eq!((found.actions.len(), found.has_more), (20, true));
    }
}
