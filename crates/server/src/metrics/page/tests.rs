//! How series are written.

use prometheus::HistogramOpts;

use super::{super::table::row, *};

#[test]
fn a_page_is_in_the_form_that_prometheus_reads() {
    let mut page = String::new();
    let mut write = |name, kind, help, add: fn(&mut Series)| {
        let mut series = Series::default();
        add(&mut series);
        series.write(&row(name, kind, "", help, |_, _| {}), &mut page).unwrap();
    };
    write("a_total", MetricType::COUNTER, "How often.", |it| {
        it.count(&[("of", "a \"b\"\\"), ("by", "c")], 3);
        it.count(&[("of", "d"), ("by", "c")], 4_503_599_627_370_497);
    });
    write("b_seconds", MetricType::HISTOGRAM, "How long.", |it| {
        let bounds = vec![0.25, 1.0, 25.0];
        let spread = HistogramOpts::new("any", "any").buckets(bounds);
        let spread = Histogram::with_opts(spread).unwrap();
        for value in [0.25, 0.5, 1.0, 30.0] {
            spread.observe(value);
        }
        it.spread(&[("of", "c")], &spread);
    });
    write("c", MetricType::GAUGE, "How full.", |it| it.value(&[], 0.5));
    write("d_total", MetricType::COUNTER, "What never happened.", |_| {});
    let expected = r#"# HELP a_total How often.
# TYPE a_total counter
a_total{of="a \"b\"\\",by="c"} 3
a_total{of="d",by="c"} 4503599627370497
# HELP b_seconds How long.
# TYPE b_seconds histogram
b_seconds_bucket{of="c",le="0.25"} 1
b_seconds_bucket{of="c",le="1"} 3
b_seconds_bucket{of="c",le="25"} 3
b_seconds_bucket{of="c",le="+Inf"} 4
b_seconds_sum{of="c"} 31.75
b_seconds_count{of="c"} 4
# HELP c How full.
# TYPE c gauge
c 0.5
# HELP d_total What never happened.
# TYPE d_total counter
"#;
    assert_eq!(page, expected);
}
