//! How numbers are printed: tables, percentiles and shares.

/// The rows as lines: the first column to the left, the others to the right.
pub(crate) fn lines(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// The smallest number that so many percent of the numbers do not exceed; 0 when there are none.
pub(crate) fn percentile(numbers: &[usize], percent: usize) -> usize {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// How many there are in each `per` of the whole, to one decimal place.
pub(crate) fn rate(count: usize, whole: usize, per: usize) -> String {
    let tenths = (count * per * 10 + whole / 2).checked_div(whole).unwrap_or_default();
    format!("{}.{}", tenths / 10, tenths % 10)
}
