// The checks of several deeds: as a part of their log, and as a file of evidence.
import { FAILED, OPEN, checkDeed, frame, refuses } from "./deeds.mjs";
import { EVIDENCE, canonical, digest, fits, fromDigest, fromUtf8, hex, need, openCheckpoint, pae, parse, readKeys, unbase64, utf8, verifies, written } from "./formats.mjs";
import { brokenByRun } from "./honesty.mjs";
import { climb, grow, leaf, rootOf } from "./tree.mjs";

const pairsOf = (deeds) => deeds.slice(1).map((deed, place) => [deeds[place], deed]);

/** The checks of deeds of one log that need not follow each other. */
async function checkTogether(deeds, checks) {
  const inTime = pairsOf(deeds).every(([before, after]) => before.issued_at <= after.issued_at);
  checks.ensure("log", new Set(deeds.map((deed) => `${deed.log} ${deed.org}`)).size === 1, "two logs");
  checks.ensure("time", inTime, "a deed is issued before the one before it");
  checks.ensure("unique", new Set(deeds.map((deed) => deed.id)).size === deeds.length, "an id twice");
  await checks.attempt("amends", () => checkAmendments(deeds));
}

function checkAmendments(deeds) {
  const [before, views] = [new Map(), new Map()];
  for (const deed of deeds) {
    const { action, amendment } = deed;
    if (action?.execution) views.set(deed.seq, [action.execution, action.witness]);
    const first = before.get(amendment?.amends.seq);
    if (first) {
      const { amends, changes } = amendment;
      const same = amends.id === first.id && amends.digest === first.digest;
      need(same && written(deed.subject) === written(first.subject), "it names another deed");
      need(views.has(first.seq), "that action did not run");
      const [execution, witness] = views.get(first.seq);
      const view = [changes.execution ?? execution, changes.witness ?? witness];
      need(brokenByRun(...view).length === 0, "what it leaves is dishonest");
      views.set(first.seq, view);
    }
    before.set(deed.seq, deed);
  }
}

/** The checks of deeds as a part of their log. */
export async function checkLog(deeds, { keys, note, size }, checks) {
  checks.shown(deeds.length > 1 ? 2 : 1);
  const [first, pairs] = [deeds[0], pairsOf(deeds)];
  const genesis = await digest(utf8(`service.deed.genesis.v1\n${first.log}\n`));
  checks.ensure("prev", first.seq > 0 || first.prev === genesis, "no genesis digest");
  checks.ensure("prev", pairs.every(([a, b]) => b.prev === a.digest), "a link is broken");
  checks.ensure("sequence", pairs.every(([a, b]) => b.seq === a.seq + 1), "a gap");
  await checkTogether(deeds, checks);
  checks.ensure("size", [null, deeds.at(-1).seq + 1].includes(size), "another number of deeds");
  const known = note === null ? undefined : await openKnown(note, keys, checks);
  if (!known) return;
  if (first.log !== known.origin) return checks.note("root", FAILED, "the checkpoint is of another log");
  if (first.seq > 0 || (deeds.length === 1 && known.size !== 1)) {
    return checks.note("root", OPEN, "the checkpoint needs the log from its first deed on");
  }
  const leaves = await Promise.all(deeds.slice(0, known.size).map((deed) => leaf(deed.digest)));
  const same = deeds.length >= known.size && hex(await rootOf(leaves)) === known.root;
  if (checks.ensure("root", same, "another root, or a tail that was cut") && known.size > 0) checks.shown(3);
}

function openKnown(note, keys, checks) {
  if (keys === null) return checks.note("checkpoint", OPEN, "no keys were given");
  return checks.attempt("checkpoint", () => openCheckpoint(note, keys));
}

