// Reads and judges archived deeds: the lines that stand for them, and files that have them. Such a
// file has lines of deeds, or is the plain dump of a partition as `pg_dump` writes it.
import {
  DEED, fits, frame, fromUtf8, hex, isObject, need, parse, spelled, unhex, utf8,
} from "./formats.mjs";
import { Tree, heights, leaf } from "./trees.mjs";

const ESCAPES = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };

const isArchived = (part) => part?.object === "archived_deeds";
const begin = (part) => (isArchived(part) ? part.from : part.seq);
const end = (part) => (isArchived(part) ? part.to : part.seq + 1);
/** Returns the digest of the deed, or of the last one that is archived. */
const last = (part) => (isArchived(part) ? part.last : part.digest);
const hasItsSubtrees = ({ subtrees, from, to }) =>
  subtrees.length === [...heights(from, to - 1)].length;

/**
 * Returns the roots at these sizes, as far as they are reached at the end of a line. Undefined
 * where the lines make no tree: they begin with another place than the first, or leave one out.
 */
async function rootsOf(parts, sizes) {
  const tree = new Tree();
  const roots = new Map([[0, hex(await tree.root())]]);
  if (begin(parts[0]) !== 0) return undefined;
  for (const part of parts) {
    if (isArchived(part)) {
      if (tree.size !== part.from || !hasItsSubtrees(part)) return undefined;
      for (const [place, height] of [...heights(part.from, part.to - 1)].entries()) {
        await tree.join(height, unhex(part.subtrees[place].slice(7)));
      }
    }
    await tree.join(0, await leaf(last(part)));
    if (sizes.has(tree.size)) roots.set(tree.size, hex(await tree.root()));
  }
  return roots;
}

/**
 * Adds the deeds of a file to an archive: a map of logs, each with the frames by their places.
 * Where the file has a table of deeds, it is a dump, and nothing else in it counts.
 */
function readArchive(bytes, name, archive) {
  const refuse = (why) => {
    throw new Error(`\`${name}\`: ${why}`);
  };
  if (spelled([...bytes.slice(0, 5)]) === spelled([...utf8("PGDMP")])) {
    refuse("expected a plain dump; `pg_restore --file - DUMP` writes one of this");
  }
  const lines = fromUtf8(bytes).split("\n").entries();
  const numbered = Array.from(lines, ([place, line]) => [place + 1, line]);
  const dumped = [...readDump(numbered)];
  const deeds = numbered.filter(([, line]) => line.trimStart().startsWith("{"));
  const found = dumped.length > 0 ? dumped : deeds;
  if (found.length === 0) {
    refuse("expected lines of deeds, or the plain dump of a table of deeds");
  }
  for (const [number, row] of found) {
    try {
      const line = isObject(row) ? null : parse(row);
      if (isArchived(line)) continue;
      const framed = line === null ? readRow(row) : frame(line);
      const { log, seq } = parse(fromUtf8(framed.payload));
      need(typeof log === "string" && Number.isInteger(seq));
      if (!archive.has(log)) archive.set(log, new Map());
      archive.get(log).set(seq, framed);
    } catch (error) {
      refuse(`line ${number} is no deed: ${error.message}`);
    }
  }
}

/** Yields the rows of the tables of deeds in a plain dump, each with its line's number. */
function* readDump(numbered) {
  let names = [];
  for (const [number, text] of numbered) {
    const line = text.replace(/\r$/, "");
    const copied = line.match(/^COPY \S+ \((.*)\) FROM stdin;$/);
    if (copied) names = copied[1].split(", ");
    else if (line === "\\.") names = [];
    else if (["body", "key_id", "signature"].every((name) => names.includes(name))) {
      const cells = line.split("\t").map(unescaped);
      yield [number, Object.fromEntries(names.map((name, place) => [name, cells[place]]))];
    }
  }
}

/** Returns the frame of a row's deed. */
function readRow({ body, key_id: kid, signature }) {
  need(/^\\x[0-9a-f]{128}$/.test(signature) && fits("@kid", kid));
  return { kind: DEED, payload: utf8(body), kid, signature: unhex(signature.slice(2)) };
}

const unescaped = (cell) => cell.replace(/\\(.)/g, (_, letter) => ESCAPES[letter] ?? letter);

/** Returns the parts with the deeds of an archive in the place of the lines that stand for them. */
function fill(parts, archive) {
  const filled = (part) => {
    const of = isArchived(part) && archive.get(part.log);
    if (!of) return [part];
    const { from, to } = part;
    const found = [...of.keys()].filter((seq) => from <= seq && seq < to).sort((a, b) => a - b);
    if (found.length > 0 && found.length < to - from) {
      const had = `the files have ${found.length} of ${to - from} archived deeds from ${from} on`;
      throw new Error(`${had}; expected all of them, or none`);
    }
    return found.length > 0 ? found.map((seq) => of.get(seq)) : [part];
  };
  return parts.flatMap(filled);
}

export { begin, end, fill, hasItsSubtrees, isArchived, last, readArchive, rootsOf };
