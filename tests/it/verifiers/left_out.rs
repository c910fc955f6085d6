//! A verifier that somebody took a check out of is not fooled: each check is cut out of a copy of
//! the Python and of the JavaScript one, and what needs it is no longer valid.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use deed::{
    KeySet,
    verify::{CheckId, Trust, examine},
};
use serde_json::{Value, json};

use super::{Folder, cases, printed, program, root};

/// A verifier, and where a check is noted in it: a text, and what stands before it in a copy that
/// does not note the check `NAME`, though what follows goes on as if it had run.
struct Kind {
    variable: &'static str,
    main: &'static str,
    cuts: [(&'static str, &'static str); 2],
}

const KINDS: [Kind; 2] = [
    Kind {
        variable: "CHANCERY_PYTHON",
        main: "verify.py",
        cuts: [
            ("        self.ran.update(checks)\n", "        checks.pop(\"NAME\", None)\n"),
            (
                "        try:\n            yield\n            self.ran.add(name)\n",
                "        if name == \"NAME\":\n            \
                 with contextlib.suppress(ValueError, IndexError, RecursionError):\n                \
                 yield\n            return\n",
            ),
        ],
    },
    Kind {
        variable: "CHANCERY_NODE",
        main: "verify.mjs",
        cuts: [
            ("      this.ran.add(check);\n", "      if (check === \"NAME\") continue;\n"),
            (
                "    try {\n      const done = await work();\n",
                "    if (name === \"NAME\") return Promise.resolve().then(work).catch(() => {});\n",
            ),
        ],
    },
];

/// How many copies run at a time.
const AT_ONCE: usize = 4;

impl Kind {
    /// Writes a copy without the check and returns the file to run.
    fn without(&self, check: CheckId, folder: &Folder) -> PathBuf {
        let here = folder.0.join(format!("{}-{}", check.as_str(), self.main));
        fs::create_dir_all(&here).unwrap();
        let ending = Path::new(self.main).extension().unwrap();
        for path in fs::read_dir(root().join("docs/verifiers")).unwrap() {
            let path = path.unwrap().path();
            if path.extension().is_some_and(|kind| kind == ending || kind == "json") {
                let mut text = fs::read_to_string(&path).unwrap();
                if path.file_stem().is_some_and(|stem| stem == "deeds") {
                    for (at, before) in self.cuts {
                        assert_eq!(text.matches(at).count(), 1, "{at}");
                        let before = before.replace("NAME", check.as_str());
                        text = text.replace(at, &format!("{before}{at}"));
                    }
                }
                fs::write(here.join(path.file_name().unwrap()), text).unwrap();
            }
        }
        here.join(self.main)
    }
}

/// The checks that a vector needs, as the service's verifier tells.
fn needed(case: &Value) -> Vec<Value> {
    let published = fs::read_to_string(root().join("docs/vectors/keys.json")).unwrap();
    let keys = match &case["keys"] {
        Value::Null => None,
        Value::String(_) => Some(KeySet::parse(published.as_bytes()).unwrap()),
        set => Some(KeySet::parse(set.to_string().as_bytes()).unwrap()),
    };
    let trust = Trust {
        keys,
        known_checkpoint: case["known_checkpoint"].as_str().map(str::to_owned),
        expected_size: case["expected_size"].as_u64(),
    };
    let report = examine(case["input"].as_str().unwrap().as_bytes(), &trust);
    report.checks.iter().map(|check| json!(check.id)).collect()
}

/// What a copy without the check makes of the vectors is what it should be.
fn is_missed(check: CheckId, found: &[Value], cases: &[(Value, Vec<Value>)]) {
    let name = json!(check);
    let (mut missed, mut changed) = (0, 0);
    assert_eq!(found.len(), cases.len());
    for (found, (case, needed)) in found.iter().zip(cases) {
        let about = format!("{} without `{}`: {found}", case["name"], check.as_str());
        if case["verdict"] == "valid" && needed.contains(&name) {
            assert_eq!(found["verdict"], "undecidable", "{about}");
            assert!(found["checks"].as_array().unwrap().contains(&name), "{about}");
            missed += 1;
        } else if case["verdict"] == "valid" {
            assert_eq!(found["verdict"], "valid", "{about}");
        } else {
            assert_ne!(found["verdict"], "valid", "{about}");
            changed += usize::from(found["verdict"] != case["verdict"]);
        }
    }
    assert!(missed > 0, "no valid vector needs `{}`", check.as_str());
    // What is no deed stays none, whoever says so.
    assert!(changed > 0 || check == CheckId::Input, "no vector misses `{}`", check.as_str());
}

#[test]
fn a_check_that_is_cut_out_of_a_verifier_is_missed() {
    let cases: Vec<_> = cases().into_iter().map(|case| (case.clone(), needed(&case))).collect();
    let folder = Folder::new("left-out");
    for kind in &KINDS {
        let Some(program) = program(kind.variable) else { continue };
        for checks in CheckId::ALL.chunks(AT_ONCE) {
            let (program, folder, cases) = (&program, &folder, &cases);
            thread::scope(|scope| {
                for check in checks {
                    scope.spawn(move || {
                        let mut command = Command::new(program);
                        command.arg(kind.without(*check, folder));
                        command.arg("--vectors").arg(root().join("docs/vectors"));
                        is_missed(*check, &printed(&mut command), cases);
                    });
                }
            });
        }
    }
}
