// The tree of RFC 6962 over a log's deeds: its roots as it grows, and proofs that it grew.
import { hex, need, sha256, spelled, unhex } from "./formats.mjs";

const node = (left, right) => sha256([1], left, right);
const leaf = (digest) => sha256([0], unhex(digest.slice(7)));
const half = (number) => Math.floor(number / 2);

/** Yields the heights of the fewest full subtrees over the leaves from start to end. */
function* heights(start, end) {
  for (let place = start; place < end; ) {
    let [height, size] = [0, 1];
    for (; place % (size * 2) === 0 && place + size * 2 <= end; size *= 2) height += 1;
    yield height;
    place += size;
  }
}

/** The full subtrees that a growing tree consists of, the largest first. */
class Tree {
  size = 0;
  full = [];

  /** Appends a full subtree; each one of the same height on the left joins it. */
  async join(height, root) {
    this.size += 2 ** height;
    let [above, whole] = [height, root];
    for (; this.full.at(-1)?.height === above; above += 1) {
      whole = await node(this.full.pop().root, whole);
    }
    this.full.push({ height: above, root: whole });
  }

  async root() {
    const [smallest, ...larger] = this.full.toReversed();
    let whole = smallest?.root ?? (await sha256());
    for (const { root } of larger) whole = await node(root, whole);
    return whole;
  }
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

export { Tree, climb, grew, heights, leaf };
