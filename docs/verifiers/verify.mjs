// Checks deeds offline, as docs/deed-format.md says: in Node 20 from the command line, in a browser
// from index.html.
//
//     node verify.mjs FILE [--keys KEYS.JSON] [--known-checkpoint NOTE] [--expected-size N]
//     node verify.mjs --vectors docs/vectors    prints what each published case comes to
import { CHECKS, Checks, checkDeed, frame } from "./deeds.mjs";
import { fits, fromUtf8, need, parse, readKeys, unbase64, utf8 } from "./formats.mjs";
import { checkEvidence, checkLog } from "./logs.mjs";

function readItem(value) {
  if (value !== null && typeof value === "object" && !("object" in value)) {
    need(fits("@envelope", value), "no envelope");
    return frame(value);
  }
  need(fits("@form", value), "no deed in its API form");
  const { payload, payload_type: type, signature, disclosures: open } = value;
  const parts = { kid: signature.key_id, signature: unbase64(signature.value), open };
  return { type, payload: unbase64(payload), form: value, ...parts };
}

/** Returns the file of evidence, if it is one, and the frames of the deeds. */
function readInput(bytes) {
  const text = fromUtf8(bytes);
  let value;
  try {
    value = parse(text);
  } catch {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    need(lines.length > 0, "the input is empty");
    return { items: lines.map((line) => readItem(parse(line))) };
  }
  if (value?.object !== "evidence") return { items: [readItem(value)] };
  need(fits("@evidence", value) && value.deeds.length > 0, "no file of evidence");
  return { file: value, items: value.deeds.map(frame) };
}

/** Returns the verdict, the grade, what did not pass with the reason in order, and the deeds. */
export async function verify(bytes, { keys = null, note = null, size = null } = {}) {
  const checks = new Checks();
  const trust = { keys, note, size };
  let input;
  try {
    input = readInput(bytes);
  } catch (error) {
    return { verdict: "malformed", grade: null, checks: [["input", error.message]], deeds: [] };
  }
  if (input.file) {
    await checkEvidence(input.file, input.items, trust, checks);
  } else {
    const deeds = [];
    for (const item of input.items) deeds.push(await checkDeed(item, keys, () => [], checks));
    if (!deeds.includes(undefined)) await checkLog(deeds, trust, checks);
  }
  const worst = Math.max(0, ...[...checks.found.values()].map((found) => found.status));
  return {
    verdict: ["valid", "undecidable", "invalid"][worst],
    grade: worst === 0 ? [null, "signed", "chained", "checkpointed"][checks.grade] : null,
    checks: CHECKS.filter((name) => checks.found.has(name)).map((name) => [name, checks.found.get(name).why]),
    deeds: checks.deeds,
  };
}

async function runVectors(folder, read) {
  const published = await readKeys(parse(read(`${folder}/keys.json`)));
  for (const name of ["valid.jsonl", "refused.jsonl"]) {
    for (const line of read(`${folder}/${name}`).trimEnd().split("\n")) {
      const told = JSON.parse(line);
      const keys = told.keys === "keys.json" ? published : told.keys && (await readKeys(told.keys));
      const trust = { keys, note: told.known_checkpoint, size: told.expected_size };
      const { verdict, grade, checks } = await verify(utf8(told.input), trust);
      console.log(JSON.stringify({ name: told.name, verdict, grade, checks: checks.map(([check]) => check) }));
    }
  }
}

async function main() {
  const { readFileSync } = await import("node:fs");
  const { parseArgs } = await import("node:util");
  const text = { type: "string" };
  const options = { keys: text, "known-checkpoint": text, "expected-size": text, vectors: text };
  const { values: asked, positionals } = parseArgs({ options, allowPositionals: true });
  const read = (path) => readFileSync(path, "utf8");
  if (asked.vectors) return runVectors(asked.vectors, read);
  const keys = asked.keys ? await readKeys(parse(read(asked.keys))) : null;
  const note = asked["known-checkpoint"] ? read(asked["known-checkpoint"]) : null;
  const size = asked["expected-size"] ? Number(asked["expected-size"]) : null;
  const { verdict, grade, checks } = await verify(readFileSync(positionals[0]), { keys, note, size });
  console.log([verdict, grade].filter(Boolean).join(" "));
  for (const [name, why] of checks) console.log(`  ${name}: ${why}`);
  process.exitCode = ["valid", "invalid", "usage", "undecidable", "malformed"].indexOf(verdict);
}

if (globalThis.process?.argv[1]?.endsWith("verify.mjs")) await main();
