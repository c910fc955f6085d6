//! Bars over time: how high each part stands, and which moments and numbers stand beside them. The
//! picture stretches with the page and holds no words; those are written around it.

use minijinja::{Environment, Error, ErrorKind, Value, context, value::ValueKind};

/// A part of a bar: its look, and which counts are in it.
type Part = (&'static str, &'static [&'static str]);

/// What the bars of a chart consist of, from the ground up. Each thing that is counted is in exactly
/// one part.
#[rustfmt::skip]
const CHARTS: [(&str, [Part; 4]); 2] = [
    ("actions",    [("ran", &["executed"]),  ("waits", &["waiting"]),             ("ended", &["denied", "cancelled"]), ("failed", &["failed"])]),
    ("deliveries", [("ran", &["delivered"]), ("waits", &["pending", "retrying"]), ("ended", &["dropped"]),             ("failed", &["dead"])]),
];
/// How wide a bar and the gap before the next are together; a picture is a hundred high.
const PITCH: usize = 10;
const BAR: usize = 7;
/// At most so many bars have their moment below them.
const LABELLED: usize = 8;

pub(crate) fn add_to(templates: &mut Environment<'_>) {
    templates.add_function("bars", bars);
}

/// The bars of the chart of this name over a series of counts.
fn bars(chart: &str, series: &Value) -> Result<Value, Error> {
    let found = CHARTS.iter().find(|(name, _)| *name == chart);
    let (_, parts) = found.ok_or_else(|| invalid(format!("there is no chart `{chart}`")))?;
    let rows = rows(parts, series)?;
    let top = above(rows.iter().map(|row| row.iter().sum()).max().unwrap_or(0));
    let mut drawn = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let mut below = 0;
        for ((look, _), count) in parts.iter().zip(row) {
            if *count > 0 {
                let (from, to) = (percent(below, top), percent(below + count, top));
                drawn.push(context! {
                    look => *look,
                    x => place * PITCH + (PITCH - BAR) / 2,
                    y => format!("{:.2}", 100.0 - to),
                    width => BAR,
                    height => format!("{:.2}", to - from),
                });
            }
            below += count;
        }
    }
    let step = rows.len().div_ceil(LABELLED).max(1);
    Ok(
        context! { bars => drawn, top => top, half => top / 2, width => rows.len() * PITCH, step => step },
    )
}

/// How many things each part of each bar counts.
fn rows(parts: &[Part; 4], series: &Value) -> Result<Vec<[u64; 4]>, Error> {
    let mut rows = Vec::new();
    for bucket in series.try_iter()? {
        let mut row = [0; 4];
        for (sum, (_, names)) in row.iter_mut().zip(parts) {
            for name in *names {
                *sum += count(&bucket, name)?;
            }
        }
        rows.push(row);
    }
    Ok(rows)
}

fn count(bucket: &Value, name: &str) -> Result<u64, Error> {
    let value = bucket.get_attr(name)?;
    let found = if value.kind() == ValueKind::Number { u64::try_from(value).ok() } else { None };
    found.ok_or_else(|| invalid(format!("a bar has no count `{name}`")))
}

fn invalid(why: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, why)
}

/// The least round number that nothing stands above; its half is whole.
fn above(most: u64) -> u64 {
    let mut unit = 1_u64;
    loop {
        if let Some(round) = [2, 4, 6, 10].iter().map(|by| by * unit).find(|top| *top >= most) {
            return round;
        }
        match unit.checked_mul(10) {
            Some(next) if next < u64::MAX / 10 => unit = next,
            _ => return u64::MAX,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is the height of a picture")]
fn percent(count: u64, top: u64) -> f64 {
    count as f64 * 100.0 / top as f64
}

#[cfg(test)]
mod tests {
    use minijinja::value::Serde;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_top_is_round_and_nothing_stands_above_it() {
        let tops = [(0, 2), (1, 2), (3, 4), (5, 6), (7, 10), (11, 20), (302, 400), (601, 1000)];
        for (most, top) in tops {
            assert_eq!(above(most), top, "{most}");
        }
        assert!(above(u64::MAX) >= u64::MAX / 10);
    }

    #[test]
    fn parts_stand_on_one_another_and_each_action_is_in_one() {
        let bars = |series: &Value| bars("actions", series);
        let bucket = |executed: u64| json!({ "executed": executed, "waiting": 1, "denied": 2, "cancelled": 3, "failed": 4, "mismatch": 9 });
        let series = json!([bucket(0), bucket(10)]);
        let drawn = bars(&Value::from(Serde(&series))).unwrap();
        let all: Vec<_> = drawn.get_attr("bars").unwrap().try_iter().unwrap().collect();
        let number = |bar: &Value, name: &str| bar.get_attr(name).unwrap().to_string();
        let told: Vec<_> = all
            .iter()
            .map(|bar| ["look", "x", "y", "height"].map(|name| number(bar, name)))
            .collect();
        let expected = [
            ["waits", "1", "95.00", "5.00"],
            ["ended", "1", "70.00", "25.00"],
            ["failed", "1", "50.00", "20.00"],
            ["ran", "11", "50.00", "50.00"],
            ["waits", "11", "45.00", "5.00"],
            ["ended", "11", "20.00", "25.00"],
            ["failed", "11", "0.00", "20.00"],
        ];
        assert_eq!(told, expected.map(|row| row.map(str::to_owned)));
        assert_eq!(number(&drawn, "top"), "20");
        assert!(bars(&Value::from(Serde(&json!([{}])))).is_err());
    }

    #[test]
    fn every_status_of_a_delivery_is_in_one_part_of_its_chart() {
        for status in model::DeliveryStatus::ALL {
            let mut bucket =
                json!({ "delivered": 0, "pending": 0, "retrying": 0, "dead": 0, "dropped": 0 });
            bucket[status.as_str()] = json!(1);
            let drawn = bars("deliveries", &Value::from(Serde(&json!([bucket])))).unwrap();
            assert_eq!(drawn.get_attr("bars").unwrap().len(), Some(1), "{status}");
        }
        assert!(bars("nothing", &Value::from(Serde(&json!([])))).is_err());
    }

    #[test]
    fn at_most_eight_bars_have_their_moment_below_them() {
        let bucket =
            json!({ "delivered": 0, "pending": 0, "retrying": 0, "dead": 0, "dropped": 0 });
        for (bars_drawn, step) in [(0, 1), (8, 1), (9, 2), (24, 3), (28, 4), (96, 12)] {
            let series = vec![bucket.clone(); bars_drawn];
            let drawn = bars("deliveries", &Value::from(Serde(&series))).unwrap();
            assert_eq!(drawn.get_attr("step").unwrap(), Value::from(step), "{bars_drawn}");
        }
    }
}
