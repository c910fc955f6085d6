"""Judges signed intents: each is the one that its deed names, and of the call that it records."""
import re
from datetime import datetime
from formats import (SHAPES, digest, fits, need, parse, read_point, sha256, signs, spelled,
                     split_disclosure, unbase64)

def check_intents(file, deeds, report):
    """Judges the intents of a file of evidence, of which no two are of one deed."""
    seen, known = set(), {deed["id"]: deed for deed in reversed(deeds)}
    for shown in file["intents"]:
        with report.check("intents"):
            need(shown["deed"] not in seen)
            seen.add(shown["deed"])
            deed = known.get(shown["deed"])
            need(deed and deed["kind"] == "action" and deed["action"]["intent"]["jws"])
            named = deed["action"]["intent"]["jws"]
            if named["alg"] == "Ed25519":
                check_claims(signed_claims(shown, named), deed, opened(file, deed))
            else:
                report.open("intents")

def not_shown(file, deeds):
    """Returns the places of the deeds that name an intent which did not come with them."""
    here = {shown["deed"] for shown in file["intents"]} if file else ()
    return [deed["seq"] for deed in deeds if deed["kind"] == "action" and deed["id"] not in here
            and deed["action"]["intent"]["jws"]]

def opened(file, deed):
    """Returns the texts of the values that the file opens of a deed, by their places."""
    entries = [entry["disclosures"] for entry in file["disclosures"] if entry["deed"] == deed["id"]]
    return {path: value for text in sum(entries, []) for _, path, value in [split_disclosure(text)]}

def signed_claims(shown, named):
    """Returns what the intent says if it is the one that the deed names, and its key's."""
    text = shown["jws"]
    need(len(text) <= 4096 and digest(text.encode()) == named["digest"])
    point = read_point(shown["public_key"], named["key_id"])
    need(re.fullmatch("[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+){2}", text))
    header, payload, signature = (
        unbase64(part, b"-_", "=" * (-len(part) % 4)) for part in text.split("."))
    told = parse(header)
    need(fits("@intent_header", told) and told["kid"] == named["key_id"])
    need(signs({"point": point}, text.rpartition(".")[0].encode(), signature))
    claims = parse(payload)
    more = {name: shape for name, shape in SHAPES["more_claims"].items() if name in claims}
    need(fits({**SHAPES["claims"], **more}, claims))
    need(len(claims.get("purpose", "").encode()) <= 256)
    return claims

def check_claims(claims, deed, opened):
    """Refuses claims that do not say of the call what its deed says, as far as that is shown."""
    action, tool = deed["action"], spelled(claims["tool"])
    told = spelled(action["tool"]) if isinstance(action["tool"], str) else opened.get("action.tool")
    need(deed["actor"] == {"type": "agent", "id": claims["sub"]} and told in (None, tool))
    need(claims["mode"] == action["mode"])
    need(claims.get("tdg", action["tool_digest"]) == action["tool_digest"])
    for claim, place in (("obo", "on_behalf_of"), ("ses", "session")):
        need((claims[claim] is None) == (action[place] is None))
        need(opened.get(f"action.{place}") in (None, spelled(claims[claim])))
    args = opened.get("action.request")
    call = f'{{"args":{args},"tool":{tool}}}'.encode()
    need(args is None or claims["req"] == digest(call))
    now = int(datetime.fromisoformat(action["received_at"][:19] + "+00:00").timestamp())
    need(claims["iat"] <= now + 60 and now < claims["exp"])
    need(1 <= claims["exp"] - claims["iat"] <= 300)
