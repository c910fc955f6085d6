//! Joins the areas of the interface description, the files below `api`, into the one document that
//! is served.
//!
//! Text is joined and not values, so that what is served reads as it was written; short forms are
//! written out. `openapi.yaml` comes first and opens the document; the others follow by their names, and
//! each adds its `paths` and the parts of its `components` to those before it.

#[path = "build/short_forms.rs"]
mod short_forms;

use std::{env, error::Error, fs, io, path::Path};

#[expect(
    clippy::disallowed_methods,
    reason = "cargo says by a variable where a build script writes"
)]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=api");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-env-changed={WRITES}");
    let mut files = Vec::new();
    for folder in ["api", "api/examples"] {
        for entry in fs::read_dir(folder)? {
            files.push(entry?.path());
        }
    }
    files.retain(|file| file.extension().is_some_and(|kind| kind == "yaml"));
    files.sort_by_key(|file| (!file.ends_with("openapi.yaml"), file.clone()));
    let mut joined = Joined::default();
    for file in files {
        let text = fs::read_to_string(&file)?;
        joined.add(&text).map_err(|line| {
            io::Error::other(format!("`{}`: the line `{line}` is not understood", file.display()))
        })?;
    }
    if env::var_os(WRITES).is_some() {
        joined.begin_examples();
    }
    let missing = short_forms::missing(&joined.text());
    if !missing.is_empty() {
        let message = format!("`components` has none of these: {}", missing.join(", "));
        return Err(io::Error::other(message).into());
    }
    let target = Path::new(&env::var("OUT_DIR")?).join("openapi.yaml");
    Ok(fs::write(target, joined.text())?)
}

/// Set where the tests write the examples of answers.
const WRITES: &str = "CHANCERY_WRITE_EXAMPLES";

#[derive(Default)]
struct Joined {
    opening: String,
    paths: String,
    /// The parts of `components`, in the order in which they were met first.
    parts: Vec<(String, String)>,
}

enum Section {
    Opening,
    Paths,
    Components,
    Part(usize),
}

impl Joined {
    /// Adds a file, or names the line that belongs nowhere.
    fn add(&mut self, text: &str) -> Result<(), String> {
        let mut section = Section::Opening;
        let opens = self.opening.is_empty();
        let (mut tag, mut paths) = ("", String::new());
        for line in text.lines() {
            match (line, part(line)) {
                _ if matches!(section, Section::Opening) && line.starts_with("tag: ") => {
                    tag = line.trim_start_matches("tag: ");
                }
                ("paths:", _) => section = Section::Paths,
                ("components:", _) => section = Section::Components,
                (_, Some(name)) if matches!(section, Section::Components | Section::Part(_)) => {
                    section = Section::Part(self.part(name));
                }
                _ if matches!(section, Section::Paths) => paths.extend([line, "\n"]),
                _ => self.line(&section, line, opens)?,
            }
        }
        self.paths += &short_forms::written_out(&paths, tag)?;
        Ok(())
    }

    fn line(&mut self, section: &Section, line: &str, opens: bool) -> Result<(), String> {
        let mut is_schema = false;
        let buffer = match section {
            // What a file says of itself is not served.
            Section::Opening if line.starts_with('#') => return Ok(()),
            Section::Opening if opens => &mut self.opening,
            Section::Part(index) => {
                let part = self.parts.get_mut(*index).ok_or_else(|| line.to_owned())?;
                is_schema = part.0 == "schemas";
                &mut part.1
            }
            Section::Opening | Section::Paths | Section::Components => return Err(line.to_owned()),
        };
        let list = is_schema.then(|| short_forms::list(line)).flatten();
        buffer.push_str(list.as_deref().unwrap_or(line));
        buffer.push('\n');
        Ok(())
    }

    fn part(&mut self, name: &str) -> usize {
        let known = self.parts.iter().position(|(known, _)| known == name);
        known.unwrap_or_else(|| {
            self.parts.push((name.to_owned(), String::new()));
            self.parts.len() - 1
        })
    }

    /// Begins the examples that are referred to and stand nowhere yet. Nothing is served from a
    /// description that refers to what is not there, so nobody could see what is answered.
    fn begin_examples(&mut self) {
        let text = self.text();
        let at = self.part("examples");
        let Some((_, examples)) = self.parts.get_mut(at) else { return };
        for rest in text.split("#/components/examples/").skip(1) {
            let name = rest.split(|it: char| !it.is_ascii_alphanumeric() && it != '_').next();
            let opens = format!("    {}:", name.unwrap_or_default());
            if !examples.lines().any(|line| line == opens) {
                examples.extend([opens.as_str(), "\n      value: {}\n"]);
            }
        }
    }

    fn text(&self) -> String {
        let parts: String = self
            .parts
            .iter()
            .fold(String::new(), |all, (name, text)| all + "  " + name + ":\n" + text);
        format!("{}paths:\n{}components:\n{parts}", self.opening, self.paths)
    }
}

/// The name of a part of `components`, where the line begins one.
fn part(line: &str) -> Option<&str> {
    let name = line.strip_prefix("  ")?.strip_suffix(':')?;
    name.starts_with(|first: char| first.is_ascii_alphabetic()).then_some(name)
}
