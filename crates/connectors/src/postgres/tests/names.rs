//! The names of prepared statements, as they are sent and as the server has them.

use bytes::BytesMut;
use postgres_protocol::{IsNull, message::frontend};
use serde_json::json;
use testkit::SeededEntropy;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use super::world::{LIMIT, World, action, read_tool, result};
use crate::postgres::names::{Prefix, PrefixedNames};

#[tokio::test]
async fn no_other_process_names_its_statements_alike() {
    // The library looks the second column's type up by statements of its own.
    let listed = "select name, 'happy'::mood as looked_up from pg_prepared_statements limit 3";
    let tools = json!([read_tool("named", listed, json!({}), "rows")]);
    let Some(world) = World::new(tools).await else { return };
    let mut prefixes = Vec::new();
    for _ in 0..2 {
        let rows = result(world.call("named", json!({})).await)["rows"].clone();
        let names = rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap());
        let parts: Vec<_> = names.map(|name| name.rsplit_once("_s").unwrap()).collect();
        assert_eq!(parts.len(), 3, "{rows}");
        let (prefix, _) = parts[0];
        for (other, number) in parts {
            assert!(other == prefix && number.parse::<u64>().is_ok(), "{rows}");
        }
        prefixes.push(prefix.to_owned());
    }
    assert_ne!(prefixes[0], prefixes[1], "each draws its own");
    world.end().await;
}

#[tokio::test]
async fn a_process_is_known_again_whatever_its_roles_settings_and_search_path_are() {
    let tools = json!([read_tool("one", "select 1 as one", json!({}), "row")]);
    let Some(world) = World::new(tools).await else { return };
    let role = world.blueprint.config["read_user"].as_str().unwrap();
    let misled = format!(
        "create schema misled;
        create function misled.concat(integer, text, text) returns text language sql
            as $$ select random()::text $$;
        grant usage on schema misled to {role};
        alter role {role} set search_path = misled, pg_catalog;
        alter role {role} set timezone = 'Asia/Kathmandu';
        alter role {role} set datestyle = 'SQL, DMY';
        alter role {role} set extra_float_digits = -15"
    );
    world.admin.batch_execute(&misled).await.unwrap();
    let tool = world.tool("one").await;
    for _ in 0..3 {
        let outcome = world.run(&*tool, action(), json!({}), LIMIT).await;
        assert_eq!(result(outcome), json!({"one": 1}));
    }
    world.end().await;
}

/// Every kind of message that a client sends, each with what is sent in its place.
fn messages(prefix: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let written = |write: &dyn Fn(&mut BytesMut)| {
        let mut buffer = BytesMut::new();
        write(&mut buffer);
        buffer.to_vec()
    };
    let named = format!("{prefix}s7");
    let parse = |name: &str| {
        written(&|buffer| frontend::parse(name, "select $1", [23, 25], buffer).unwrap())
    };
    let bind = |portal: &str, name: &str| {
        written(&|buffer| {
            let value = |(), buffer: &mut BytesMut| {
                buffer.extend_from_slice(b"\0s7\0");
                Ok(IsNull::No)
            };
            let bound = frontend::bind(portal, name, [1], [()], value, [1], buffer);
            assert!(bound.is_ok());
        })
    };
    let describe =
        |kind, name: &str| written(&|buffer| frontend::describe(kind, name, buffer).unwrap());
    let close = |kind, name: &str| written(&|buffer| frontend::close(kind, name, buffer).unwrap());
    let same = |message: Vec<u8>| (message.clone(), message);
    vec![
        same(written(&|buffer| {
            frontend::startup_message([("user", "s7"), ("database", "S")], buffer).unwrap();
        })),
        same(written(&|buffer| frontend::password_message(b"s7", buffer).unwrap())),
        (parse("s7"), parse(&named)),
        same(parse("")),
        (bind("", "s7"), bind("", &named)),
        (bind("p1", "s7"), bind("p1", &named)),
        same(bind("p1", "")),
        (describe(b'S', "s7"), describe(b'S', &named)),
        same(describe(b'S', "")),
        same(describe(b'P', "p1")),
        (close(b'S', "s7"), close(b'S', &named)),
        same(close(b'P', "p1")),
        same(written(&|buffer| frontend::execute("p1", 0, buffer).unwrap())),
        same(written(&|buffer| frontend::query("deallocate s7", buffer).unwrap())),
        same(written(&frontend::sync)),
        same(written(&frontend::terminate)),
    ]
}

#[tokio::test]
async fn only_names_of_statements_are_changed_however_they_are_cut() {
    let prefix = Prefix::draw(&SeededEntropy::new(7));
    let messages = messages(prefix.as_str());
    let sent: Vec<u8> = messages.iter().flat_map(|(sent, _)| sent.clone()).collect();
    let expected: Vec<u8> = messages.into_iter().flat_map(|(_, comes)| comes).collect();
    for (cut, room) in [(1, 1), (2, 64), (5, 3), (7, 1024), (sent.len(), 16)] {
        let (client, mut server) = duplex(room);
        let mut named = PrefixedNames::new(client, prefix.clone());
        let writing = async {
            for part in sent.chunks(cut) {
                named.write_all(part).await.unwrap();
            }
            named.shutdown().await.unwrap();
        };
        let mut came = Vec::new();
        let reading = async { server.read_to_end(&mut came).await.unwrap() };
        tokio::join!(writing, reading);
        assert_eq!(came, expected, "in parts of {cut} bytes, {room} at once");
    }
}

#[tokio::test]
async fn a_message_without_a_length_is_refused() {
    let (client, _server) = duplex(1024);
    let mut named = PrefixedNames::new(client, Prefix::draw(&SeededEntropy::new(7)));
    let refused = named.write_all(b"\0\0\0\x03").await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
}
