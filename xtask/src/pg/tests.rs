use std::net::{Ipv4Addr, TcpListener, TcpStream};

use super::*;

/// The launcher of this machine, none (and a line) where PostgreSQL is not installed.
fn launcher() -> Option<Launcher> {
    let Some(binaries) = Binaries::find().unwrap() else {
        eprintln!("left out: no PostgreSQL on this machine");
        return None;
    };
    Some(Launcher { binaries, owner: Owner::find().unwrap(), settings: "" })
}

/// A folder that every account can reach, gone at the end of the test with the server in it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        files::make_folder(&folder).unwrap();
        files::open_to_all(&folder).unwrap();
        Self(folder)
    }

    fn place(&self) -> Place {
        Place::Chosen(self.0.clone())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = files::remove_folder(&self.0);
    }
}

fn answers(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[test]
fn a_kept_cluster_survives_its_runs_and_a_killed_one() {
    let Some(launcher) = launcher() else { return };
    let scratch = Scratch::new("kept");
    let first = launcher.kept(&scratch.place()).unwrap();
    let (url, first_port) = (first.url(), first.port());
    assert!(answers(first_port));
    // A killed run stops nothing: the next one finds the server running.
    first.abandon();
    let adopted = launcher.kept(&scratch.place()).unwrap();
    assert_eq!(adopted.url(), url);
    drop(adopted);
    assert!(!answers(first_port), "what was adopted is stopped as well");
    let squatter = TcpListener::bind((Ipv4Addr::LOCALHOST, first_port)).unwrap();
    let moved = launcher.kept(&scratch.place()).unwrap();
    assert_ne!(moved.port(), first_port, "a taken port is left to whoever has it");
    drop((moved, squatter));
    launcher.forget(&scratch.place()).unwrap();
    assert!(!scratch.0.join("postgres").exists());
}

#[test]
fn a_throwaway_cluster_goes_and_so_do_those_of_killed_runs() {
    let Some(launcher) = launcher() else { return };
    let scratch = Scratch::new("throwaway");
    let runs = scratch.0.join("runs");
    let orphan = runs.join("1");
    files::make_folder(&runs).unwrap();
    let lock = take_lock(&orphan.with_extension("lock")).unwrap().unwrap();
    let killed =
        Cluster::throw_away(launcher.clone(), orphan.clone(), Checkpoints::Rare, lock).unwrap();
    let orphan_port = killed.port();

    let first = launcher.throwaway(&scratch.place(), Checkpoints::Rare).unwrap();
    assert!(answers(orphan_port), "a living run keeps its cluster");
    drop(first);
    killed.abandon();
    let half_removed = runs.join("2");
    files::make_folder(&half_removed.join("data/base")).unwrap();
    drop(take_lock(&half_removed.with_extension("lock")).unwrap());
    assert!(answers(orphan_port));
    drop(launcher.throwaway(&scratch.place(), Checkpoints::Rare).unwrap());
    assert!(!answers(orphan_port), "the server of a killed run is stopped");
    let left: Vec<PathBuf> = files::children(&runs).unwrap();
    assert_eq!(left, [runs.join("gate")]);
}

#[test]
fn a_process_has_several_throwaway_clusters_and_settings_of_its_own() {
    let Some(launcher) = launcher() else { return };
    let scratch = Scratch::new("several");
    let plain = launcher.throwaway(&scratch.place(), Checkpoints::Rare).unwrap();
    let launcher = launcher.with_settings("max_prepared_transactions = 7\n");
    let set = launcher.throwaway(&scratch.place(), Checkpoints::Rare).unwrap();
    assert!(plain.port() != set.port() && answers(plain.port()) && answers(set.port()));
    let settings = |cluster: &Cluster| files::read(&cluster.data().join("service.conf")).unwrap();
    assert!(settings(&set).contains("max_prepared_transactions = 7"));
    assert!(!settings(&plain).contains("max_prepared_transactions"));
}

#[test]
fn what_a_named_folder_lacks_is_told() {
    let scratch = Scratch::new("lacking");
    files::write_private(&scratch.0.join("initdb"), "").unwrap();
    let said = Launcher::of(&scratch.0, &["psql"]).unwrap_err().to_string();
    assert!(said.contains("lacks `postgres`, `pg_ctl`, `psql`;"), "{said}");
    for program in ["postgres", "pg_ctl", "psql"] {
        files::write_private(&scratch.0.join(program), "").unwrap();
    }
    let said = Launcher::of(&scratch.0, &["psql"]).unwrap_err().to_string();
    assert!(said.contains("holds no PostgreSQL of version 14 or newer"), "{said}");
}

#[test]
fn a_cluster_of_another_major_version_is_refused() {
    let Some(launcher) = launcher() else { return };
    let scratch = Scratch::new("major");
    let data = scratch.0.join("postgres/data");
    files::make_folder(&data).unwrap();
    for (name, text) in [("PG_VERSION", "9\n"), ("service.conf", "port = 1\n")] {
        files::write_private(&data.join(name), text).unwrap();
    }
    files::write_private(&scratch.0.join("postgres/password"), "x").unwrap();
    let said = launcher.kept(&scratch.place()).unwrap_err().to_string();
    assert!(said.contains("was made by PostgreSQL 9") && said.contains("--fresh"), "{said}");
}

#[test]
fn a_folder_with_something_else_is_neither_used_nor_removed() {
    let Some(launcher) = launcher() else { return };
    let scratch = Scratch::new("foreign");
    let letter = scratch.0.join("postgres/letter.txt");
    files::make_folder(&scratch.0.join("postgres")).unwrap();
    files::write_private(&letter, "dear").unwrap();
    let used = launcher.kept(&scratch.place()).unwrap_err().to_string();
    assert!(used.contains("no cluster of Chancery's"), "{used}");
    let removed = launcher.forget(&scratch.place()).unwrap_err().to_string();
    assert_eq!(removed, used);
    assert_eq!(files::read(&letter).unwrap(), "dear");
}

#[test]
fn a_killed_making_is_begun_again() {
    let Some(launcher) = launcher() else { return };
    let scratch = Scratch::new("making");
    let making = scratch.0.join("postgres/making");
    files::make_folder(&making).unwrap();
    files::write_private(&making.join("PG_VERSION"), "half").unwrap();
    let cluster = launcher.kept(&scratch.place()).unwrap();
    assert!(answers(cluster.port()));
}

#[test]
fn the_version_is_read_from_what_the_server_prints() {
    assert_eq!(binaries::major("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
    assert_eq!(binaries::major("postgres (PostgreSQL) 19beta1\n"), Some(19));
    assert_eq!(binaries::major("something else 15"), None);
}

#[test]
fn each_system_is_known_by_its_own_name_or_its_family() {
    let command = |release, name| install::system(release, name).map(install::System::told);
    let apt = Some("apt-get install -y postgresql".to_owned());
    assert_eq!(command("NAME=\"Debian\"\nID=debian\n", "linux"), apt);
    assert_eq!(command("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "linux"), apt);
    assert_eq!(command("", "macos"), Some("brew install postgresql@17".to_owned()));
    assert_eq!(command("ID=plan9\n", "linux"), None);
}

#[test]
fn the_folder_outside_depends_on_the_checkout_alone() {
    let folder = |path: &str| outside(Path::new(path));
    assert_eq!(folder("/root/a/.chancery"), folder("/root/a/.chancery"));
    assert_ne!(folder("/root/a/.chancery"), folder("/root/b/.chancery"));
    assert!(folder("/root/a").starts_with("/var/lib"));
}
