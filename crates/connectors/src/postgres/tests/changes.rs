//! The change log of a real database, read through a slot, with what others can do to it meanwhile.

use decoder::{
    Frame, Identity,
    attribution::{Attribution, Claim, Forgery, Known, MarkerKind, Site},
};
use evidence::{ChangeSource, Slot, SourceError};
use model::Lsn;
use serde_json::{Value, json};
use tokio_postgres::NoTls;

use super::world::{LIMIT, World, action, result, write_tool};
use crate::{
    coverage,
    postgres::{ChangeReader, marker_keys},
};

fn tools() -> Value {
    json!([write_tool("set", "update items set stock = 7 where id = 1", json!({}), "count")])
}

/// A database whose log tells what tools write, and its reader with a slot; the publication's name.
async fn followed() -> Option<(World, ChangeReader, String)> {
    let world = World::new(tools()).await?;
    let found = coverage(&world.blueprint, &world.deps, &[]).await.unwrap().unwrap();
    world.admin.batch_execute(&found.script.unwrap()).await.unwrap();
    let reader = ChangeReader::new(&world.blueprint, &world.deps, 100).unwrap();
    reader.make_slot().await.unwrap();
    Some((world, reader, found.publication))
}

async fn end(world: World, reader: ChangeReader) {
    let seen = reader.look().await.unwrap().slot;
    match reader.drop_slot(seen).await {
        Ok(()) | Err(SourceError::Gone) => {}
        Err(error) => panic!("{error}"),
    }
    drop(reader);
    world.end().await;
}

async fn frames(reader: &ChangeReader) -> Vec<Frame> {
    reader.read(1000).await.unwrap().frames
}

/// Whose the transaction is, of an action that was begun as it says.
async fn judged(world: &World, reader: &ChangeReader, frame: &Frame) -> Attribution {
    let (keys, system) =
        (marker_keys(&world.deps, world.blueprint.id), reader.look().await.unwrap().system);
    let connector = world.blueprint.id;
    let claim = Claim::of(frame, &Site { connector, system: &system, keys: &keys });
    let request_digest = crypto::sha256(crypto::json::canonical(&json!({})));
    let org = world.blueprint.org;
    let known = Known { org, connector, request_digest, begun: true, framed: false };
    claim.judge(connector, Some(&known))
}

#[tokio::test]
async fn a_governed_write_is_read_as_its_actions_until_it_is_confirmed() {
    let Some((world, reader, _)) = followed().await else { return };
    let tool = world.tool("set").await;
    let action = action();
    result(world.run(&*tool, action, json!({}), LIMIT).await);
    let read = reader.read(1000).await.unwrap();
    let [frame] = read.frames.as_slice() else { panic!("{:?}", read.frames) };
    assert!(!read.full && read.until >= frame.end_lsn);
    let kind = MarkerKind::Act;
    let of_action = Attribution::Action { action, kind, anomalies: vec![] };
    assert_eq!(judged(&world, &reader, frame).await, of_action);
    assert_eq!(frame.counts_of("public", "items").updates, 1);
    assert_eq!(frame.changes[0].before("stock").and_then(|it| it.as_text()), Some("1"));
    assert_eq!(frame.changes[0].after("stock").and_then(|it| it.as_text()), Some("7"));
    // It comes again until it is confirmed, and not after that.
    assert_eq!(frames(&reader).await.len(), 1);
    reader.confirm(frame.end_lsn).await.unwrap();
    assert!(frames(&reader).await.is_empty());
    assert_eq!(reader.look().await.unwrap().slot.unwrap().confirmed, frame.end_lsn);
    end(world, reader).await;
}

#[tokio::test]
async fn a_beat_comes_through_the_publication_with_its_marker() {
    let Some((world, reader, _)) = followed().await else { return };
    reader.beat().await.unwrap();
    let frames = frames(&reader).await;
    let service = Attribution::Service { kind: MarkerKind::Heartbeat, anomalies: vec![] };
    assert_eq!(judged(&world, &reader, &frames[0]).await, service);
    assert_eq!(frames[0].counts_of("service", "heartbeat").updates, 1);
    end(world, reader).await;
}

