// Judges logs and files of evidence: the tree of RFC 6962, checkpoints, lists and proofs.
import { checkDeed, checkTogether, refuses } from "./deeds.mjs";
import {
  EVIDENCE, MAX, digest, fits, frame, hex, need, pae, parseCanonical, readKeys, sha256, signs,
  spelled, unbase64, unhex, utf8,
} from "./formats.mjs";
import { checkIntents } from "./intents.mjs";

/** Judges deeds as a part of their log, in its order. */
async function checkLog(deeds, { keys, note, size }, report) {
  report.grade = deeds.length > 1 ? 2 : 1;
  const first = deeds[0];
  const genesis = await digest(utf8(`service.deed.genesis.v1\n${first.log}\n`));
  const before = [first.seq > 0 ? first.prev : genesis, ...deeds.map((deed) => deed.digest)];
  report.judge({
    sequence: deeds.every((deed, place) => deed.seq === first.seq + place),
    prev: deeds.every((deed, place) => deed.prev === before[place]),
    size: [null, deeds.at(-1).seq + 1].includes(size),
  });
  await checkTogether(deeds, report);
  const known = await openKnown(keys, note, report);
  if (!known) return;
  const part = first.seq > 0 || (deeds.length === 1 && known.size !== 1);
  if (known.origin === first.log && part) return report.open("root");
  const leaves = await Promise.all(deeds.slice(0, known.size).map((deed) => leaf(deed.digest)));
  const whole = { origin: first.log, size: leaves.length, root: hex(await rootOf(leaves)) };
  report.judge({ root: spelled(whole) === spelled(known) });
  if (known.size > 0) report.grade = 3;
}

/** Returns what the known checkpoint says, if there is one that counts. */
async function openKnown(keys, note, report) {
  if (note === null) return undefined;
  if (keys === null) return report.open("checkpoint");
  return report.check("checkpoint", () => openCheckpoint(note, keys));
}

/** Judges the deeds of a file of evidence, its signed list and its proofs. */
async function checkEvidence(file, frames, trust, report) {
  if (!trust.keys) report.open("key");
  const keys = trust.keys ?? (await report.check("key", () => readKeys(file.keys)));
  const deeds = [];
  if (!keys) return deeds;
  const left = [...file.disclosures];
  for (const each of frames) deeds.push(await checkDeed(each, keys, report, left));
  report.judge({ disclosures: left.length === 0 });
  if (!deeds.includes(undefined)) {
    report.grade = 1;
    await checkTogether(deeds, report);
    // What an intent says is held to what the disclosures open.
    if (!report.has("disclosures")) await checkIntents(file, deeds, report);
    const told = await checkList(file.manifest, deeds, keys, report);
    if (told) await checkTree({ file, told, deeds, keys }, trust, report);
  }
  return deeds;
}

/** Judges the proofs that the deeds, and the known checkpoint, are in the list's tree. */
async function checkTree({ file, told, deeds, keys }, trust, report) {
  const asOf = { origin: told.log, size: told.as_of.size, root: told.as_of.root.slice(7) };
  report.judge({ size: [null, asOf.size].includes(trust.size) });
  await report.check("inclusion", async () => {
    need(file.proofs.length === deeds.length);
    for (const [place, deed] of deeds.entries()) {
      await checkProof(deed, file.proofs[place], asOf, keys);
    }
  });
  const known = await openKnown(trust.keys, trust.note, report);
  if (!known) return;
  const entry = file.consistency.find(({ from }) => from === known.size);
  if (!entry && known.size !== asOf.size) return report.open("root");
  await report.check("root", async () => {
    need(known.origin === asOf.origin && known.size > 0 && known.size <= asOf.size);
    await grew(known, asOf, (entry?.path ?? []).map((text) => unhex(text.slice(7))));
    report.grade = 3;
  });
}

/** Refuses a proof that does not lead from the deed to the root of the list's checkpoint. */
async function checkProof(deed, text, asOf, keys) {
  const gap = text.indexOf("\n\n");
  const [name, index, ...path] = text.slice(0, gap).split("\n");
  need(gap > 0 && name === "c2sp.org/tlog-proof@v1" && index === `index ${deed.seq}`);
  const hashes = path.map((line) => unbase64(line));
  need(hashes.length <= 63 && hashes.every((hash) => hash.length === 32));
  need(spelled(await openCheckpoint(text.slice(gap + 2), keys)) === spelled(asOf));
  const [, root] = await climb(await leaf(deed.digest), deed.seq, asOf.size - 1, hashes);
  need(root === asOf.root);
}

