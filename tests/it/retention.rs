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
    assert!(said.contains(" is at revision 2, deed "), "{said}");
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
    assert!(said.contains("the org already has these settings"), "{said}");
    assert_eq!(house.control.count(kept).await, 30);
}

#[tokio::test]
async fn an_operator_sets_how_an_org_is_run() {
    let Some(house) = House::new("").await else { return };
    let set = async |words: &[&str]| {
        let words = [&["org", "set", "--org", &house.org], words].concat();
        let output = house.verbs.output(&words).await;
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    let (code, said) = set(&[
        "--name",
        "Acme Trading",
        "--time-zone",
        "Asia/Tokyo",
        "--approvals-expire-in",
        "90m",
        "--require-other-person",
        "true",
    ])
    .await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(" Acme Trading is at revision 2, deed "), "{said}");
    let kept =
        "select answer_seconds from org_settings where require_other_person and revision = 2";
    assert_eq!(house.control.count(kept).await, 5_400);
    let holds = "select count(*) from org_name natural join org where name = 'Acme Trading'";
    assert_eq!(house.control.count(holds).await, 1);
    assert_eq!(set(&["--no-approvals-expire-in"]).await.0, Some(0));
    let unsaid = "select count(*) from org_settings where answer_seconds is null and revision = 3";
    assert_eq!(house.control.count(unsaid).await, 1);
    for wrong in [&["--time-zone", "Nowhere"][..], &["--approvals-expire-in", "5s"], &[]] {
        let (code, said) = set(wrong).await;
        assert_eq!(code, Some(2), "{said}");
    }
}
