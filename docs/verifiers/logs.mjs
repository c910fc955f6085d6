// Judges logs and files of evidence: order, checkpoints, lists and proofs.
import { begin, end, hasItsSubtrees, isArchived, last, rootsOf } from "./archives.mjs";
import { checkDeed, checkTogether, refuses } from "./deeds.mjs";
import {
  EVIDENCE, MAX, digest, fits, frame, hex, need, pae, parseCanonical, readKeys, sha256, signs,
  spelled, unbase64, unhex, utf8,
} from "./formats.mjs";
import { checkIntents } from "./intents.mjs";
import { climb, grew, leaf } from "./trees.mjs";

/** Judges deeds, and the lines that stand for archived ones, as a part of their log. */
async function checkLog(parts, { keys, note, size }, report) {
  const [deeds, archived] = [parts.filter((part) => !isArchived(part)), parts.filter(isArchived)];
  const first = deeds[0];
  report.grade = parts.length > 1 ? 2 : 1;
  const genesis = await digest(utf8(`service.deed.genesis.v1\n${first.log}\n`));
  const follow = parts.slice(1).map((part, place) => [parts[place], part]);
  const linked = ([before, part]) => isArchived(part) || part.prev === last(before);
  report.judge({
    sequence: follow.every(([before, part]) => begin(part) === end(before)),
    prev: follow.every(linked) && (first.seq > 0 || first.prev === genesis),
    size: [null, end(parts.at(-1))].includes(size),
  });
  await checkTogether(deeds, report, archived);
  const sound = archived.length === 0 || !report.has("sequence");
  const rootsAt = (sizes) => (sound ? rootsOf(parts, sizes) : undefined);
  const trust = { keys, rootsAt };
  let vouched = archived.length > 0 ? await checkArchived(archived, first.log, trust, report) : 0;
  const known = await openKnown(keys, note, report);
  if (known) {
    const roots = await rootsAt(new Set([known.size]));
    const alone = parts.length === 1 && archived.length === 0 && known.size !== 1;
    const divided = archived.some(({ from, to }) => from < known.size && known.size < to);
    const [same, held] = [known.origin === first.log, roots?.get(known.size) === known.root];
    if (same && (alone || divided || !roots)) report.open("root");
    else report.judge({ root: same && held });
    if (held && !report.has("root")) {
      vouched = Math.max(vouched, known.size);
      if (known.size > 0) report.grade = 3;
      if (archived.some(({ to }) => to > vouched)) report.open("root");
    }
  }
  report.archived = archived.map(({ from, to }) => [from, to, to <= vouched]);
  if (report.archived.some(([, , proved]) => !proved)) report.grade = 1;
}

/**
 * Judges the lines of archived deeds, and returns the size up to which a checkpoint beside them
 * vouches for what they say. One that no trusted key signed is left aside.
 */
async function checkArchived(archived, log, { keys, rootsAt }, report) {
  const vouched = await report.check("archived", async () => {
    need(archived.every((part) => part.log === log && hasItsSubtrees(part)));
    const heads = [];
    for (const part of archived) {
      const head = await signedBeside(part, keys);
      need(!head || (head.origin === log && head.size >= part.to));
      if (head) heads.push(head);
    }
    const sizes = new Set(heads.map(({ size }) => size));
    const roots = (await rootsAt(sizes)) ?? new Map();
    need(heads.every(({ size, root }) => [undefined, root].includes(roots.get(size))));
    return [...sizes].reduce((most, size) => (roots.has(size) ? Math.max(most, size) : most), 0);
  });
  return vouched ?? 0;
}

/** Returns what the checkpoint beside archived deeds says, if a trusted key signed it. */
async function signedBeside({ checkpoint }, keys) {
  if (keys === null || checkpoint === null) return undefined;
  return openCheckpoint(checkpoint, keys).catch(() => undefined);
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

export { checkEvidence, checkLog };
