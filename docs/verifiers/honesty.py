"""What a deed may not claim: the honesty rules of docs/deed-format.md, by their names."""
from formats import canonical


def run_rules(run, seen):
    """The honesty rules of a run and of what the witness made of it."""
    if run:
        result = run["result"] or run["result_digest"]
        yield "run_ended", run["status"] != "running"
        yield "success_without_error", run["status"] != "succeeded" or not (
            run["error_code"] or run["error_message"])
        yield "unattested_unknown", run["attestation"] or (run["status"] == "unknown" and not result)
        yield "one_result", not (run["result"] and run["result_digest"])
    if seen:
        kinds = [source["type"] for source in seen["sources"]]
        evidence = {"L1": "read_back", "L2": "change_log"}
        level = {"read_back": "L1", "change_log": "L2", "undo_footprint": "L2"}
        yield "method_fits_level", seen["level"] == level.get(seen["method"], "L0")
        yield "verified_by_evidence", (seen["verdict"] != "VERIFIED" or seen["level"] == "L0"
                                       or evidence[seen["level"]] in kinds)
        yield "nothing_verifies_nothing", (
            seen["method"] != "none" or seen["verdict"] == "UNVERIFIABLE")
    if run and seen:
        by = {"reported": "gateway_executed", "edge_reported": "edge_claimed"}
        yield "unknown_unverifiable", (
            run["status"] != "unknown" or seen["verdict"] == "UNVERIFIABLE")
        yield "edge_claim_l0", run["attestation"] == "gateway_executed" or seen["level"] == "L0"
        yield "method_fits_attestation", (
            by.get(seen["method"], run["attestation"]) == run["attestation"])


def rules(body):
    """Every honesty rule that applies to the body, and whether it holds."""
    content = body[body["kind"]]
    if body["kind"] == "admin":
        yield "data_bounded", len(canonical(content["data"])) <= 4096
    if body["kind"] == "amendment":
        changes = content["changes"]
        yield "counted", content["n"] >= 1
        yield "something_changed", changes["execution"] or changes["witness"]
        yield from run_rules(changes["execution"], changes["witness"])
        yield "amends_earlier", content["amends"]["seq"] < body["seq"]
    if body["kind"] != "action":
        return
    decision, approval, intent, status = (
        content[name] for name in ("decision", "approval", "intent", "status"))
    ran, outcome, unknown = (
        content["execution"], decision["outcome"], decision["code"] == "tool_unknown")
    yield "deny_ends", outcome != "deny" or (status == "denied" and not approval)
    yield "allow_runs", outcome != "allow" or (ran and not approval)
    yield "approval_asked", outcome != "require_approval" or approval
    if approval:
        said = [vote["decision"] for vote in approval["decisions"]]
        ends = {"approved": "ran", "cancelled": "cancelled", "pending": "never"}
        yield "approval_fits_ending", (
            ends.get(approval["status"], "denied") == ("ran" if ran else status))
        yield "person_decided", (set(said) == {"approve"} if approval["status"] == "approved"
                                 else "deny" in said or approval["status"] != "denied")
    yield "rule_named", decision["source"] != "rule" or decision["rule_id"]
    yield "no_name_denied", isinstance(content["tool"], str) or unknown
    yield "unknown_tool_denied", not unknown or outcome == "deny"
    mode = {"verified": ("optional", "required"), "ignored": ("off",), "absent": ("off", "optional")}
    yield "intent_fits_mode", (intent["mode"] in mode[intent["status"]]
                               and bool(intent["jws"]) == (intent["status"] == "verified"))
    other = {"gateway": "edge_claimed", "proxy": "gateway_executed"}[content["mode"]]
    yield "mode_fits_attestation", not ran or ran["attestation"] != other
    yield "agent_on_action", (body["actor"]["type"] == "agent"
                              and body["subject"] == {"type": "action", "id": content["id"]})
    yield from run_rules(ran, content["witness"])
