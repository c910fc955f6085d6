//! Cells that nobody may mistake for a formula or a second cell.

use super::*;

#[test]
fn a_cell_is_never_a_formula_and_never_two_cells() {
    let entry = json!({
        "id": "evt_1", "seq": 7, "livemode": true, "tool": "=cmd|'/c calc'!A1",
        "actor": { "kind": "agent", "id": "agt_1", "name": "a \"b\",\nc" }, "summary": "-2+3",
        "subject": null, "deed": null,
    });
    let line = ExportForm::Csv.line(&entry);
    assert_eq!(
        line,
        "\"evt_1\",\"7\",\"\",\"true\",\"\",\"\",\"agent\",\"agt_1\",\"a \"\"b\"\",\nc\",\"\",\"\",\
         \"'=cmd|'/c calc'!A1\",\"'-2+3\",\"\"\r\n"
    );
    for sign in ["=1", "+1", "-1", "@a", "\t=1", "\r=1"] {
        assert!(quoted(sign).starts_with("\"'"), "{sign:?}");
    }
}

#[test]
fn every_line_has_every_column_and_the_last_one_tells_that_it_is_whole() {
    let sum = crypto::sha256("lines");
    for line in [ExportForm::Csv.head(), ExportForm::Csv.last(3, sum)] {
        assert_eq!(line.matches("\",\"").count(), COLUMNS.len() - 1, "{line}");
    }
    assert!(
        ExportForm::Csv.last(3, sum).starts_with(&format!("\"ledger_export\",\"3\",\"{sum}\""))
    );
}
