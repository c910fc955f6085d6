// What a deed may not claim: the honesty rules of docs/deed-format.md, by their names.
import { canonical, utf8 } from "./formats.mjs";

/** Returns the names of the rules that a run and what the witness made of it break. */
export function brokenByRun(run, seen) {
  const rules = [];
  if (run) {
    const result = run.result || run.result_digest;
    rules.push(
      ["run_ended", run.status !== "running"],
      ["success_without_error", run.status !== "succeeded" || !(run.error_code || run.error_message)],
      ["unattested_unknown", run.attestation || (run.status === "unknown" && !result)],
      ["one_result", !(run.result && run.result_digest)],
    );
  }
  if (seen) {
    const levels = { read_back: "L1", change_log: "L2", undo_footprint: "L2" };
    const evidence = { L1: "read_back", L2: "change_log" }[seen.level];
    const shown = !evidence || seen.sources.some((source) => source.type === evidence);
    rules.push(
      ["method_fits_level", seen.level === (levels[seen.method] ?? "L0")],
      ["verified_by_evidence", seen.verdict !== "VERIFIED" || shown],
      ["nothing_verifies_nothing", seen.method !== "none" || seen.verdict === "UNVERIFIABLE"],
    );
  }
  if (run && seen) {
    const by = { reported: "gateway_executed", edge_reported: "edge_claimed" }[seen.method];
    rules.push(
      ["unknown_unverifiable", run.status !== "unknown" || seen.verdict === "UNVERIFIABLE"],
      ["edge_claim_l0", run.attestation === "gateway_executed" || seen.level === "L0"],
      ["method_fits_attestation", !by || by === run.attestation],
    );
  }
  return broken(rules);
}

/** Returns the names of the rules that the deed's body breaks. */
export function brokenBy(body) {
  const content = body[body.kind];
  if (body.kind === "admin") {
    return broken([["data_bounded", utf8(canonical(content.data)).length <= 4096]]);
  }
  if (body.kind === "amendment") {
    const { execution, witness } = content.changes;
    const rules = [
      ["counted", content.n >= 1],
      ["something_changed", execution || witness],
      ["amends_earlier", content.amends.seq < body.seq],
    ];
    return [...broken(rules), ...brokenByRun(execution, witness)];
  }
  return [...broken(actionRules(body, content)), ...brokenByRun(content.execution, content.witness)];
}

function actionRules(body, { decision, approval, intent, status, execution, ...action }) {
  const { outcome } = decision;
  const unknown = decision.code === "tool_unknown";
  const said = approval?.decisions.map((vote) => vote.decision) ?? [];
  const ends = { approved: "ran", cancelled: "cancelled", pending: "never" }[approval?.status] ?? "denied";
  const person = {
    approved: said.length > 0 && said.every((word) => word === "approve"),
    denied: said.includes("deny"),
  };
  const modes = { verified: ["optional", "required"], ignored: ["off"], absent: ["off", "optional"] };
  const signed = Boolean(intent.jws) === (intent.status === "verified");
  const other = { gateway: "edge_claimed", proxy: "gateway_executed" }[action.mode];
  const { subject } = body;
  return [
    ["deny_ends", outcome !== "deny" || (status === "denied" && !approval)],
    ["allow_runs", outcome !== "allow" || (execution && !approval)],
    ["approval_asked", outcome !== "require_approval" || approval],
    ["approval_fits_ending", !approval || ends === (execution ? "ran" : status)],
    ["person_decided", person[approval?.status] ?? true],
    ["rule_named", decision.source !== "rule" || decision.rule_id],
    ["no_name_denied", typeof action.tool === "string" || unknown],
    ["unknown_tool_denied", !unknown || outcome === "deny"],
    ["intent_fits_mode", modes[intent.status].includes(intent.mode) && signed],
    ["mode_fits_attestation", execution?.attestation !== other],
    ["agent_on_action", body.actor.type === "agent" && subject.type === "action" && subject.id === action.id],
  ];
}

const broken = (rules) => rules.filter(([, holds]) => !holds).map(([name]) => name);
