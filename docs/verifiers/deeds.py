"""The checks of one deed by itself: its bytes, its claims, its signature, its disclosures."""
import json, re
import honesty
from formats import DEED, canonical, digest, fits, need, pae, parse, unbase64, verifies

CHECKS = ("input type canonical shape honesty key_id form digest key window revoked signature "
          "disclosures log sequence prev time unique amends checkpoint root manifest inclusion "
          "size").split()
OPEN, FAILED = 1, 2


class Checks:
    """What did not pass, by check: whether it is open or failed, and why."""

    def __init__(self):
        self.found, self.grade = {}, 0

    def note(self, check, status, why):
        if status > self.found.get(check, (0, ""))[0]:
            self.found[check] = (status, why)

    def ensure(self, check, holds, why=""):
        if not holds:
            self.note(check, FAILED, why)
        return holds

    def attempt(self, check, work):
        """Returns what the work does; a ValueError of it is what fails the check."""
        try:
            return work()
        except (ValueError, TypeError, IndexError) as error:
            self.note(check, FAILED, str(error))

    def shown(self, grade):
        self.grade = max(self.grade, grade)


def frame(envelope):
    need(len(envelope["signatures"]) == 1, "expected one signature")
    signature = envelope["signatures"][0]
    return {"type": envelope["payloadType"], "payload": unbase64(envelope["payload"]), "form": None,
            "kid": signature["keyid"], "signature": unbase64(signature["sig"]), "open": []}


def read_body(payload, checks):
    """Returns the body, or None when it cannot be read."""
    def strict():
        need(len(payload) <= 16384, "longer than 16 KiB")
        value = parse(payload.decode())
        need(canonical(value) == payload, "not in its RFC 8785 form")
        return [value]
    read = checks.attempt("canonical", strict)
    if not read:
        return None
    body = read[0] if isinstance(read[0], dict) else {}
    for name, known in (("format", ["service.deed.v1"]), ("kind", ["action", "admin", "amendment"])):
        if isinstance(body.get(name), str) and body[name] not in known:
            return checks.note("shape", OPEN, f"`{name}` is not known to this version")
    kind = body.get("kind")
    every = {name: body[name] for name in body if name != kind}
    fit = isinstance(kind, str) and fits("@every", every) and fits("@" + kind, body.get(kind))
    if fit and kind == "action":
        action = body[kind]
        ran, run = action["status"] in ("executed", "failed"), action["execution"]
        fit = ran == (run is not None) == (action["witness"] is not None)
        fit = fit and (not ran or (run["status"] == "failed") == (action["status"] == "failed"))
    return body if checks.ensure("shape", fit, "a member is missing, unknown or malformed") else None


def check_deed(item, keys, take, checks):
    """Returns the deed's body with its digest under `digest`, or None when it cannot be read."""
    checks.ensure("type", item["type"] == DEED, "not the payload type of a deed")
    body = read_body(item["payload"], checks)
    if body is None:
        return None
    broken = [rule for rule, holds in honesty.rules(body) if not holds]
    checks.ensure("honesty", not broken, ", ".join(broken))
    checks.ensure("key_id", item["kid"] == body["key_id"], "the frame names another key")
    form, own = item["form"], digest(item["payload"])
    if form:
        checks.ensure("digest", form["digest"] == own, "`digest` is not the payload's")
        shown = [form["id"], form["kind"], form["body"], form["log"]]
        told = [body["id"], body["kind"], body, {"origin": body["log"], "index": body["seq"]}]
        same = json.dumps(shown, sort_keys=True) == json.dumps(told, sort_keys=True)
        checks.ensure("form", same, "what stands beside the payload says another thing")
    checks.attempt("disclosures", lambda: check_disclosures(body, item["open"] or take(body["id"])))
    key = (keys or {}).get(body["key_id"])
    if key is None:
        checks.note("key", OPEN, "the key is not among those that were given")
    else:
        why = refuses(key, body["issued_at"])
        checks.ensure("revoked" if why == "revoked" else "window", not why, f"the key is {why}")
        checks.ensure("signature", verifies(
            key["point"], pae(item["type"], item["payload"]), item["signature"]), "wrong signature")
    return {**body, "digest": own}


def refuses(key, at):
    """Returns why the key does not count for a deed of this time, if it does not."""
    if key["purpose"] != "deed":
        return "for something else"
    if key["revoked_at"]:
        return "revoked"
    in_time = key["activated_at"] <= at and not (key["retired_at"] and at >= key["retired_at"])
    return None if in_time else "not in its time"


def check_disclosures(body, texts):
    opened = set()
    for text in texts:
        raw = unbase64(text)
        parts = re.fullmatch(r'\["([^"]*)","([a-z0-9_.]+)",(.+)\]', raw.decode(), re.DOTALL)
        need(parts and len(unbase64(parts[1], b"-_", "=")) == 32, "no disclosure")
        place = body
        for name in parts[2].split("."):
            place = place[int(name)] if isinstance(place, list) else (
                place.get(name) if isinstance(place, dict) else None)
        commitment = {"commit": digest(raw), "size": len(parts[3].encode())}
        need(place == commitment, f"the deed does not commit to this at `{parts[2]}`")
        need(parts[2] not in opened, "disclosed twice")
        opened.add(parts[2])
