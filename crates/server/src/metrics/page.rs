//! A metric's series in the text form that Prometheus reads, version 0.0.4, as its library writes
//! them.

use std::fmt::Write;

use prometheus::{
    Histogram, TextEncoder,
    core::Metric as _,
    proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType},
};

use super::table::Row;

/// A label's name and value.
type Label<'a> = (&'a str, &'a str);

/// The series of one metric, in the order in which they are shown.
#[derive(Debug, Default)]
pub(super) struct Series(Vec<Metric>);

impl Series {
    /// Adds the metric's value under these labels.
    pub(super) fn value(&mut self, labels: &[Label<'_>], value: f64) {
        let (mut counter, mut gauge) = (Counter::default(), Gauge::default());
        counter.set_value(value);
        gauge.set_value(value);
        let mut metric = Metric::from_label(pairs(labels));
        // Shown is the one that the metric's kind names.
        metric.set_counter(counter);
        metric.set_gauge(gauge);
        self.0.push(metric);
    }

    /// Adds a count under these labels.
    #[expect(clippy::cast_precision_loss, reason = "no count comes to 2^53")]
    pub(super) fn count(&mut self, labels: &[Label<'_>], count: u64) {
        self.value(labels, count as f64);
    }

    /// Adds the metric's buckets, sum and count under these labels.
    pub(super) fn spread(&mut self, labels: &[Label<'_>], histogram: &Histogram) {
        let mut metric = histogram.metric();
        metric.set_label(pairs(labels));
        self.0.push(metric);
    }

    /// Writes the metric that the row is of.
    pub(super) fn write(self, row: &Row, page: &mut String) -> prometheus::Result<()> {
        let Row { name, kind, help, .. } = row;
        if self.0.is_empty() {
            // The library writes nothing of what has no series yet.
            // Writing to a string cannot fail.
            let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {}", word(*kind));
            return Ok(());
        }
        let mut family = MetricFamily::default();
        family.set_name((*name).to_owned());
        family.set_help((*help).to_owned());
        family.set_field_type(*kind);
        family.set_metric(self.0);
        TextEncoder::new().encode_utf8(&[family], page)
    }
}

/// The word of the text form.
pub(super) fn word(kind: MetricType) -> String {
    format!("{kind:?}").to_lowercase()
}

fn pairs(labels: &[Label<'_>]) -> Vec<LabelPair> {
    let pair = |(name, value): &Label<'_>| {
        let mut pair = LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value((*value).to_owned());
        pair
    };
    labels.iter().map(pair).collect()
}

#[cfg(test)]
mod tests;
