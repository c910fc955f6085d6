"""The checks of several deeds: as a part of their log, and as a file of evidence."""
import honesty
from deeds import FAILED, OPEN, check_deed, frame, refuses
from formats import (EVIDENCE, canonical, digest, fits, need, open_checkpoint, pae, parse, read_keys,
                     unbase64, verifies)
from tree import climb, grow, leaf, root_of


def check_together(deeds, checks):
    """The checks of deeds of one log that need not follow each other."""
    pairs = list(zip(deeds, deeds[1:]))
    checks.ensure("log", len({(deed["log"], deed["org"]) for deed in deeds}) == 1, "two logs")
    checks.ensure("time", all(a["issued_at"] <= b["issued_at"] for a, b in pairs), "out of order")
    checks.ensure("unique", len({deed["id"] for deed in deeds}) == len(deeds), "an id twice")
    checks.attempt("amends", lambda: check_amendments(deeds))


def check_amendments(deeds):
    before, views = {}, {}
    for deed in deeds:
        content = deed[deed["kind"]]
        if deed["kind"] == "action" and content["execution"]:
            views[deed["seq"]] = [content["execution"], content["witness"]]
        amends = content["amends"] if deed["kind"] == "amendment" else {"seq": None}
        if first := before.get(amends["seq"]):
            same = (amends["id"], amends["digest"], deed["subject"])
            need(same == (first["id"], first["digest"], first["subject"]), "it names another deed")
            view, changes = views.get(amends["seq"]), content["changes"]
            need(view, "that action did not run")
            view[:] = [changes["execution"] or view[0], changes["witness"] or view[1]]
            need(all(holds for _, holds in honesty.run_rules(*view)), "what it leaves is dishonest")
        before[deed["seq"]] = deed


def check_log(deeds, keys, note, size, checks):
    """The checks of deeds as a part of their log."""
    checks.shown(1 + (len(deeds) > 1))
    first, pairs = deeds[0], list(zip(deeds, deeds[1:]))
    genesis = digest(f"service.deed.genesis.v1\n{first['log']}\n".encode())
    checks.ensure("prev", first["seq"] > 0 or first["prev"] == genesis, "no genesis digest")
    checks.ensure("prev", all(b["prev"] == a["digest"] for a, b in pairs), "a link is broken")
    checks.ensure("sequence", all(b["seq"] == a["seq"] + 1 for a, b in pairs), "a gap")
    check_together(deeds, checks)
    if note is not None and (known := open_known(note, keys, checks)):
        origin, count, root = known
        if first["log"] != origin:
            checks.note("root", FAILED, "the checkpoint is of another log")
        elif first["seq"] or (len(deeds) == 1 and count != 1):
            checks.note("root", OPEN, "the checkpoint needs the log from its first deed on")
        elif checks.ensure("root", len(deeds) >= count and root == root_of(
                [leaf(deed["digest"]) for deed in deeds[:count]]), "another root, or a cut tail"):
            checks.shown(3 if count else 0)
    checks.ensure("size", size in (None, deeds[-1]["seq"] + 1), "another number of deeds")


def open_known(note, keys, checks):
    if keys is None:
        return checks.note("checkpoint", OPEN, "no keys were given")
    return checks.attempt("checkpoint", lambda: open_checkpoint(note, keys))


def check_evidence(file, items, trusted, note, size, checks):
    """The checks of a file of evidence."""
    keys = trusted
    if trusted is None:
        keys = checks.attempt("key", lambda: read_keys(file["keys"]))
        if keys is None:
            return
        checks.note("key", OPEN, "no keys were given, and the file's own prove nothing")
    opened = list(file["disclosures"])

    def take(deed):
        found = next((entry for entry in opened if entry["deed"] == deed), None)
        return opened.remove(found) or found["disclosures"] if found else []
    deeds = [check_deed(item, keys, take, checks) for item in items]
    checks.ensure("disclosures", not opened, "what opens a deed that is not here")
    if None in deeds:
        return
    checks.shown(1)
    check_together(deeds, checks)
    told = check_list(file, deeds, keys, checks)
    if not told:
        return
    as_of = told["log"], told["as_of"]["size"], bytes.fromhex(told["as_of"]["root"][7:])
    checks.attempt("inclusion", lambda: check_proofs(file, deeds, keys, as_of))
    checks.ensure("size", size in (None, as_of[1]), "another number of deeds")
    if note is None or not (known := open_known(note, trusted, checks)):
        return
    path = next((entry["path"] for entry in file["consistency"] if entry["from"] == known[1]), None)
    if path is None and known[1] != as_of[1]:
        return checks.note("root", OPEN, "no proof from the known checkpoint")
    hashes = [bytes.fromhex(text[7:]) for text in path or []]

    def grew():
        need(known[0] == as_of[0] and 0 < known[1] <= as_of[1], "of another log, or later")
        need(grow(known[1], as_of[1], hashes, known[2]) == (known[2], as_of[2]), "it did not grow")
        return True
    if checks.attempt("root", grew):
        checks.shown(3)


def check_list(file, deeds, keys, checks):
    """Returns the signed list if it names exactly these deeds."""
    def read():
        item = frame(file["manifest"])
        told = parse(item["payload"].decode())
        need(fits("@manifest", told) and canonical(told) == item["payload"], "no list")
        return item, told
    item, told = checks.attempt("manifest", read) or (None, None)
    if told and told["key_id"] not in keys:
        return checks.note("manifest", OPEN, "the list's key is not among those that were given")

    def complete():
        key = keys[told["key_id"]]
        need(item["type"] == EVIDENCE and item["kid"] == told["key_id"], "of another type or key")
        need(not refuses(key, told["issued_at"]), "the key does not count")
        need(verifies(key["point"], pae(item["type"], item["payload"]), item["signature"]),
             "the list is not signed")
        need(told["deeds"] == [{n: deed[n] for n in ("id", "seq", "digest")} for deed in deeds],
             "it names other deeds")
        places, here = [deed["seq"] for deed in deeds], set()
        need(places == sorted(places) and places[-1] < told["as_of"]["size"], "not the log's order")
        need(all((d["log"], d["org"]) == (told["log"], told["org"]) for d in deeds), "another log")
        amendments = [deed["amendment"] for deed in deeds if deed["kind"] == "amendment"]
        here = {(amendment["amends"]["id"], amendment["n"]) for amendment in amendments}
        need(all(n <= 1 or (deed, n - 1) in here for deed, n in here), "an amendment is left out")
        return told
    return told and checks.attempt("manifest", complete)


def check_proofs(file, deeds, keys, as_of):
    need(len(file["proofs"]) == len(deeds), "expected one proof for each deed")
    for deed, text in zip(deeds, file["proofs"]):
        head, _, note = text.partition("\n\n")
        name, index, *path = head.split("\n")
        need(name == "c2sp.org/tlog-proof@v1" and index == f"index {deed['seq']}", "no such proof")
        hashes = [unbase64(line) for line in path]
        need(len(hashes) <= 63 and all(len(hash) == 32 for hash in hashes), "no path")
        need(open_checkpoint(note, keys) == as_of, "the proof is of another tree than the list")
        need(climb(leaf(deed["digest"]), deed["seq"], as_of[1], hashes) == as_of[2],
             "the proof does not lead to the root")
