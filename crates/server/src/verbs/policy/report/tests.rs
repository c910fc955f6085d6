//! What reports look like.

use super::*;

#[test]
fn a_report_is_xml_whatever_its_names_hold() {
    let fails = Outcome::Failed("a < b && \"c\"\n\u{1}".to_owned());
    let report = Report {
        lines: Vec::new(),
        json: Value::Null,
        name: "refunds & more".to_owned(),
        cases: vec![
            Case { name: "small".to_owned(), outcome: Outcome::Fine },
            Case { name: "large".to_owned(), outcome: fails },
        ],
    };
    let xml = report.junit();
    assert!(xml.contains("name=\"refunds &amp; more\" tests=\"2\" failures=\"1\" skipped=\"0\""));
    assert!(xml.contains("message=\"a &lt; b &amp;&amp; &quot;c&quot;&#10;?\""), "{xml}");
}
