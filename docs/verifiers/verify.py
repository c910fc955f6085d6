#!/usr/bin/env python3
"""Checks deeds offline, as docs/deed-format.md says. Needs Python 3.9 and `cryptography`.

    verify.py FILE [--keys KEYS.JSON] [--known-checkpoint NOTE] [--expected-size N]
    verify.py --vectors docs/vectors    prints what each published case comes to, one a line
"""
import argparse, json, pathlib, sys
from deeds import CHECKS, Checks, check_deed, frame
from formats import fits, need, parse, read_keys, unbase64
from logs import check_evidence, check_log


def read_item(value):
    if isinstance(value, dict) and "object" not in value:
        need(fits("@envelope", value), "no envelope")
        return frame(value)
    need(fits("@form", value), "no deed in its API form")
    signature = value["signature"]
    return {"type": value["payload_type"], "payload": unbase64(value["payload"]), "form": value,
            "kid": signature["key_id"], "signature": unbase64(signature["value"]),
            "open": value["disclosures"]}


def read_input(data):
    """Returns the file of evidence, if it is one, and the frames of the deeds."""
    text = data.decode()
    try:
        value = parse(text)
    except ValueError:
        lines = [line for line in text.split("\n") if line.strip()]
        need(lines, "the input is empty")
        return None, [read_item(parse(line)) for line in lines]
    if isinstance(value, dict) and value.get("object") == "evidence":
        need(fits("@evidence", value) and value["deeds"], "no file of evidence")
        return value, [frame(envelope) for envelope in value["deeds"]]
    return None, [read_item(value)]


def verify(data, keys=None, note=None, size=None):
    """Returns the verdict, the grade, and what did not pass with the reason, in order."""
    checks = Checks()
    try:
        file, items = read_input(data)
    except ValueError as error:
        return "malformed", None, {"input": str(error)}
    if file:
        check_evidence(file, items, keys, note, size, checks)
    else:
        deeds = [check_deed(item, keys, lambda _: [], checks) for item in items]
        if None not in deeds:
            check_log(deeds, keys, note, size, checks)
    worst = max((status for status, _ in checks.found.values()), default=0)
    verdict = ("valid", "undecidable", "invalid")[worst]
    grade = (None, "signed", "chained", "checkpointed")[checks.grade if worst == 0 else 0]
    return verdict, grade, {name: checks.found[name][1] for name in CHECKS if name in checks.found}


def run_vectors(folder):
    published = read_keys(parse((folder / "keys.json").read_text()))
    for name in ("valid.jsonl", "refused.jsonl"):
        for case in map(json.loads, (folder / name).read_text().splitlines()):
            keys = published if case["keys"] == "keys.json" else case["keys"] and read_keys(case["keys"])
            verdict, grade, checks = verify(
                case["input"].encode(), keys, case["known_checkpoint"], case["expected_size"])
            print(json.dumps({"name": case["name"], "verdict": verdict, "grade": grade,
                              "checks": list(checks)}))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("file", nargs="?", type=pathlib.Path)
    options.add_argument("--keys", type=pathlib.Path)
    options.add_argument("--known-checkpoint", type=pathlib.Path)
    options.add_argument("--expected-size", type=int)
    options.add_argument("--vectors", type=pathlib.Path)
    asked = options.parse_args()
    if asked.vectors:
        return run_vectors(asked.vectors)
    keys = asked.keys and read_keys(parse(asked.keys.read_text()))
    note = asked.known_checkpoint and asked.known_checkpoint.read_text()
    verdict, grade, checks = verify(asked.file.read_bytes(), keys, note, asked.expected_size)
    print(verdict, grade or "")
    for name, why in checks.items():
        print(f"  {name}: {why}")
    return ("valid", "invalid", "usage", "undecidable", "malformed").index(verdict)


if __name__ == "__main__":
    sys.exit(main())
