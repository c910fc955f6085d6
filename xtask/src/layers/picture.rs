//! The table of layers as a picture for people, the highest layer first.

use super::table::{LAYERS, ROWS};

/// How many columns a line of the picture has between its borders.
const WIDTH: usize = 94;
/// The column at which what a crate uses begins.
const INDENT: usize = 17;

/// The picture: a box for each layer, a line for each crate with the crates that it uses.
pub(crate) fn drawn() -> String {
    let mut lines = Vec::new();
    for (index, (layer, title)) in LAYERS.iter().rev().enumerate() {
        let head = format!("─ {layer} · {title} ");
        let rest = "─".repeat((WIDTH + 2).saturating_sub(head.chars().count()));
        let (left, right) = if index == 0 { ('┌', '┐') } else { ('├', '┤') };
        lines.push(format!("{left}{head}{rest}{right}"));
        for row in ROWS.iter().rev().filter(|row| row.layer == *layer) {
            lines.extend(told(row.name, row.uses).iter().map(|line| format!("│ {line:WIDTH$} │")));
        }
    }
    lines.push(format!("└{}┘", "─".repeat(WIDTH + 2)));
    lines.join("\n") + "\n"
}

/// The lines of a crate: its name, and what it uses in a column of its own.
fn told(name: &str, uses: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = format!("{name:INDENT$}");
    for used in uses {
        if line.len() + used.len() > WIDTH {
            lines.push(std::mem::replace(&mut line, " ".repeat(INDENT)));
        }
        line.push_str(used);
        line.push(' ');
    }
    lines.push(line);
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}
