"""Reads what deeds are made of: strict JSON and its shapes, frames, keys, disclosures.

It judges nothing; deeds.py and logs.py do. What is not as docs/deed-format.md says is a ValueError.
"""
import base64, hashlib, json, pathlib, re
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SHAPES, RULES = (json.loads((pathlib.Path(__file__).parent / name).read_text(encoding="utf-8"))
                 for name in ("shapes.json", "rules.json"))
MAX = 2**53 - 1
DEED, EVIDENCE, INTRODUCTION = (
    f"application/vnd.service.{name}.v1+json" for name in ("deed", "evidence", "seal-key"))

def need(holds):
    if not holds:
        raise ValueError("not as it should be")

def inside(value, depth=0):
    """Yields the value and whatever lies in it, each with its depth."""
    yield value, depth
    inner = value.values() if isinstance(value, dict) else value
    for item in inner if isinstance(value, (dict, list)) else ():
        yield from inside(item, depth + 1)

def parse(data):
    """Returns the value of a strict JSON text."""
    def members(pairs):
        need(len(dict(pairs)) == len(pairs))
        return dict(pairs)
    def number(digits):
        need(abs(float(digits)) <= MAX)
        return int(float(digits)) if float(digits).is_integer() else float(digits)
    value = json.loads(data.decode(), object_pairs_hook=members, parse_float=number,
                       parse_int=number, parse_constant=number)
    for item, depth in inside(value):
        words = "".join(item) if isinstance(item, dict) else item
        need(not isinstance(words, str) or b"\0" not in words.encode())
        need(depth < 32 or not isinstance(item, (dict, list)))
    return value

def spelled(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

def parse_canonical(data):
    """Returns the value of a text that is inside the profile and in its one spelling."""
    value = parse(data)
    for item, depth in inside(value):
        names = item if isinstance(item, dict) else ()
        need(depth <= 8 and not isinstance(item, float))
        need(all(re.fullmatch("[a-z0-9_]+", name) for name in names))
    need(spelled(value).encode() == data)
    return value

def fits(shape, value):
    """Returns whether the value has the shape, in the notation of shapes.json."""
    if isinstance(shape, dict):
        return (isinstance(value, dict) and value.keys() == shape.keys()
                and all(fits(shape[name], value[name]) for name in shape))
    if isinstance(shape, list) and len(shape) == 1:
        return isinstance(value, list) and all(fits(shape[0], item) for item in value)
    if isinstance(shape, list):
        return any(fits(one, value) for one in shape)
    if shape is None:
        return value is None
    if shape.startswith("@"):
        return fits(SHAPES[shape[1:]], value)
    if shape.startswith("="):
        return re.fullmatch(shape[1:], spelled(value), re.DOTALL) is not None
    return isinstance(value, str) and re.fullmatch(shape, value) is not None

def at(value, path):
    """Returns what stands at the path, or None; a star stands for all the texts of a list."""
    for place, name in enumerate(path):
        if name == "*":
            return ",".join(at(item, path[place + 1:]) for item in value or ())
        if isinstance(value, list):
            value = {str(index): item for index, item in enumerate(value)}
        value = value.get(name) if isinstance(value, dict) else None
    return value

def keeps(group, value):
    """Returns whether the value keeps the rules of a group of rules.json: no row of them fits."""
    return not any(all(fits(shape, at(value, path.split("."))) for path, shape in row.items())
                   for rows in RULES[group].values() for row in rows)

def unbase64(text, alphabet=b"+/", padding=""):
    data = base64.b64decode(text + padding, alphabet, validate=True)
    need(base64.b64encode(data, alphabet).decode() == text + padding)
    return data

def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()

def digest(data):
    return "sha256:" + sha256(data).hex()

def signs(key, message, signature):
    try:
        return Ed25519PublicKey.from_public_bytes(key["point"]).verify(signature, message) is None
    except (InvalidSignature, ValueError):
        return False

def pae(kind, payload):
    return f"DSSEv1 {len(kind.encode())} {kind} {len(payload)} ".encode() + payload

def frame(value):
    """Returns type, payload, key id and signature of an envelope or API form, and the form."""
    if isinstance(value, dict) and "object" not in value:
        need(fits("@envelope", value))
        kind, payload, [by] = value["payloadType"], value["payload"], value["signatures"]
        return kind, unbase64(payload), by["keyid"], unbase64(by["sig"]), None
    need(fits("@form", value))
    kind, payload, by = value["payload_type"], value["payload"], value["signature"]
    return kind, unbase64(payload), by["key_id"], unbase64(by["value"]), value

def read_point(x, kid):
    """Returns the bytes of a public key that has this id, and under which signatures mean much."""
    need(fits("@kid", x) and not fits("@weak", x))
    named = sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode())
    need(base64.urlsafe_b64encode(named).decode() == kid + "=")
    return unbase64(x, b"-_", "=")

def read_keys(value):
    """Returns the keys of a key set by their ids, each with the bytes of its point."""
    need(fits("@keys", value))
    known = {}
    for key in value["keys"]:
        kid, by, point = key["kid"], key["introduced_by"], read_point(key["x"], key["kid"])
        need(kid not in known)
        if by:
            older = known.get(by["kid"])
            told = spelled({name: key[name] for name in ("activated_at", "kid", "purpose")})
            need(older and older["purpose"] == key["purpose"] and signs(
                older, pae(INTRODUCTION, told.encode()), unbase64(by["signature"])))
        known[kid] = {**key, "point": point}
    return known

def split_disclosure(text):
    """Returns the salt, the path and the value of a disclosure, each as it stands there."""
    parts = re.fullmatch(r'\["([^"]*)","([a-z0-9_.]+)",(.+)\]', unbase64(text).decode(), re.DOTALL)
    need(parts)
    return parts.groups()

def open_disclosure(text):
    """Returns the path and the commitment that the disclosure opens."""
    salt, path, value = split_disclosure(text)
    need(len(unbase64(salt, b"-_", "=")) == 32)
    # One JSON value without spaces around it, numbers of any size; `int` refuses NaN and its like.
    json.loads(value, parse_int=float, parse_constant=int)
    need(value == value.strip(" \t\n\r"))
    return path, {"commit": digest(unbase64(text)), "size": len(value.encode())}
