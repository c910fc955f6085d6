//! Finds names that are no settings and says which one was probably meant.

use super::{
    reader::Problem,
    sources::{Layers, Origin},
    table::{self, Row, Stage},
    yaml::Leaf,
};

/// Returns a problem for every key of the file that is no setting.
pub(super) fn in_file(layers: &Layers) -> Vec<Problem> {
    layers.file.iter().filter_map(problem_of).collect()
}

/// Returns a problem for every `SERVICE_` variable that is no setting.
pub(super) fn in_environment(layers: &Layers) -> Vec<Problem> {
    let environment = layers.environment.keys().map(|name| (name, Origin::Environment));
    let dotenv = layers.dotenv.keys().map(|name| (name, Origin::Dotenv));
    environment
        .chain(dotenv)
        .filter(|(name, _)| name.starts_with("SERVICE_") && table::find(name).is_none())
        .map(|(name, origin)| {
            let known = table::SERVER.iter().map(|row| row.name.to_owned());
            let sentence = format!("there is no such setting{}", suggestion(name, known));
            Problem { setting: name.clone(), origin: Some(origin), sentence }
        })
        .collect()
}

/// Returns a sentence for every setting that was given and does nothing yet.
pub(super) fn without_effect(layers: &Layers) -> Vec<String> {
    let given = |row: &&Row| {
        layers.find(row).is_some() || layers.file.iter().any(|leaf| matches(row, &leaf.path))
    };
    table::SERVER
        .iter()
        .chain(table::FILE)
        .filter(|row| row.stage == Stage::Later)
        .filter(given)
        .map(|row| format!("`{}` has no effect in this version", row.name))
        .collect()
}

fn problem_of(leaf: &Leaf) -> Option<Problem> {
    let rows = || table::SERVER.iter().chain(table::FILE);
    if rows().any(|row| matches(row, &leaf.path)) {
        return None;
    }
    let name = leaf.path.join(".");
    let is_section = rows().any(|row| row.file_path().starts_with(&leaf.path));
    let sentence = if is_section {
        "this is a section, expected a mapping of settings".to_owned()
    } else {
        let known = rows().map(|row| row.file_path().join("."));
        format!("there is no such setting{}", suggestion(&name, known))
    };
    Some(Problem { setting: name, origin: Some(Origin::File(leaf.place)), sentence })
}

/// Returns whether the row stands at this path; a part in angle brackets takes any key.
pub(super) fn matches(row: &Row, path: &[String]) -> bool {
    let parts = row.file_path();
    parts.len() == path.len()
        && parts.iter().zip(path).all(|(part, key)| part.starts_with('<') || part == key)
}

fn suggestion(name: &str, known: impl Iterator<Item = String>) -> String {
    let near = known
        .map(|candidate| (distance(name, &candidate), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= 3);
    near.map(|(_, candidate)| format!("; did you mean `{candidate}`?")).unwrap_or_default()
}

/// Returns the Levenshtein distance: how many single letters must change.
pub(super) fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, letter) in left.chars().enumerate() {
        let mut next = vec![index + 1];
        let mut best = index + 1;
        for (other, pair) in right.iter().zip(row.windows(2)) {
            let [diagonal, above] = pair else { break };
            best = (best + 1).min(above + 1).min(diagonal + usize::from(letter != *other));
            next.push(best);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
