//! What is counted and how it is written.

use std::sync::Arc;

use super::*;

#[test]
fn a_value_at_the_end_of_a_bucket_lies_in_it() {
    let histogram = Histogram::new(&[1.0, 5.0]);
    for value in [0.0, 1.0, 1.5, 5.0, 6.0] {
        histogram.add(value);
    }
    assert_eq!(histogram.buckets(), [(Some(1.0), 2), (Some(5.0), 4), (None, 5)]);
    assert!((histogram.sum() - 13.5).abs() < f64::EPSILON);
}

#[test]
fn a_gauge_counts_what_is_held() {
    let gauge = Arc::new(Gauge::default());
    let (one, two) = (gauge.hold(), gauge.hold());
    assert_eq!(gauge.get(), 2);
    drop(one);
    assert_eq!(gauge.get(), 1);
    drop(two);
    assert_eq!(gauge.get(), 0);
}

#[test]
fn a_page_is_in_the_form_that_prometheus_reads() {
    let mut page = Page::default();
    page.begin("a_total", Kind::Counter, "How often.\nOr not.");
    page.count(&[("of", "a \"b\"\\")], 3);
    page.begin("b_seconds", Kind::Histogram, "How long.");
    let histogram = Histogram::new(&[0.25]);
    histogram.add(0.5);
    page.spread(&[("of", "c")], &histogram);
    page.begin("c", Kind::Gauge, "How full.");
    page.value(&[], 0.5);
    let expected = r#"# HELP a_total How often.\nOr not.
# TYPE a_total counter
a_total{of="a \"b\"\\"} 3
# HELP b_seconds How long.
# TYPE b_seconds histogram
b_seconds_bucket{of="c",le="0.25"} 0
b_seconds_bucket{of="c",le="+Inf"} 1
b_seconds_sum{of="c"} 0.5
b_seconds_count{of="c"} 1
# HELP c How full.
# TYPE c gauge
c 0.5
"#;
    assert_eq!(page.finish(), expected);
}
