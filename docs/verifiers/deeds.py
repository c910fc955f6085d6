"""Judges one deed, and several deeds together: the checks that docs/deed-format.md lists first."""
import contextlib
from formats import (DEED, RULES, SHAPES, at, digest, fits, keeps, need, open_disclosure, pae,
                     parse_canonical, signs, spelled)

OPEN, FAILED = 1, 2

class Report(dict):
    """The checks that did not pass, each open or failed; and how much was shown, the grade."""
    grade = 0

    def __init__(self):
        super().__init__()
        self.ran, self.missing, self.archived = set(), set(), []

    def open(self, name):
        self.setdefault(name, OPEN)

    def judge(self, **checks):
        self.ran.update(checks)
        self.update((name, FAILED) for name, holds in checks.items() if not holds)

    @contextlib.contextmanager
    def check(self, name):
        """Fails the check, and ends the block, at what is not as it should be."""
        try:
            yield
            self.ran.add(name)
        except (ValueError, IndexError, RecursionError):
            self[name] = FAILED

    def require(self, rows):
        """Misses what these rows of the table require and did not run."""
        for row, holds in rows.items():
            self.missing.update(set(RULES["required"][row]) - self.ran if holds else ())

    def absorb(self, own):
        """Takes over what was found of one deed; what it ran, it ran for that deed alone."""
        self.missing |= own.missing
        self.update((name, max(status, self.get(name, 0))) for name, status in own.items())

def read_body(payload, report):
    """Returns the body of a deed, or None when it cannot be read."""
    with report.check("canonical"):
        need(len(payload) <= 16384)
        body = parse_canonical(payload)
        known = body if isinstance(body, dict) else {}
        for name in ("format", "kind"):
            if isinstance(known.get(name), str) and not fits(SHAPES["every"][name], known[name]):
                report.open("shape")
                return None
        kind = str(known.get("kind"))
        fit = fits({**SHAPES["every"], kind: f"@{kind}"}, body)
        fit = fit and (kind != "action" or keeps("ending", body["action"]))
        report.judge(shape=fit)
        return body if fit else None

def is_honest(body):
    """Returns whether the body keeps the honesty rules; what compares values stands here."""
    kind, content = body["kind"], body[body["kind"]]
    if kind == "admin":
        return len(spelled(content["data"]).encode()) <= 4096
    if kind == "amendment":
        earlier = content["amends"]["seq"] < body["seq"]
        return earlier and keeps(kind, content) and keeps("run", content["changes"])
    own = body["subject"] == {"type": "action", "id": content["id"]}
    return (own and body["actor"]["type"] == "agent" and keeps(kind, content)
            and keeps("run", content))

def check_deed(framed, keys, report, left=()):
    """Judges one deed and returns its body with its digest, or None when it cannot be read.

    What opens its commitments stands in its API form, or is taken from what is left of a file's.
    """
    own, form = Report(), framed[-1]
    deed = check_alone(framed, keys, own)
    texts = form["disclosures"] if form else ()
    for entry in [entry for entry in left if deed and entry["deed"] == deed["id"]][:1]:
        texts = entry["disclosures"]
        left.remove(entry)
    if deed:
        check_disclosures(deed, texts, own)
    own.require({"deed": True, "form": form, "disclosures": texts})
    report.absorb(own)
    return deed

def check_alone(framed, keys, report):
    kind, payload, kid, signature, form = framed
    report.judge(type=kind == DEED)
    body = read_body(payload, report)
    if body is None:
        return None
    deed = {**body, "digest": digest(payload)}
    report.judge(honesty=is_honest(body), key_id=kid == body["key_id"])
    if form:
        told = {"id": body["id"], "kind": body["kind"], "body": body,
                "log": {"origin": body["log"], "index": body["seq"]}}
        same = spelled({name: form[name] for name in told}) == spelled(told)
        report.judge(form=same, digest=form["digest"] == deed["digest"])
    key = (keys or {}).get(body["key_id"])
    if key is None:
        report.open("key")
    else:
        why = refuses(key, body["issued_at"])
        report.judge(key=key["kid"] == body["key_id"], revoked=why != "revoked",
                     window=why != "window", signature=signs(key, pae(kind, payload), signature))
    return deed

def refuses(key, at):
    """Returns the check that fails where the key does not count for a deed of this time."""
    if key["purpose"] == "deed" and key["revoked_at"]:
        return "revoked"
    in_time = key["activated_at"] <= at and not (key["retired_at"] and at >= key["retired_at"])
    return None if key["purpose"] == "deed" and in_time else "window"

def check_disclosures(deed, texts, report):
    """Judges whether each opens the commitment at its place, and no place is opened twice."""
    with report.check("disclosures"):
        opened = [open_disclosure(text) for text in texts]
        need(len(dict(opened)) == len(opened))
        for path, commitment in opened:
            need(spelled(at(deed, path.split("."))) == spelled(commitment))

def check_together(deeds, report, archived=()):
    """Judges deeds of one log, whether they follow each other or not; some may be archived."""
    times, ids, before, views = [d["issued_at"] for d in deeds], {d["id"] for d in deeds}, {}, {}
    amended = dict.fromkeys((deed["seq"] for deed in deeds), 0)
    report.judge(log=len({(deed["log"], deed["org"]) for deed in deeds}) == 1,
                 time=times == sorted(times), unique=len(ids) == len(deeds))
    with report.check("amends"):
        for deed in deeds:
            if deed["kind"] == "action" and deed["action"]["execution"]:
                views[deed["seq"]] = deed["action"]
            content = deed[deed["kind"]]
            first = before.get(content["amends"]["seq"]) if deed["kind"] == "amendment" else None
            if first:
                need(content["amends"] == {name: first[name] for name in ("id", "digest", "seq")})
                need(deed["subject"] == first["subject"] and first["seq"] in views)
                seq = first["seq"]
                between = any(seq < part["from"] and part["to"] <= deed["seq"] for part in archived)
                if not between or content["n"] == amended[seq] + 1:
                    changes = {name: told for name, told in content["changes"].items() if told}
                    views[seq], amended[seq] = {**views[seq], **changes}, amended[seq] + 1
                    need(keeps("run", views[seq]))
            before[deed["seq"]] = deed
