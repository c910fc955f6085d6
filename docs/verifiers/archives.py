"""Reads and judges archived deeds: the lines that stand for them, and files that have them.

Such a file has lines of deeds, or is the plain dump of a partition as `pg_dump` writes it.
"""
import json, re
from formats import DEED, fits, frame, need, parse
from trees import Tree, heights, leaf

ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

def begin(part):
    return part["seq"] if "seq" in part else part["from"]

def end(part):
    return part["seq"] + 1 if "seq" in part else part["to"]

def last(part):
    """Returns the digest of the deed, or of the last one that is archived."""
    return part["digest"] if "seq" in part else part["last"]

def has_its_subtrees(part):
    return len(part["subtrees"]) == len(list(heights(part["from"], part["to"] - 1)))

def roots_of(parts, sizes):
    """Returns the roots at these sizes, as far as they are reached at the end of a line.

    None where the lines make no tree: they begin with another place than the first, or leave one
    out.
    """
    tree, roots = Tree(), {0: Tree().root()}
    if begin(parts[0]) != 0:
        return None
    for part in parts:
        if "from" in part:
            if tree.size != part["from"] or not has_its_subtrees(part):
                return None
            for height, root in zip(heights(part["from"], part["to"] - 1), part["subtrees"]):
                tree.join(height, bytes.fromhex(root[7:]))
        tree.join(0, leaf(last(part)))
        if tree.size in sizes:
            roots[tree.size] = tree.root()
    return roots

def read_archive(path, archive):
    """Adds the deeds of a file to an archive: the frames by their logs and places.

    Where it has a table of deeds, it is a dump, and nothing else in it counts.
    """
    data = path.read_bytes()
    need_file(not data.startswith(b"PGDMP"), path, "expected a plain dump; `pg_restore --file - "
              "DUMP` writes one of this")
    lines = data.decode().split("\n")
    found = list(read_dump(lines)) or [
        (number, line) for number, line in enumerate(lines, 1) if line.lstrip().startswith("{")]
    need_file(found, path, "expected lines of deeds, or the plain dump of a table of deeds")
    for number, row in found:
        try:
            line = None if isinstance(row, dict) else parse(row.encode())
            if line and line.get("object") == "archived_deeds":
                continue
            framed = frame(line) if line else read_row(row)
            body = json.loads(framed[1])
            archive.setdefault(body["log"], {})[body["seq"]] = framed
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            need_file(False, path, f"line {number} is no deed: {error}")

def need_file(holds, path, why):
    if not holds:
        raise ValueError(f"`{path}`: {why}")

def read_dump(lines):
    """Yields the rows of the tables of deeds in a plain dump, each with its line's number."""
    names = None
    for number, line in enumerate(lines, 1):
        line = line.removesuffix("\r")
        copied = re.fullmatch(r"COPY \S+ \((.*)\) FROM stdin;", line)
        if copied:
            names = copied[1].split(", ")
        elif line == "\\.":
            names = None
        elif names and {"body", "key_id", "signature"} <= set(names):
            yield number, dict(zip(names, map(unescape, line.split("\t"))))

def read_row(row):
    """Returns the frame of a row's deed."""
    need(re.fullmatch(r"\\x[0-9a-f]{128}", row["signature"]) and fits("@kid", row["key_id"]))
    return DEED, row["body"].encode(), row["key_id"], bytes.fromhex(row["signature"][2:]), None

def unescape(cell):
    return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), cell)

def fill(parts, archive):
    """Puts the deeds of an archive in the place of the lines that stand for them."""
    for part in parts:
        if isinstance(part, dict):
            of, places = archive.get(part["log"], {}), range(part["from"], part["to"])
            found = sorted(seq for seq in of if seq in places)
            if found and len(found) < len(places):
                raise ValueError(f"the files have {len(found)} of {len(places)} archived deeds "
                                 f"from {part['from']} on; expected all of them, or none")
            yield from [of[seq] for seq in found] or [part]
        else:
            yield part
