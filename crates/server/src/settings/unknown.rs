//! Finds names that are no settings and says which one was probably meant, and those that are
//! settings without an effect.

use std::collections::BTreeSet;

use super::{
    reader::Problem,
    sources::{Layers, Origin},
    table,
    yaml::Leaf,
};

/// A problem for every key of the file that is no setting.
pub(super) fn in_file(layers: &Layers) -> Vec<Problem> {
    layers.file.iter().filter_map(problem_of).collect()
}

/// A problem for every `SERVICE_` variable that is no setting.
pub(super) fn in_environment(layers: &Layers) -> Vec<Problem> {
    let environment = layers.environment.keys().map(|name| (name, Origin::Environment));
    let dotenv = layers.dotenv.keys().map(|name| (name, Origin::Dotenv));
    environment
        .chain(dotenv)
        .filter(|(name, _)| name.starts_with("SERVICE_") && !names().any(|known| known == *name))
        .map(|(name, origin)| {
            let known = names().filter(|name| name.starts_with("SERVICE_")).map(str::to_owned);
            let sentence = format!("unknown setting{}", suggestion(name, known));
            Problem { setting: name.clone(), origin: Some(origin), sentence }
        })
        .collect()
}

/// A sentence that names the settings that were given and do nothing in this version.
pub(super) fn without_effect(layers: &Layers) -> Option<String> {
    let said =
        |name: &str| layers.environment.contains_key(name) || layers.dotenv.contains_key(name);
    let variables = table::IDLE.iter().filter(|name| said(name)).map(|name| (*name).to_owned());
    let is_idle = |leaf: &&Leaf| table::IDLE.iter().any(|name| stands_at(name, &leaf.path));
    let leaves = layers.file.iter().filter(is_idle).map(|leaf| leaf.path.join("."));
    let given: BTreeSet<String> = variables.chain(leaves).map(|name| format!("`{name}`")).collect();
    let given = given.into_iter().collect::<Vec<_>>().join(", ");
    (!given.is_empty()).then(|| format!("set, but without effect in this version: {given}"))
}

/// Every name that is a setting, with or without an effect.
fn names() -> impl Iterator<Item = &'static str> {
    let rows = table::SERVER.iter().chain(table::FILE).map(|row| row.name);
    rows.chain(table::IDLE.iter().copied())
}

fn problem_of(leaf: &Leaf) -> Option<Problem> {
    if names().any(|known| stands_at(known, &leaf.path)) {
        return None;
    }
    let name = leaf.path.join(".");
    let is_section = names().any(|known| table::file_path(known).starts_with(&leaf.path));
    let sentence = if is_section {
        "this is a section; expected a mapping of settings".to_owned()
    } else {
        let known = names().map(|known| table::file_path(known).join("."));
        format!("unknown setting{}", suggestion(&name, known))
    };
    Some(Problem { setting: name, origin: Some(Origin::File(leaf.place)), sentence })
}

/// Whether the setting stands at this path; a part in angle brackets takes any key.
fn stands_at(name: &str, path: &[String]) -> bool {
    let parts = table::file_path(name);
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

/// The Levenshtein distance: how many single letters must change.
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
