"""Judges logs and files of evidence: the tree of RFC 6962, checkpoints, lists and proofs."""
import re
from deeds import OPEN, check_deed, check_together, refuses
from intents import check_intents
from formats import (EVIDENCE, MAX, digest, fits, frame, need, pae, parse_canonical, read_keys,
                     sha256, signs, unbase64)

def check_log(deeds, trust, report):
    """Judges deeds as a part of their log, in its order."""
    (keys, note, size), first = trust, deeds[0]
    report.grade = 2 if len(deeds) > 1 else 1
    genesis = digest(f"service.deed.genesis.v1\n{first['log']}\n".encode())
    before = [first["prev"] if first["seq"] else genesis, *(deed["digest"] for deed in deeds)]
    report.judge(sequence=all(deed["seq"] == first["seq"] + n for n, deed in enumerate(deeds)),
                 prev=all(deed["prev"] == digest for deed, digest in zip(deeds, before)),
                 size=size in (None, deeds[-1]["seq"] + 1))
    check_together(deeds, report)
    origin, count, root = open_known(keys, note, report)
    if origin == first["log"] and (first["seq"] > 0 or len(deeds) == 1 != count):
        report.open("root")
    elif origin:
        leaves = [leaf(deed["digest"]) for deed in deeds[:count]]
        report.judge(root=(origin, count, root) == (first["log"], len(leaves), root_of(leaves)))
        report.grade = 3 if count else report.grade

def open_known(keys, note, report):
    """Returns what the known checkpoint says, or nothing of it."""
    if note is not None and keys is None:
        report["checkpoint"] = OPEN
    elif note is not None:
        with report.check("checkpoint"):
            return open_checkpoint(note, keys)
    return None, None, None

def check_evidence(file, frames, trust, report):
    """Judges the deeds of a file of evidence, its signed list and its proofs."""
    (trusted, note, size), keys = trust, trust[0]
    if trusted is None:
        report["key"] = OPEN
        with report.check("key"):
            keys = read_keys(file["keys"])
        if keys is None:
            return []
    left = list(file["disclosures"])
    deeds = [check_deed(each, keys, report, left) for each in frames]
    report.judge(disclosures=not left)
    if None in deeds:
        return deeds
    report.grade = 1
    check_together(deeds, report)
    # What an intent says is held to what the disclosures open.
    if "disclosures" not in report:
        check_intents(file, deeds, report)
    told = check_list(file["manifest"], deeds, keys, report)
    if told:
        check_tree(file, told, deeds, (keys, trusted, note, size), report)
    return deeds

def check_tree(file, told, deeds, trust, report):
    """Judges the proofs that the deeds, and the known checkpoint, are in the list's tree."""
    keys, trusted, note, size = trust
    as_of = told["log"], told["as_of"]["size"], bytes.fromhex(told["as_of"]["root"][7:])
    report.judge(size=size in (None, as_of[1]))
    with report.check("inclusion"):
        need(len(file["proofs"]) == len(deeds))
        for deed, text in zip(deeds, file["proofs"]):
            head, _, signed = text.partition("\n\n")
            name, index, *path = head.split("\n")
            need((name, index) == ("c2sp.org/tlog-proof@v1", f"index {deed['seq']}"))
            path = [unbase64(line) for line in path]
            need(len(path) <= 63 and all(len(hash) == 32 for hash in path))
            need(open_checkpoint(signed, keys) == as_of)
            need(climb(leaf(deed["digest"]), deed["seq"], as_of[1] - 1, path)[1] == as_of[2])
    origin, old, root = open_known(trusted, note, report)
    paths = [entry["path"] for entry in file["consistency"] if entry["from"] == old]
    if origin and not paths and old != as_of[1]:
        report.open("root")
    elif origin:
        with report.check("root"):
            path = [bytes.fromhex(text[7:]) for text in paths[0]] if paths else []
            need(origin == as_of[0] and 0 < old <= as_of[1] and grew(old, root, *as_of[1:], path))
            report.grade = 3

def check_list(manifest, deeds, keys, report):
    """Returns the signed list if it names exactly these deeds."""
    with report.check("manifest"):
        kind, payload, kid, signature, _ = frame(manifest)
        told = parse_canonical(payload)
        need(fits("@manifest", told))
        if told["key_id"] not in keys:
            report["manifest"] = OPEN
            return None
        key = keys[told["key_id"]]
        need(kind == EVIDENCE and kid == told["key_id"] and not refuses(key, told["issued_at"]))
        need(signs(key, pae(kind, payload), signature))
        need(told["deeds"] == [{n: deed[n] for n in ("id", "seq", "digest")} for deed in deeds])
        places = [*(deed["seq"] for deed in deeds), told["as_of"]["size"] - 1]
        need(places == sorted(places))
        need(all((d["log"], d["org"]) == (told["log"], told["org"]) for d in deeds))
        here = {(d["amendment"]["amends"]["id"], d["amendment"]["n"])
                for d in deeds if d["kind"] == "amendment"}
        need(all(n <= 1 or (amended, n - 1) in here for amended, n in here))
        return told

def open_checkpoint(note, keys):
    """Returns origin, size and root of a checkpoint that a known key signed and none wrongly."""
    text, _, lines = note.rpartition("\n\n")
    lines, told = lines.split("\n"), text.split("\n")
    need(lines.pop() == "" and 1 <= len(lines) <= 32 and len(note.encode()) <= 65536)
    need(re.search("[\0-\t\v-\x1f]", note) is None and len(told) == 3 and fits("@log", told[0]))
    need(re.fullmatch("0|[1-9][0-9]{,15}", told[1]) and int(told[1]) <= MAX)
    known = False
    for line in lines:
        parts = re.fullmatch("\u2014 ([^\\s\x7f-\x9f+]+) (\\S+)", line)
        need(parts and len(unbase64(parts[2])) > 4)
        name, stamp = parts[1], unbase64(parts[2])
        for key in keys.values():
            named = sha256(told[0].encode(), b"\n\1", key["point"])[:4]
            counts = key["purpose"] == "checkpoint" and key["revoked_at"] is None
            if counts and (name, stamp[:4]) == (told[0], named):
                need(signs(key, f"{text}\n".encode(), stamp[4:]))
                known = True
    root = unbase64(told[2])
    need(known and len(root) == 32)
    return told[0], int(told[1]), root

def node(left, right):
    return sha256(b"\1", left, right)

def leaf(digest_text):
    return sha256(b"\0", bytes.fromhex(digest_text[7:]))

def root_of(leaves):
    """Returns the root of the tree over these leaves."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return node(root_of(leaves[:half]), root_of(leaves[half:]))

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
