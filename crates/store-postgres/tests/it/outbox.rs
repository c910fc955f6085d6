//! The whole way of a mail: asked for, kept as a job, written, put into the outbox, and used.

use std::{fs, sync::Arc};

use crypto::{Secret, SystemEntropy};
use mail::{Outbox, Sender};
use people::{Address, Parts, People, Post, Proof, Way, store::Device};

use crate::{people::Wall, world::store};

#[tokio::test(flavor = "multi_thread")]
async fn what_lies_in_the_outbox_signs_in_and_the_job_is_gone() {
    let Some((_database, store)) = store().await else { return };
    let pepper = || Secret::new(vec![7; 32]);
    let entropy = Arc::new(SystemEntropy::new());
    let people = People::new(Parts {
        store: store.clone(),
        entropy: entropy.clone(),
        clock: Arc::new(Wall),
        pepper: pepper(),
    });
    let address = Address::parse("ada@example.com").unwrap();
    people.meet(&address).await.unwrap();
    let folder = std::env::temp_dir().join(format!("chancery-whole-way-{}", std::process::id()));
    let from = Address::parse("chancery@localhost").unwrap();
    let sender = Sender::new(&from, "chancery.example", Arc::new(Wall)).unwrap();
    let mailer = Arc::new(Outbox::open(&folder, sender).unwrap());
    let way = Way { queue: store.clone(), mailer };
    let post = Post::new(way, entropy, pepper(), "https://chancery.example");

    let (asked, unwritten) = people.ask(address, "198.51.100.0/24").await.unwrap();
    people.write(unwritten).await.unwrap();
    assert!(post.send_next().await.unwrap());
    assert!(!post.send_next().await.unwrap());

    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()).collect();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    let text = fs::read_to_string(file).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert!(text.contains("To: ada@example.com\r\n"), "{text}");
    let link = text.lines().find(|line| line.starts_with("https://chancery.example/auth/confirm"));
    let (_, token) = link.unwrap().trim_end().split_once("?t=").unwrap();
    let device = Device { network: "203.0.113.0/24".to_owned(), browser: "curl".to_owned() };
    let token = Secret::new(token.to_owned());
    people.confirm(Proof::Link(&token), &asked.browser, device).await.unwrap();
}