#[tokio::test]
async fn who_stole_the_password_of_tools_can_copy_a_marker_and_passes_for_nobody() {
    let Some((world, reader, _)) = followed().await else { return };
    result(world.call("set", json!({})).await);
    let written = frames(&reader).await;
    let copied = written[0].messages[0].content.clone().unwrap();
    let copied = String::from_utf8(copied).unwrap();
    let thief = {
        let field = |name: &str| world.blueprint.config[name].as_str().unwrap().to_owned();
        let mut config = tokio_postgres::Config::new();
        config.host(field("host")).port(world.address.port()).dbname(field("database"));
        config.user(field("user")).password("conn_password of a test");
        let (client, connection) = config.connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    };
    let copy = "select pg_logical_emit_message(true, 'service', $1)";
    thief.execute(copy, &[&copied]).await.unwrap();
    thief.batch_execute("update items set stock = 9 where id = 2").await.unwrap();
    let begin = "select service.begin_action($1, 'org', 'tool', 'digest', 'nonce', 'mac', $2)";
    let other = action().to_string();
    thief.execute(begin, &[&other, &copied]).await.unwrap();
    let read = frames(&reader).await;
    let mut verdicts = Vec::new();
    for frame in &read[1..] {
        verdicts.push(judged(&world, &reader, frame).await);
    }
    let copied = Attribution::Forged(Forgery::OtherTransaction);
    assert_eq!(verdicts, [copied.clone(), Attribution::Unattributed, copied]);
    end(world, reader).await;
}

#[tokio::test]
async fn a_slot_that_is_dropped_is_told_as_gone_and_none_is_made_unasked() {
    let Some((world, reader, named)) = followed().await else { return };
    let drop_it = format!("select pg_drop_replication_slot('{named}')");
    world.admin.batch_execute(&drop_it).await.unwrap();
    assert_eq!(reader.read(10).await.unwrap_err(), SourceError::Gone);
    assert_eq!(reader.look().await.unwrap().slot, None);
    assert_eq!(reader.confirm(Lsn(1)).await.unwrap_err(), SourceError::Gone);
    end(world, reader).await;
}

#[tokio::test]
async fn only_the_slot_that_was_seen_is_removed_and_one_that_is_gone_needs_no_removing() {
    let Some((world, reader, _)) = followed().await else { return };
    let seen = reader.look().await.unwrap().slot.unwrap();
    // One that was made anew stands at another place; one that was not there may be in the making.
    for other in [None, Some(Slot { confirmed: Lsn(seen.confirmed.0 - 1), ..seen })] {
        assert_eq!(reader.drop_slot(other).await, Err(SourceError::Busy));
        assert_eq!(reader.look().await.unwrap().slot.map(|it| it.confirmed), Some(seen.confirmed));
    }
    assert_eq!(reader.drop_slot(Some(seen)).await, Ok(()));
    assert_eq!(reader.look().await.unwrap().slot, None);
    for gone in [None, Some(seen)] {
        assert_eq!(reader.drop_slot(gone).await, Ok(()));
    }
    end(world, reader).await;
}

#[tokio::test]
async fn a_slot_that_somebody_else_advanced_shows_a_place_that_nobody_here_confirmed() {
    let Some((world, reader, named)) = followed().await else { return };
    let before = reader.look().await.unwrap().slot.unwrap().confirmed;
    result(world.call("set", json!({})).await);
    let advance =
        format!("select pg_replication_slot_advance('{named}', pg_current_wal_flush_lsn())");
    world.admin.batch_execute(&advance).await.unwrap();
    assert!(frames(&reader).await.is_empty());
    assert!(reader.look().await.unwrap().slot.unwrap().confirmed > before);
    end(world, reader).await;
}

