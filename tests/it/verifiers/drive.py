"""Asks the Python verifier about every case of a file: `drive.py CASES`, one JSON object a line.

Prints verdict, grade, failing checks, intents not shown and archived deeds of each; the verdict `keys` where the key set is refused.
"""
import base64, json, pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "docs/verifiers"))
from formats import parse, read_keys
from verify import verify


def judged(case):
    keys = None
    try:
        if case["keys"] is not None:
            keys = read_keys(parse(base64.b64decode(case["keys"])))
    except (ValueError, RecursionError):
        return "keys", None, [], [], []
    return verify(base64.b64decode(case["input"]), keys, case["note"], case["size"])


with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
        verdict, grade, checks, hidden, archived = judged(json.loads(line))
        print(json.dumps({"verdict": verdict, "grade": grade, "checks": list(checks),
                          "not_shown": hidden, "archived": archived}))
