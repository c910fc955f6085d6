"""Lets a DSSE library of other people judge envelopes: `dsse.py KEYS.JSON ENVELOPES.JSONL`.

Prints for each line whether it accepts the envelope under our published keys.
"""
import base64, json, sys
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

with open(sys.argv[1], encoding="utf-8") as file:
    published = json.load(file)["keys"]
points = {key["kid"]: base64.urlsafe_b64decode(key["x"] + "=").hex() for key in published}
keys = [SSlibKey(kid, "ed25519", "ed25519", {"public": point}) for kid, point in points.items()]

with open(sys.argv[2], encoding="utf-8") as file:
    for line in file:
        envelope = Envelope.from_dict(json.loads(line))
        try:
            by = envelope.verify(keys, 1)
            print(json.dumps(sorted(by)))
        except VerificationError:
            print(json.dumps([]))