#[tokio::test]
async fn a_publication_that_was_changed_and_changed_back_is_seen_to_be_another() {
    let Some((world, reader, named)) = followed().await else { return };
    let before = reader.look().await.unwrap().published;
    result(world.call("set", json!({})).await);
    assert_eq!(reader.look().await.unwrap().published, before);
    let hide = format!(
        "alter publication {named} drop table items;
        update items set stock = 8 where id = 1;
        alter publication {named} add table items"
    );
    world.admin.batch_execute(&hide).await.unwrap();
    // The write in between left no trace in the log.
    assert_eq!(frames(&reader).await.len(), 1);
    let published = reader.look().await.unwrap().published;
    assert_ne!(published, before);
    for set in ["publish = 'insert'", "publish = 'insert, update, delete, truncate'"] {
        let alter = format!("alter publication {named} set ({set})");
        world.admin.batch_execute(&alter).await.unwrap();
    }
    assert_ne!(reader.look().await.unwrap().published, published);
    end(world, reader).await;
}

#[tokio::test]
async fn the_end_of_the_ledger_is_read_by_its_pages_and_a_row_of_it_by_its_action() {
    let Some((world, reader, _)) = followed().await else { return };
    assert_eq!(reader.ledger_from(None, 4).await.unwrap().rows, []);
    let (ran, other, tool) = (action(), action(), world.tool("set").await);
    result(world.run(&*tool, ran, json!({}), LIMIT).await);
    let frame = frames(&reader).await.remove(0);
    let first = reader.ledger_from(None, 4).await.unwrap();
    let [row] = first.rows.as_slice() else { panic!("{first:?}") };
    assert_eq!((row.action, &row.org), (ran, &world.blueprint.org.to_string()));
    assert_eq!(row.xid & 0xffff_ffff, u64::from(frame.xid));
    assert!(first.reached >= frame.end_lsn);
    // A page that is not there is one of a ledger that was written anew.
    for (page, rows) in [(Some(0), 1), (Some(first.pages), 0), (Some(first.pages + 9), 1)] {
        let end = reader.ledger_from(page, 4).await.unwrap();
        assert_eq!((end.rows.len(), end.pages), (rows, first.pages), "{page:?}");
    }
    assert_eq!(reader.in_ledger(&[ran, other].into()).await.unwrap(), [ran].into());
    // Where the script was run before it granted that, nothing else is in the way.
    let decoder = world.blueprint.config["decoder_user"].as_str().unwrap();
    let revoke = format!("revoke select on service.ledger from {decoder}");
    world.admin.batch_execute(&revoke).await.unwrap();
    assert!(matches!(reader.ledger_from(None, 4).await, Err(SourceError::Down(_))));
    assert_eq!(frames(&reader).await.len(), 1);
    end(world, reader).await;
}

#[tokio::test]
async fn an_identity_that_was_switched_for_one_update_shows_in_that_update() {
    let Some((world, reader, _)) = followed().await else { return };
    for sql in [
        "alter table items replica identity default",
        "update items set stock = 5 where id = 3",
        "alter table items replica identity full",
        "update items set stock = 6 where id = 3",
    ] {
        world.admin.batch_execute(sql).await.unwrap();
    }
    let read = frames(&reader).await;
    let wrote = read.iter().filter(|frame| frame.touches_governed_tables());
    let identities: Vec<_> = wrote
        .flat_map(|frame| frame.relations.values().map(|relation| relation.identity))
        .collect();
    assert_eq!(identities, [Identity::Default, Identity::Full]);
    end(world, reader).await;
}

#[tokio::test]
async fn two_instances_that_read_one_slot_at_once_lose_nothing() {
    let Some((world, reader, _)) = followed().await else { return };
    let other = ChangeReader::new(&world.blueprint, &world.deps, 100).unwrap();
    for _ in 0..5 {
        result(world.call("set", json!({})).await);
        let (one, two) = tokio::join!(reader.read(1000), other.read(1000));
        for read in [&one, &two] {
            let busy = matches!(read, Err(SourceError::Busy));
            assert!(busy || read.as_ref().is_ok_and(|read| !read.frames.is_empty()), "{read:?}");
        }
        assert!(one.is_ok() || two.is_ok());
    }
    assert_eq!(frames(&reader).await.len(), 5);
    drop(other);
    end(world, reader).await;
}

