//! Clients that programs of other people make from the served description: each is made without a
//! warning, passes its language's checks, sends an action and reads the list of deeds.
//!
//! `cargo xtask test` installs the generators and names them; what is not named is left out.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tokio::process::Command;

use crate::{
    calls::{assert_sealed, caller},
    house::{Caller, SharedHouse, name, program, root, search_path},
};

/// Runs a command to its end and returns what it printed and complained of.
async fn run(command: &mut Command) -> (String, String) {
    let output = command.output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (told, complaints) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{command:?}\n{told}\n{complaints}");
    (told, complaints)
}

/// A folder of the house with the description as it is served.
async fn workplace(shared: &SharedHouse, caller: &Caller, name: &str) -> PathBuf {
    let folder = shared.house.folder().join(name);
    fs::create_dir_all(&folder).unwrap();
    let description = caller.get("/api/openapi.json").await;
    assert_eq!(description.status, 200);
    fs::write(folder.join("openapi.json"), &description.body).unwrap();
    folder
}

fn ours(file: &str) -> PathBuf {
    root().join("tests/it/clients").join(file)
}

/// What a client printed is the action that it sent, sealed, and the deed of that.
fn assert_served(printed: &str, mark: &str) {
    let printed: Value = printed.trim().parse().unwrap();
    assert_sealed(&printed["action"], "executed");
    assert_eq!(printed["action"]["execution"]["result"]["mark"], mark);
    let deeds = printed["deeds"]["data"].as_array().unwrap();
    let subjects: Vec<_> = deeds.iter().map(|deed| &deed["subject"]["id"]).collect();
    assert_eq!(json!(subjects), json!([printed["action"]["id"]]));
}

#[tokio::test]
async fn a_python_client_is_made_and_calls() {
    let Some(python) = program("CHANCERY_PYTHON") else { return };
    let Some((shared, caller)) = caller().await else { return };
    let folder = workplace(shared, &caller, "python-client").await;
    // The generator calls a formatter that stands beside it.
    let beside = python.parent().unwrap().display();
    let path = format!("{beside}:{}", search_path());
    let mut generate = Command::new(&python);
    generate.args(["-m", "openapi_python_client", "generate", "--path", "openapi.json"]);
    generate.args(["--meta", "none", "--output-path", "client", "--config"]);
    generate.arg(ours("python.yaml")).env("PATH", path).current_dir(&folder);
    let (told, complaints) = run(&mut generate).await;
    let said = format!("{told}{complaints}");
    assert!(!said.to_lowercase().contains("warning"), "{said}");
    let mut compile = Command::new(&python);
    run(compile.args(["-m", "compileall", "-q", "client"]).current_dir(&folder)).await;
    let (mark, base) = (name(), format!("http://{}", caller.address));
    let mut drive = Command::new(&python);
    drive.arg("-B").arg(ours("drive.py")).args([&base, caller.key.as_ref().unwrap(), &mark]);
    let (printed, _) = run(drive.env("PYTHONPATH", &folder)).await;
    assert_served(&printed, &mark);
}

#[tokio::test]
async fn a_typescript_client_is_made_and_calls() {
    let (node, libraries) = (program("CHANCERY_NODE"), program("CHANCERY_NODE_LIBRARIES"));
    let (Some(node), Some(libraries)) = (node, libraries) else { return };
    let Some((shared, caller)) = caller().await else { return };
    let folder = workplace(shared, &caller, "typescript-client").await;
    std::os::unix::fs::symlink(&libraries, folder.join("node_modules")).unwrap();
    fs::write(folder.join("package.json"), r#"{ "type": "module" }"#).unwrap();
    fs::copy(ours("drive.ts"), folder.join("drive.ts")).unwrap();
    let program = |path: &str| {
        let mut command = Command::new(&node);
        command.arg(libraries.join(path)).current_dir(&folder);
        command
    };
    let mut generate = program("openapi-typescript/bin/cli.js");
    let (_, complaints) = run(generate.args(["openapi.json", "--output", "api.ts"])).await;
    assert!(!complaints.to_lowercase().contains("warn"), "{complaints}");
    let mut compile = program("typescript/bin/tsc");
    compile.args(["--strict", "--noEmitOnError", "--target", "es2022", "--module", "nodenext"]);
    run(compile.args(["--skipLibCheck", "drive.ts"])).await;
    let (mark, base) = (name(), format!("http://{}", caller.address));
    let mut drive = Command::new(&node);
    drive.arg(Path::new("drive.js")).args([&base, caller.key.as_ref().unwrap(), &mark]);
    let (printed, _) = run(drive.current_dir(&folder)).await;
    assert_served(&printed, &mark);
}
