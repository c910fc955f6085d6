// Checks deeds offline, as docs/deed-format.md says: in Node 20 from the command line, in a browser
// from index.html. Needs nothing but WebCrypto.
//
//     node verify.mjs FILE [--keys KEYS.JSON] [--known-checkpoint NOTE] [--expected-size N]
//                     [--archived FILE]...
//     node verify.mjs --vectors docs/vectors    prints what each published case comes to
import { fill, isArchived, readArchive } from "./archives.mjs";
import { Report, checkDeed } from "./deeds.mjs";
import { RULES, fits, frame, fromUtf8, need, parse, readKeys, utf8 } from "./formats.mjs";
import { notShown } from "./intents.mjs";
import { checkEvidence, checkLog } from "./logs.mjs";

/**
 * Returns the verdict, the grade, how each check that did not pass came out, the deeds, the places
 * of those whose signed intents are not shown, and those of archived deeds: from one up to another,
 * and whether a checkpoint vouches for them.
 */
async function verify(bytes, { keys = null, note = null, size = null, archive = new Map() } = {}) {
  const [report, trust, deeds] = [new Report(), { keys, note, size }, []];
  const input = await report.check("input", () => readInput(bytes));
  const nothing = { grade: null, checks: { input: "failed" }, deeds, hidden: [], archived: [] };
  if (!input) return { verdict: "malformed", ...nothing };
  const frames = input.file ? input.frames : fill(input.frames, archive);
  if (frames.every(isArchived)) return { verdict: "malformed", ...nothing };
  if (input.file) {
    deeds.push(...(await checkEvidence(input.file, frames, trust, report)));
  } else {
    const parts = [];
    for (const part of frames) {
      parts.push(isArchived(part) ? part : await checkDeed(part, keys, report));
    }
    if (!parts.includes(undefined)) await checkLog(parts, trust, report);
    for (const part of parts) if (!isArchived(part)) deeds.push(part);
  }
  const rows = required(input.file, deeds.filter(Boolean), trust);
  report.require({ ...rows, archived: frames.some(isArchived) });
  // Where something is at fault, what rests on it did not have to run.
  if (report.size === 0) for (const name of report.missing) report.open(name);
  const names = Object.keys(RULES.checks).filter((name) => report.has(name));
  const status = [null, "undecided", "failed"];
  const worst = Math.max(0, ...report.values());
  return {
    verdict: ["valid", "undecidable", "invalid"][worst],
    grade: [null, "signed", "chained", "checkpointed"][worst === 0 ? report.grade : 0],
    checks: Object.fromEntries(names.map((name) => [name, status[report.get(name)]])),
    deeds: deeds.filter(Boolean),
    hidden: notShown(input.file, deeds.filter(Boolean)),
    archived: report.archived.map(([from, to, proved]) => [from, to, proved && worst === 0]),
  };
}

/** Returns the frame of a deed, or the line itself where it stands for archived deeds. */
function readLine(value) {
  if (value?.object !== "archived_deeds") return frame(value);
  need(fits("@archived", value) && value.from < value.to);
  return value;
}

/** Returns the file of evidence, if it is one, and the deeds' frames and archived parts. */
function readInput(bytes) {
  const text = fromUtf8(bytes);
  let value;
  try {
    value = parse(text);
  } catch {
    const lines = text.split("\n").filter((line) => !/^[ \t\r]*$/.test(line));
    need(lines.length > 0);
    return { frames: lines.map((line) => readLine(parse(line))) };
  }
  if (value?.object !== "evidence") return { frames: [readLine(value)] };
  const file = { intents: [], ...value };
  need(fits("@evidence", file) && file.deeds.length > 0);
  return { file, frames: file.deeds.map(frame) };
}

/** Returns which rows of the table of required checks are about an input as a whole. */
function required(file, deeds, { note, size }) {
  const several = deeds.length > 1;
  return {
    input: true,
    several,
    chain: several && !file,
    beginning: !file && deeds[0]?.seq === 0,
    amendment: deeds.some((deed) => deed.kind === "amendment"),
    disclosures: file?.disclosures.length > 0,
    evidence: file,
    intents: file?.intents.length > 0,
    checkpoint: note !== null,
    size: size !== null,
  };
}

/** Tells of archived deeds in a line; what is proved of them, where the verdict is valid. */
function archivedLine([from, to, proved], grade) {
  const shown = proved ? "proved by the tree of a checkpoint" : "no checkpoint vouches for them";
  return `deeds ${from} to ${to - 1}: archived${grade ? `; ${shown}` : ""}`;
}

export { verify };

// The command line.

async function runVectors(folder, read) {
  for (const name of ["valid.jsonl", "refused.jsonl"]) {
    for (const line of read(`${folder}/${name}`).trimEnd().split("\n")) {
      const told = JSON.parse(line);
      const published = told.keys === "keys.json";
      const text = published ? read(`${folder}/keys.json`) : JSON.stringify(told.keys);
      const keys = told.keys && (await readKeys(parse(text)));
      const trust = { keys, note: told.known_checkpoint, size: told.expected_size };
      const { verdict, grade, checks, ...rest } = await verify(utf8(told.input), trust);
      const found = { name: told.name, verdict, grade, checks: Object.keys(checks) };
      const [not_shown, archived] = [rest.hidden, rest.archived];
      console.log(JSON.stringify({ ...found, not_shown, archived }));
    }
  }
}

async function main() {
  const { readFileSync } = await import("node:fs");
  const { parseArgs } = await import("node:util");
  const text = { type: "string" };
  const options = { keys: text, "known-checkpoint": text, "expected-size": text, vectors: text,
    archived: { ...text, multiple: true } };
  const { values: asked, positionals } = parseArgs({ options, allowPositionals: true });
  const read = (path) => fromUtf8(readFileSync(path));
  if (asked.vectors) return runVectors(asked.vectors, read);
  const [keyFile, noteFile, size] = [asked.keys, asked["known-checkpoint"], asked["expected-size"]];
  if (positionals.length !== 1) throw new Error("expected a FILE, or --vectors and a folder");
  if (/\D/.test(size ?? "0")) throw new Error("expected a whole number after --expected-size");
  const deeds = readFileSync(positionals[0]);
  const keys = keyFile ? await readKeys(parse(read(keyFile))) : null;
  const trust = { keys, note: noteFile ? read(noteFile) : null, size: size ? Number(size) : null };
  const archive = new Map();
  for (const path of asked.archived ?? []) readArchive(readFileSync(path), path, archive);
  const told = await verify(deeds, { ...trust, archive });
  const { verdict, grade, checks, hidden, archived } = told;
  console.log(grade ? `${verdict} (grade: ${grade})` : verdict);
  for (const [name, status] of Object.entries(checks)) {
    console.log(`  ${name} ${status}: ${RULES.checks[name]}`);
  }
  for (const seq of hidden) console.log(`  deed ${seq}: what its agent signed is not shown`);
  for (const part of archived) console.log(`  ${archivedLine(part, grade)}`);
  process.exitCode = ["valid", "invalid", "usage", "undecidable", "malformed"].indexOf(verdict);
}

if (globalThis.process?.argv[1]?.endsWith("verify.mjs")) {
  await main().catch((error) => {
    console.error(`nothing was judged: ${error.message}`);
    process.exitCode = 2;
  });
}
