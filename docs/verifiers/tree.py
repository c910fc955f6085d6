"""The Merkle tree of RFC 6962: the root of leaves, and the roots that proofs lead to."""
from formats import need, sha256


def node(left, right):
    return sha256(b"\1" + left + right)


def leaf(digest_text):
    return sha256(b"\0" + bytes.fromhex(digest_text[7:]))


def half(size):
    return 1 << (size - 1).bit_length() - 1


def root_of(leaves):
    """Returns the root of the tree over these leaves."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256(b"")
    left = half(len(leaves))
    return node(root_of(leaves[:left]), root_of(leaves[left:]))


def climb(start, index, size, path):
    """Returns the root of the tree of this size that the path leads to from a leaf."""
    if size == 1:
        need(not path, "the path is too long")
        return start
    *path, last = path
    left = half(size)
    if index < left:
        return node(climb(start, index, left, path), last)
    return node(last, climb(start, index - left, size - left, path))


def grow(old, size, path, old_root):
    """Returns the roots that the path gives the old tree and the one that it is to be part of.

    `old_root` is None below a right branch, where the path itself must tell it.
    """
    if old == size:
        need(len(path) == (old_root is None), "the path is too long")
        return (path * 2 if path else [old_root] * 2)
    *path, last = path
    left = half(size)
    if old <= left:
        before, now = grow(old, left, path, old_root)
        return before, node(now, last)
    before, now = grow(old - left, size - left, path, None)
    return node(last, before), node(last, now)
