//! For how long an org keeps payloads, as an operator sets it.

use crate::house::House;

#[tokio::test]
async fn an_operator_sets_for_how_long_payloads_are_kept() {
    let Some(house) = House::new("").await else { return };
    let set = async |days: &str| {
        let words = ["org", "set", "--retention-days", days, "--org", &house.org];
        let output = house.verbs.output(&words).await;
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    let (code, said) = set("30").await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("keeps payloads for 30 days, deed "), "{said}");
    let kept = "select retention_days::bigint from org_settings";
    assert_eq!(house.control.count(kept).await, 30);
    let deeds = house.deeds().await;
    let last = deeds.last().unwrap().json();
    assert_eq!(last["admin"]["event"], "org.updated");
    assert!(said.contains(last["id"].as_str().unwrap()), "{said}");
    for wrong in ["0", "3651", "many"] {
        let (code, said) = set(wrong).await;
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("--retention-days"), "{said}");
    }
    assert!(set("3651").await.1.contains("1..=3650"), "the range is said");
    let (code, said) = set("30").await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("kept for that long already"), "{said}");
    assert_eq!(house.control.count(kept).await, 30);
}