/** The checks of a file of evidence. */
export async function checkEvidence(file, items, trust, checks) {
  const keys = trust.keys ?? (await checks.attempt("key", () => readKeys(file.keys)));
  if (!keys) return;
  if (!trust.keys) checks.note("key", OPEN, "no keys were given, and the file's own prove nothing");
  const opened = [...file.disclosures];
  const take = (id) => {
    const place = opened.findIndex((entry) => entry.deed === id);
    return place < 0 ? [] : opened.splice(place, 1)[0].disclosures;
  };
  const deeds = [];
  for (const item of items) deeds.push(await checkDeed(item, keys, take, checks));
  checks.ensure("disclosures", opened.length === 0, "what opens a deed that is not here");
  if (deeds.includes(undefined)) return;
  checks.shown(1);
  await checkTogether(deeds, checks);
  const told = await checkList(file, deeds, keys, checks);
  if (!told) return;
  const asOf = { origin: told.log, size: told.as_of.size, root: told.as_of.root.slice(7) };
  await checks.attempt("inclusion", () => checkProofs(file, deeds, keys, asOf));
  checks.ensure("size", [null, asOf.size].includes(trust.size), "another number of deeds");
  const known = trust.note === null ? undefined : await openKnown(trust.note, trust.keys, checks);
  if (!known) return;
  const path = file.consistency.find((entry) => entry.from === known.size)?.path;
  if (!path && known.size !== asOf.size) return checks.note("root", OPEN, "no proof from the known checkpoint");
  await checks.attempt("root", async () => {
    need(known.origin === asOf.origin && known.size > 0 && known.size <= asOf.size, "another log, or later");
    const oldRoot = fromDigest(`sha256:${known.root}`);
    const [before, now] = await grow(known.size, asOf.size, (path ?? []).map(fromDigest), oldRoot);
    need(hex(before) === known.root && hex(now) === asOf.root, "it did not grow from the known one");
    checks.shown(3);
  });
}

/** Returns the signed list if it names exactly these deeds. */
async function checkList(file, deeds, keys, checks) {
  const read = await checks.attempt("manifest", () => {
    const item = frame(file.manifest);
    const text = fromUtf8(item.payload);
    const told = parse(text);
    need(fits("@manifest", told) && canonical(told) === text, "no list");
    return { item, told };
  });
  if (!read) return undefined;
  const { item, told } = read;
  const key = keys.get(told.key_id);
  if (!key) return checks.note("manifest", OPEN, "the list's key is not among those that were given");
  return checks.attempt("manifest", async () => {
    need(item.type === EVIDENCE && item.kid === told.key_id, "of another type or key");
    need(!refuses(key, told.issued_at), "the key does not count");
    need(await verifies(key.point, pae(item.type, item.payload), item.signature), "not signed");
    const here = deeds.map(({ id, seq, digest }) => ({ id, seq, digest }));
    need(written(told.deeds) === written(here), "it names other deeds");
    const inOrder = pairsOf(deeds).every(([a, b]) => a.seq <= b.seq) && deeds.at(-1).seq < told.as_of.size;
    need(inOrder, "not in the order of the log");
    need(deeds.every((deed) => deed.log === told.log && deed.org === told.org), "of another log");
    const amendments = deeds.filter((deed) => deed.amendment).map((deed) => deed.amendment);
    const places = new Set(amendments.map(({ amends, n }) => `${amends.id} ${n}`));
    const complete = amendments.every(({ amends, n }) => n <= 1 || places.has(`${amends.id} ${n - 1}`));
    need(complete, "an amendment is left out");
    return told;
  });
}

async function checkProofs(file, deeds, keys, asOf) {
  need(file.proofs.length === deeds.length, "expected one proof for each deed");
  for (const [place, deed] of deeds.entries()) {
    const text = file.proofs[place];
    const gap = text.indexOf("\n\n");
    const [name, index, ...path] = text.slice(0, gap).split("\n");
    need(gap > 0 && name === "c2sp.org/tlog-proof@v1" && index === `index ${deed.seq}`, "no such proof");
    const hashes = path.map((line) => unbase64(line));
    need(hashes.length <= 63 && hashes.every((hash) => hash.length === 32), "no path");
    const signed = await openCheckpoint(text.slice(gap + 2), keys);
    need(written(signed) === written(asOf), "the proof is of another tree than the list");
    const root = await climb(await leaf(deed.digest), deed.seq, asOf.size, hashes);
    need(hex(root) === asOf.root, "the proof does not lead to the root");
  }
}
