"""Judges logs and files of evidence: order, checkpoints, lists and proofs."""
import re
from archives import begin, end, has_its_subtrees, last, roots_of
from deeds import OPEN, check_deed, check_together, refuses
from intents import check_intents
from trees import climb, grew, leaf
from formats import (EVIDENCE, MAX, digest, fits, frame, need, pae, parse_canonical, read_keys,
                     sha256, signs, unbase64)

def check_log(parts, trust, report):
    """Judges deeds, and the lines that stand for archived ones, as a part of their log."""
    keys, note, size = trust
    deeds = [part for part in parts if "seq" in part]
    first, archived = deeds[0], [part for part in parts if "from" in part]
    genesis = digest(f"service.deed.genesis.v1\n{first['log']}\n".encode())
    report.grade = 2 if len(parts) > 1 else 1
    follow = list(zip(parts, parts[1:]))
    linked = all(part["prev"] == last(before) for before, part in follow if "seq" in part)
    report.judge(sequence=all(begin(part) == end(before) for before, part in follow),
                 prev=linked and (first["seq"] > 0 or first["prev"] == genesis),
                 size=size in (None, end(parts[-1])))
    check_together(deeds, report, archived)
    sound = not archived or "sequence" not in report
    vouched = check_archived(parts, archived, sound, keys, report) if archived else 0
    origin, count, root = open_known(keys, note, report)
    if origin:
        roots = roots_of(parts, {count}) if sound else None
        alone = len(parts) == 1 and not archived and count != 1
        divided = any(part["from"] < count < part["to"] for part in archived)
        held = roots is not None and roots.get(count) == root
        if origin == first["log"] and (alone or divided or roots is None):
            report.open("root")
        else:
            report.judge(root=origin == first["log"] and held)
        if held and "root" not in report:
            vouched = max(vouched, count)
            report.grade = 3 if count else report.grade
            if any(part["to"] > vouched for part in archived):
                report.open("root")
    report.archived = [(part["from"], part["to"], part["to"] <= vouched) for part in archived]
    if not all(proved for _, _, proved in report.archived):
        report.grade = 1

def check_archived(parts, archived, sound, keys, report):
    """Judges the lines of archived deeds; returns the size up to which a checkpoint beside them
    vouches for what they say. One that no trusted key signed is left aside."""
    log = next(part["log"] for part in parts if "seq" in part)
    with report.check("archived"):
        need(all(part["log"] == log and has_its_subtrees(part) for part in archived))
        heads = [(part, *head) for part in archived for head in signed_beside(part, keys)]
        need(all(origin == log and count >= part["to"] for part, origin, count, _ in heads))
        roots = roots_of(parts, {count for _, _, count, _ in heads}) if sound else None
        roots = roots or {}
        need(all(roots.get(count, root) == root for _, _, count, root in heads))
        return max((count for _, _, count, _ in heads if count in roots), default=0)
    return 0

def signed_beside(part, keys):
    """Yields what the checkpoint beside archived deeds says, if a trusted key signed it."""
    try:
        if keys is not None and part["checkpoint"] is not None:
            yield open_checkpoint(part["checkpoint"], keys)
    except ValueError:
        pass

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