#[tokio::test]
async fn a_long_transaction_is_never_cut_and_costs_no_more_than_what_is_kept_of_it() {
    let Some((world, reader, _)) = followed().await else { return };
    let many = "insert into items select n, 'item', n from generate_series(1000, 20999) n";
    world.admin.batch_execute(many).await.unwrap();
    world.admin.batch_execute("update items set stock = 0 where id = 1").await.unwrap();
    let read = reader.read(100).await.unwrap();
    let [frame] = read.frames.as_slice() else { panic!("{}", read.frames.len()) };
    assert_eq!((frame.change_count, frame.changes.len()), (20_000, 100));
    assert!(read.full);
    assert_eq!(read.until, frame.end_lsn);
    reader.confirm(frame.end_lsn).await.unwrap();
    let rest = reader.read(100).await.unwrap();
    assert_eq!((rest.frames.len(), rest.full), (1, false));
    end(world, reader).await;
}

#[tokio::test]
async fn messages_that_anybody_writes_beside_transactions_hide_no_write_and_hold_no_slot() {
    let Some((world, reader, _)) = followed().await else { return };
    let noise = "select pg_logical_emit_message(false, 'noise', 'n') from generate_series(1, 30)";
    world.admin.batch_execute(noise).await.unwrap();
    result(world.call("set", json!({})).await);
    let (mut found, mut reads) = (0, 0);
    loop {
        reads += 1;
        assert!(reads < 10, "nothing moves");
        let read = reader.read(10).await.unwrap();
        found += read.frames.len();
        if !read.full {
            break;
        }
        if found == 0 {
            assert!(read.until < reader.look().await.unwrap().flushed);
        }
        // The write that stands behind comes all the same.
        reader.confirm(read.until).await.unwrap();
        assert_eq!(reader.look().await.unwrap().slot.unwrap().confirmed, read.until);
    }
    assert_eq!(found, 1);
    end(world, reader).await;
}

#[tokio::test]
async fn a_forgotten_transaction_holds_log_back_and_hides_nothing() {
    let Some((world, reader, _)) = followed().await else { return };
    let field = |name: &str| world.blueprint.config[name].as_str().unwrap().to_owned();
    let mut config = tokio_postgres::Config::new();
    config.host(field("host")).port(world.address.port()).dbname(field("database"));
    config.user(field("user")).password("conn_password of a test");
    let (forgotten, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    forgotten.batch_execute("begin; update items set stock = 3 where id = 5").await.unwrap();
    let mark = reader.mark().await.unwrap();
    result(world.call("set", json!({})).await);
    // What was begun before is not read before it ends, and what began after it is.
    assert_eq!(frames(&reader).await.len(), 1);
    forgotten.batch_execute("commit").await.unwrap();
    let read = frames(&reader).await;
    assert_eq!(read.len(), 2);
    assert!(read[0].commit_lsn < read[1].commit_lsn);
    // It began before the mark, however late it ended.
    let mark = u32::try_from(mark & 0xffff_ffff).unwrap();
    assert!(read[1].xid < mark && read[0].xid >= mark);
    end(world, reader).await;
}

#[tokio::test]
async fn a_table_that_is_altered_between_two_writes_is_told_in_each_shape() {
    let Some((world, reader, _)) = followed().await else { return };
    for sql in [
        "update items set stock = 5 where id = 3",
        "begin; alter table items add column note text; update items set note = 'n' where id = 3;
        savepoint s; update items set note = 'gone' where id = 4; rollback to s; commit",
        "alter table items drop column note",
        "delete from items where id = 3",
    ] {
        world.admin.batch_execute(sql).await.unwrap();
    }
    let read = frames(&reader).await;
    let wrote: Vec<_> = read.iter().filter(|frame| frame.change_count > 0).collect();
    let columns = |frame: &&Frame| frame.changes[0].relation.columns.len();
    assert_eq!(wrote.iter().map(columns).collect::<Vec<_>>(), [3, 4, 3]);
    // What was rolled back within it is not there.
    assert_eq!(wrote[1].change_count, 1);
    end(world, reader).await;
}

#[tokio::test]
async fn a_reader_without_its_password_asks_nobody() {
    let Some(mut world) = World::new(tools()).await else { return };
    world.blueprint.credential = crate::Credential::default();
    let refused = ChangeReader::new(&world.blueprint, &world.deps, 1).unwrap_err();
    assert!(refused.to_string().contains("decoder_password"), "{refused}");
    world.end().await;
}
