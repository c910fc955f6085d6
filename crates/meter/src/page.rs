//! The text form that Prometheus reads, version 0.0.4.

use std::fmt::Write;

use crate::Histogram;

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows while the process lives.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Values by bucket.
    Histogram,
}

impl Kind {
    /// The word of the text form.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A label's name and value.
pub type Label<'a> = (&'a str, &'a str);

/// A page of metrics, written one after the other.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
    name: &'static str,
}

impl Page {
    /// Begins a metric; what is written next belongs to it.
    pub fn begin(&mut self, name: &'static str, kind: Kind, help: &str) {
        self.name = name;
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {}", kind.as_str()));
    }

    /// Writes the metric's value under these labels.
    pub fn value(&mut self, labels: &[Label<'_>], value: f64) {
        let (name, labels) = (self.name, shown(labels));
        self.line(format_args!("{name}{labels} {value}"));
    }

    /// Writes a count under these labels.
    pub fn count(&mut self, labels: &[Label<'_>], count: u64) {
        let (name, labels) = (self.name, shown(labels));
        self.line(format_args!("{name}{labels} {count}"));
    }

    /// Writes the metric's buckets, sum and count under these labels.
    pub fn spread(&mut self, labels: &[Label<'_>], histogram: &Histogram) {
        let name = self.name;
        let mut all = 0;
        for (end, below) in histogram.buckets() {
            let end = end.map_or_else(|| "+Inf".to_owned(), |end| end.to_string());
            let labels = shown(&[labels, &[("le", &end)]].concat());
            self.line(format_args!("{name}_bucket{labels} {below}"));
            all = below;
        }
        let (labels, sum) = (shown(labels), histogram.sum());
        self.line(format_args!("{name}_sum{labels} {sum}\n{name}_count{labels} {all}"));
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }
}

fn shown(labels: &[Label<'_>]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let escaped =
        |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let pairs: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    format!("{{{}}}", pairs.join(","))
}
