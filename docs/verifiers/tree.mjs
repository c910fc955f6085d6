// The Merkle tree of RFC 6962: the root of leaves, and the roots that proofs lead to.
import { fromDigest, join, need, sha256 } from "./formats.mjs";

const node = (left, right) => sha256(join([1], left, right));
export const leaf = (digest) => sha256(join([0], fromDigest(digest)));

function half(size) {
  let left = 1;
  while (left * 2 < size) left *= 2;
  return left;
}

/** Returns the root of the tree over these leaves. */
export async function rootOf(leaves) {
  if (leaves.length < 2) return leaves[0] ?? sha256(new Uint8Array());
  const left = half(leaves.length);
  return node(await rootOf(leaves.slice(0, left)), await rootOf(leaves.slice(left)));
}

/** Returns the root of the tree of this size that the path leads to from a leaf. */
export async function climb(start, index, size, path) {
  need((size === 1) === (path.length === 0), "the path has another length");
  if (size === 1) return start;
  const [last, rest, left] = [path.at(-1), path.slice(0, -1), half(size)];
  if (index < left) return node(await climb(start, index, left, rest), last);
  return node(last, await climb(start, index - left, size - left, rest));
}

/**
 * Returns the roots that the path gives the old tree and the one that it is to be part of.
 * `oldRoot` is null below a right branch, where the path itself must tell it.
 */
export async function grow(old, size, path, oldRoot) {
  if (old === size) {
    need(path.length === (oldRoot === null ? 1 : 0), "the path has another length");
    return [oldRoot ?? path[0], oldRoot ?? path[0]];
  }
  need(path.length > 0, "the path is too short");
  const [last, rest, left] = [path.at(-1), path.slice(0, -1), half(size)];
  if (old <= left) {
    const [before, now] = await grow(old, left, rest, oldRoot);
    return [before, await node(now, last)];
  }
  const [before, now] = await grow(old - left, size - left, rest, null);
  return [await node(last, before), await node(last, now)];
}
