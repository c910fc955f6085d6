"""Signs intents: the body of a call and its headers in, the value of `Service-Intent` out.

`python sign.py` reads one call as JSON from standard input; docs/intents/README.md has its members.
"""
import base64, decimal, hashlib, json, secrets, sys, time
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

def number(value):
    """A number as RFC 8785 spells it."""
    if abs(value) > 2**53 - 1:
        raise ValueError("send numbers beyond 2^53-1 as strings")
    if value == int(value):
        return str(int(value))
    sign, digits, exponent = decimal.Decimal(repr(value)).normalize().as_tuple()
    digits, point = "".join(map(str, digits)), len(digits) + exponent
    if -6 < point <= 0:
        text = "0." + "0" * -point + digits
    elif point > 0:
        text = digits[:point] + "." + digits[point:]
    else:
        text = digits[0] + ("." + digits[1:] if digits[1:] else "") + f"e{point - 1}"
    return "-" * sign + text

def canonical(value):
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, str):
        value.encode()  # refuses a lone surrogate
        if "\0" in value:
            raise ValueError("a string holds NUL")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return json.dumps(value, ensure_ascii=False)

def sign(call):
    key = Ed25519PrivateKey.from_private_bytes(base64.urlsafe_b64decode(call["private_key"] + "=="))
    x = b64(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))
    kid = b64(hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()).digest())
    request = canonical({"args": json.loads(call["args"]), "tool": call["tool"]}).encode()
    issued = call.get("iat", int(time.time()))
    claims = {"aud": call["audience"], "sub": call["agent"], "tool": call["tool"],
              "req": "sha256:" + hashlib.sha256(request).hexdigest(), "mode": call["mode"],
              "obo": call.get("on_behalf_of"), "ses": call.get("session"),
              "idem": call.get("idempotency_key"), "iat": issued,
              "exp": call.get("exp", issued + 60), "jti": call.get("jti", secrets.token_urlsafe(16))}
    header = {"alg": "Ed25519", "kid": kid, "typ": "service-intent+jwt"}
    signed = b64(canonical(header).encode()) + "." + b64(canonical(claims).encode())
    return signed + "." + b64(key.sign(signed.encode()))

if __name__ == "__main__":
    print(sign(json.load(sys.stdin)))
