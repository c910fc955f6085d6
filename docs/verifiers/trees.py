"""The tree of RFC 6962 over a log's deeds: its roots as it grows, and proofs that it grew."""
from formats import need, sha256

def node(left, right):
    return sha256(b"\1", left, right)

def leaf(digest_text):
    return sha256(b"\0", bytes.fromhex(digest_text[7:]))

def heights(start, end):
    """Yields the heights of the fewest full subtrees over the leaves from start to end."""
    while start < end:
        height = 0
        while start % (2 << height) == 0 and start + (2 << height) <= end:
            height += 1
        yield height
        start += 1 << height

class Tree:
    """The full subtrees that a growing tree consists of, the largest first."""

    def __init__(self):
        self.size, self.full = 0, []

    def join(self, height, root):
        """Appends a full subtree; each one of the same height on the left joins it."""
        self.size += 1 << height
        while self.full and self.full[-1][0] == height:
            height, root = height + 1, node(self.full.pop()[1], root)
        self.full.append((height, root))

    def root(self):
        if not self.full:
            return sha256()
        whole = self.full[-1][1]
        for _, left in self.full[-2::-1]:
            whole = node(left, whole)
        return whole

def climb(start, place, last, path):
    """Returns the roots of the older tree and the whole one that the path leads to (RFC 9162)."""
    old = new = start
    for sibling in path:
        need(last > 0)
        if place % 2 or place == last:
            old, new = node(sibling, old), node(sibling, new)
            while place % 2 == 0 and place > 0:
                place, last = place // 2, last // 2
        else:
            new = node(new, sibling)
        place, last = place // 2, last // 2
    need(last == 0)
    return old, new

def grew(old, old_root, size, root, path):
    """Returns whether the path shows that the old tree is the beginning of the other."""
    if old == size:
        return (path, old_root) == ([], root)
    start, place, last = old_root, old - 1, size - 1
    while place % 2:
        place, last = place // 2, last // 2
    if place:  # No power of two: the path begins with the old tree's last full subtree.
        start, *path = path
    return climb(start, place, last, path) == (old_root, root)
