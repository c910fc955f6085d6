//! The parts of `up` that need no cluster; the whole is tested end to end.

use std::os::unix::fs::PermissionsExt;

use model::{AgentId, OrgId};
use uuid::Uuid;

use super::*;

fn folder(name: &str) -> Folder {
    let path = std::env::temp_dir().join(format!("chancery-up-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    Folder::open(&path).expect("a folder")
}

#[test]
fn a_folder_gives_back_what_it_keeps_and_shows_it_to_its_owner_alone() {
    let folder = folder("keeps");
    assert!(folder.secrets().expect("readable").is_none());
    let made = folder.make_secrets().expect("secrets");
    let kept = folder.secrets().expect("readable").expect("kept");
    assert_eq!(kept.pepper.expose(), made.pepper.expose());
    assert_ne!(made.app.expose(), made.migrator.expose());
    let (org, agent) = (OrgId::from_uuid(Uuid::nil()), AgentId::from_uuid(Uuid::nil()));
    let key = crate::secrets::random_key();
    folder.keep_cast(&Cast { org, agent, key: key.clone() }).expect("kept");
    assert_eq!(folder.cast().expect("readable").expect("kept").key.expose(), key.expose());
    folder.keep_env(&[("SERVICE_LISTEN", "127.0.0.1:1".to_owned())]).expect("kept");
    for file in [folder.seal_keys(), folder.cast_file(), folder.env_file()] {
        let permissions = std::fs::metadata(&file).expect("a file").permissions();
        assert_eq!(permissions.mode() & 0o077, 0, "{}", file.display());
    }
    folder.clear().expect("cleared");
    assert!(folder.secrets().expect("readable").is_none() && !folder.seal_keys().exists());
    folder.clear().expect("nothing is left to remove");
}

#[test]
fn a_file_of_a_demos_name_in_a_folder_of_somebody_elses_stays_as_it_is() {
    let folder = folder("strangers");
    folder.refuse_strangers().expect("an empty folder");
    std::fs::write(folder.seal_keys(), "the keys of a service").expect("a file");
    let refused = folder.refuse_strangers().expect_err("a stranger");
    assert_eq!(refused.exit, Exit::Usage);
    assert!(refused.to_string().contains("seal.pem"), "{refused}");
    std::fs::remove_file(folder.seal_keys()).expect("removed");
    folder.make_secrets().expect("secrets");
    folder.refuse_strangers().expect("a demo's own folder");
    // A run that was killed before it had made the seal keys.
    std::fs::remove_file(folder.seal_keys()).expect("removed");
    folder.make_seal_keys().expect("made");
    assert!(folder.seal_keys().exists());
    folder.clear().expect("cleared");
}

#[test]
fn a_damaged_file_is_named_and_not_shown() {
    let folder = folder("damaged");
    std::fs::write(folder.cast_file(), "{\"key\":\"s3cret\"").expect("a file");
    let failure = folder.cast().expect_err("damaged").to_string();
    assert!(failure.contains("agent.json") && failure.contains("--fresh"), "{failure}");
    assert!(!failure.contains("s3cret"), "{failure}");
    folder.clear().expect("cleared");
}

#[test]
fn a_cluster_is_named_over_tcp_with_a_user() {
    for url in ["nonsense", "postgres:///x?host=/run", "mysql://u@h/x", "postgres://127.0.0.1/x"] {
        assert_eq!(Cluster::at(url).expect_err(url).exit, Exit::Usage);
    }
    let cluster = Cluster::at("postgres://root:p%40ss@[::1]:5433/postgres").expect("a cluster");
    assert_eq!((cluster.port, cluster.password.expose().as_str()), (5433, "p@ss"));
    let url = cluster.url(APP, &crypto::Secret::new("word".to_owned()), CONTROL);
    assert_eq!(url, "postgres://chancery_app:word@[::1]:5433/chancery");
    assert!(!format!("{cluster:?}").contains("p@ss"));
}

#[test]
fn the_policy_of_the_demo_can_decide() {
    policy::Policy::compile(POLICY).expect("a policy");
}

#[test]
fn up_is_for_dev() {
    let prod = Sources::default().with("SERVICE_ENV", "prod");
    assert_eq!(log_level(&prod).expect_err("refused").exit, Exit::Usage);
    let odd = Sources::default().with("SERVICE_LOG_LEVEL", "loud");
    assert_eq!(log_level(&odd).expect_err("refused").exit, Exit::Usage);
    assert_eq!(log_level(&Sources::default()).expect("quiet").level(), tracing::Level::WARN);
}

#[test]
fn the_superusers_address_may_stand_in_the_environment() {
    let what = |postgres_url: Option<&str>| cli::Up {
        data_dir: std::path::PathBuf::new(),
        postgres_url: postgres_url.map(str::to_owned),
        fresh: false,
        port: 0,
        witness: cli::ShopWitness::Log,
    };
    let nowhere = Sources::default();
    assert!(postgres_url(&what(None), &nowhere).is_err());
    let surroundings = nowhere.with(POSTGRES_URL, "postgres://a");
    assert_eq!(postgres_url(&what(None), &surroundings).expect("told"), "postgres://a");
    let word = what(Some("postgres://b"));
    assert_eq!(postgres_url(&word, &surroundings).expect("told"), "postgres://b");
}
