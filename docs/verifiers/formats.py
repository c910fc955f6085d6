"""Reads what deeds are made of: strict JSON and its shapes, keys, checkpoints, the tree.

It judges nothing; verify.py does. Whatever is not as docs/deed-format.md says is a ValueError.
"""
import base64, datetime, hashlib, json, pathlib, re
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

DEED, EVIDENCE, INTRODUCTION = (
    f"application/vnd.service.{name}.v1+json" for name in ("deed", "evidence", "seal-key"))
MAX = 2**53 - 1
# A text is a regular expression or the `@name` of a shape, one thing in a list is what there may
# be many of, more are alternatives, and an object has exactly these members.
SHAPES = json.loads((pathlib.Path(__file__).parent / "shapes.json").read_text())
BASICS = {
    "@text": lambda v: isinstance(v, str), "@bool": lambda v: isinstance(v, bool),
    "@count": lambda v: type(v) is int and v >= 0, "@object": lambda v: isinstance(v, dict),
    "@anything": lambda v: True, "@time": lambda v: fits(SHAPES["time"], v) and is_day(v[:10])}
# The y coordinates of the points of small order; p - 1, p and p + 1 are the last three.
WEAK = {bytes.fromhex(y) for y in (
    "00" * 32, "01" + "00" * 31, "ec" + "ff" * 30 + "7f", "ed" + "ff" * 30 + "7f",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", "ee" + "ff" * 30 + "7f")}


def need(holds, why):
    if not holds:
        raise ValueError(why)


def fits(shape, value):
    if shape is None:
        return value is None
    if isinstance(shape, dict):
        return (isinstance(value, dict) and value.keys() == shape.keys()
                and all(fits(shape[name], value[name]) for name in shape))
    if isinstance(shape, list) and len(shape) == 1:
        return isinstance(value, list) and all(fits(shape[0], item) for item in value)
    if isinstance(shape, list):
        return any(fits(one, value) for one in shape)
    if shape.startswith("@"):
        return BASICS[shape](value) if shape in BASICS else fits(SHAPES[shape[1:]], value)
    return isinstance(value, str) and re.fullmatch(shape, value) is not None


def is_day(text):
    year, month, day = map(int, text.split("-"))
    try:
        return datetime.date(year or 400, month, day) is not None  # its years begin at 1
    except ValueError:
        return False


def parse(text):
    """Returns the value of a strict JSON text."""
    def members(pairs):
        need(len(dict(pairs)) == len(pairs), "a member stands twice")
        return dict(pairs)

    def number(digits):
        value = float(digits)
        need(abs(value) <= MAX, "a number is too large")
        return int(value) if value.is_integer() else value

    def walk(value, depth):
        inner = value if isinstance(value, list) else []
        if isinstance(value, str):
            need("\0" not in value and value.encode() is not None, "a NUL or half a character")
        if isinstance(value, dict):
            inner = [*value.keys(), *value.values()]
        need(depth < 32 or not isinstance(value, (list, dict)), "nested too deep")
        for item in inner:
            walk(item, depth + 1)

    try:
        value = json.loads(text, object_pairs_hook=members, parse_float=number, parse_int=number,
                           parse_constant=number)
    except RecursionError:
        raise ValueError("nested too deep") from None
    walk(value, 0)
    return value


def canonical(value):
    """Returns the one spelling that a value of the profile has."""
    def walk(value, depth):
        need(depth <= 8 and not isinstance(value, float), "outside the profile")
        for name in value if isinstance(value, dict) else ():
            need(re.fullmatch("[a-z0-9_]+", name), "a name of other characters")
        inner = value.values() if isinstance(value, dict) else value
        for item in inner if isinstance(value, (dict, list)) else ():
            walk(item, depth + 1)
    walk(value, 0)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def unbase64(text, alphabet=b"+/", padding=""):
    data = base64.b64decode(text + padding, alphabet, validate=True)
    need(base64.b64encode(data, alphabet).decode() == text + padding, "stray bits of base64")
    return data


def sha256(data):
    return hashlib.sha256(data).digest()


def digest(data):
    return "sha256:" + sha256(data).hex()


def verifies(x, message, signature):
    try:
        return Ed25519PublicKey.from_public_bytes(x).verify(signature, message) is None
    except (InvalidSignature, ValueError):
        return False


def pae(kind, payload):
    return f"DSSEv1 {len(kind.encode())} {kind} {len(payload)} ".encode() + payload


def read_keys(value):
    """Returns the keys of a key set by their ids, each with the 32 bytes of its point."""
    need(fits("@keys", value), "no key set")
    known = {}
    for key in value["keys"]:
        x, kid = unbase64(key["x"], b"-_", "="), key["kid"]
        need(x[:31] + bytes([x[31] & 0x7F]) not in WEAK, "a weak key")
        named = sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{key["x"]}"}}'.encode())
        need(base64.urlsafe_b64encode(named).decode() == kid + "=", "no thumbprint")
        need(kid not in known, "a key stands twice")
        word = key["introduced_by"]
        if word:
            older = known.get(word["kid"])
            need(older and older["purpose"] == key["purpose"], "introduced by no earlier key")
            told = canonical({name: key[name] for name in ("activated_at", "kid", "purpose")})
            need(verifies(older["point"], pae(INTRODUCTION, told), unbase64(word["signature"])),
                 "an introduction does not hold")
        known[kid] = {**key, "point": x}
    return known


def open_checkpoint(note, keys):
    """Returns origin, size and root of a checkpoint that a known key signed and none wrongly."""
    text, _, lines = note.rpartition("\n\n")
    lines, told = lines.split("\n"), (text + "\n").split("\n")
    need(lines.pop() == "" and 1 <= len(lines) <= 32 and len(note.encode()) <= 65536, "no note")
    need(not any(c < " " and c != "\n" for c in note), "a control character in a note")
    need(len(told) == 4 and fits("@log", told[0]) and re.fullmatch("0|[1-9][0-9]*", told[1])
         and int(told[1]) <= MAX, "no checkpoint")
    origin, size, root = told[0], int(told[1]), unbase64(told[2])
    need(len(root) == 32, "no root")
    known = False
    for line in lines:
        parts = re.fullmatch(r"\u2014 ([^\s+]+) (\S+)", line)
        need(parts, "no signature line")
        stamp = unbase64(parts[2])
        need(len(stamp) > 4, "no signature")
        for key in keys.values():
            named = sha256(origin.encode() + b"\n\1" + key["point"])[:4]
            if (key["purpose"], key["revoked_at"]) == ("checkpoint", None) and (
                    parts[1], stamp[:4]) == (origin, named):
                need(verifies(key["point"], (text + "\n").encode(), stamp[4:]), "wrong signature")
                known = True
    need(known, "no known key signed the note")
    return origin, size, root