/** Returns the signed list if it names exactly these deeds. */
async function checkList(manifest, deeds, keys, report) {
  const read = await report.check("manifest", () => {
    const framed = frame(manifest);
    const told = parseCanonical(framed.payload);
    need(fits("@manifest", told));
    return { ...framed, told, key: keys.get(told.key_id) };
  });
  if (!read?.key) return read && report.open("manifest");
  const { kind, payload, kid, signature, told, key } = read;
  return report.check("manifest", async () => {
    need(kind === EVIDENCE && kid === told.key_id && !refuses(key, told.issued_at));
    need(await signs(key, pae(kind, payload), signature));
    const here = deeds.map(({ id, seq, digest }) => ({ id, seq, digest }));
    need(spelled(told.deeds) === spelled(here));
    const places = [...deeds.map((deed) => deed.seq), told.as_of.size - 1];
    need(places.every((place, index) => index === 0 || places[index - 1] <= place));
    need(deeds.every((deed) => deed.log === told.log && deed.org === told.org));
    const amendments = deeds.flatMap((deed) => deed.amendment ?? []);
    const counted = new Set(amendments.map(({ amends, n }) => `${amends.id} ${n}`));
    need(amendments.every(({ amends, n }) => n <= 1 || counted.has(`${amends.id} ${n - 1}`)));
    return told;
  });
}

/** Returns origin, size and root of a checkpoint that a known key signed and none wrongly. */
async function openCheckpoint(note, keys) {
  const gap = note.lastIndexOf("\n\n");
  const [text, lines] = [note.slice(0, gap + 1), note.slice(gap + 2).split("\n")];
  need(gap >= 0 && lines.pop() === "" && lines.length >= 1 && lines.length <= 32);
  need(utf8(note).length <= 65536 && !/[\0-\t\v-\x1f]/.test(note));
  const [origin, size, root, end, ...rest] = text.split("\n");
  need(end === "" && rest.length === 0 && fits("@log", origin) && /^(0|[1-9]\d*)$/.test(size));
  need(Number(size) <= MAX && unbase64(root).length === 32);
  let known = false;
  for (const line of lines) {
    const parts = line.match(/^\u2014 ([^\p{White_Space}\p{Cc}+]+) (\S+)$/u);
    need(parts && unbase64(parts[2]).length > 4);
    const stamp = unbase64(parts[2]);
    for (const key of keys.values()) {
      const named = (await sha256(utf8(`${origin}\n\x01`), key.point)).slice(0, 4);
      const counts = key.purpose === "checkpoint" && key.revoked_at === null;
      if (!counts || parts[1] !== origin || hex(named) !== hex(stamp.slice(0, 4))) continue;
      need(await signs(key, utf8(text), stamp.slice(4)));
      known = true;
    }
  }
  need(known);
  return { origin, size: Number(size), root: hex(unbase64(root)) };
}

const node = (left, right) => sha256([1], left, right);
const leaf = (digest) => sha256([0], unhex(digest.slice(7)));
const half = (number) => Math.floor(number / 2);

/** Returns the root of the tree over these leaves. */
async function rootOf(leaves) {
  if (leaves.length < 2) return leaves[0] ?? sha256();
  let left = 1;
  while (left * 2 < leaves.length) left *= 2;
  return node(await rootOf(leaves.slice(0, left)), await rootOf(leaves.slice(left)));
}

/** Returns the roots of the older tree and the whole one that the path leads to (RFC 9162). */
async function climb(start, place, last, path) {
  let [older, whole] = [start, start];
  for (const sibling of path) {
    need(last > 0);
    if (place % 2 === 1 || place === last) {
      [older, whole] = [await node(sibling, older), await node(sibling, whole)];
      for (; place % 2 === 0 && place > 0; last = half(last)) place = half(place);
    } else {
      whole = await node(whole, sibling);
    }
    [place, last] = [half(place), half(last)];
  }
  need(last === 0);
  return [hex(older), hex(whole)];
}

/** Refuses a path that does not show that the old tree is the beginning of the other. */
async function grew(old, whole, path) {
  if (old.size === whole.size) return need(path.length === 0 && old.root === whole.root);
  let [start, place, last] = [unhex(old.root), old.size - 1, whole.size - 1];
  for (; place % 2 === 1; last = half(last)) place = half(place);
  if (place > 0) {
    // The old size is no power of two: the path begins with the old tree's last full subtree.
    need(path.length > 0);
    [start, ...path] = path;
  }
  need(spelled(await climb(start, place, last, path)) === spelled([old.root, whole.root]));
}

export { checkEvidence, checkLog };
