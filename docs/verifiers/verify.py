#!/usr/bin/env python3
"""Checks deeds offline, as docs/deed-format.md says. Needs Python 3.9 and `cryptography`.

    verify.py FILE [--keys KEYS.JSON] [--known-checkpoint NOTE] [--expected-size N]
    verify.py --vectors docs/vectors    prints what each published case comes to, one a line
"""
import argparse, json, pathlib, sys
from deeds import Report, check_deed
from formats import RULES, parse, read_input, read_keys
from intents import not_shown
from logs import check_evidence, check_log

EXITS = ["valid", "invalid", "usage", "undecidable", "malformed"]

def verify(data, keys=None, note=None, size=None):
    """Returns the verdict, the grade, how each check that did not pass came out, in order, and the
    places of the deeds whose signed intents are not shown."""
    report, read = Report(), None
    with report.check("input"):
        read = read_input(data)
    if read is None:
        return "malformed", None, {"input": "failed"}, []
    file, frames = read
    if file:
        deeds = check_evidence(file, frames, (keys, note, size), report)
    else:
        deeds = [check_deed(framed, keys, report) for framed in frames]
        if None not in deeds:
            check_log(deeds, (keys, note, size), report)
    deeds = list(filter(None, deeds))
    report.require(required(file, deeds, note, size))
    # Where something is at fault, what rests on it did not have to run.
    for name in () if report else report.missing:
        report.open(name)
    worst = max(report.values(), default=0)
    grade = (None, "signed", "chained", "checkpointed")[0 if worst else report.grade]
    verdict = ("valid", "undecidable", "invalid")[worst]
    status = (None, "undecided", "failed")
    checks = {name: status[report[name]] for name in RULES["checks"] if name in report}
    return verdict, grade, checks, not_shown(file, deeds)

def required(file, deeds, note, size):
    """Returns which rows of the table of required checks are about an input as a whole."""
    several = len(deeds) > 1
    return {"input": True, "several": several, "chain": several and not file,
            "beginning": not file and any(deed["seq"] == 0 for deed in deeds[:1]),
            "amendment": any(deed["kind"] == "amendment" for deed in deeds),
            "disclosures": file and file["disclosures"], "evidence": file,
            "intents": file and file["intents"],
            "checkpoint": note is not None, "size": size is not None}

def run_vectors(folder):
    published = (folder / "keys.json").read_text()
    for name in ("valid.jsonl", "refused.jsonl"):
        for case in map(json.loads, (folder / name).read_text().splitlines()):
            keys = published if case["keys"] == "keys.json" else json.dumps(case["keys"])
            verdict, grade, checks, hidden = verify(
                case["input"].encode(), case["keys"] and read_keys(parse(keys.encode())),
                case["known_checkpoint"], case["expected_size"])
            print(json.dumps({"name": case["name"], "verdict": verdict, "grade": grade,
                              "checks": list(checks), "not_shown": hidden}))

def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("file", nargs="?", type=pathlib.Path)
    for name in ("--keys", "--known-checkpoint", "--vectors"):
        options.add_argument(name, type=pathlib.Path)
    options.add_argument("--expected-size", type=int)
    asked = options.parse_args()
    if asked.vectors:
        return run_vectors(asked.vectors)
    if asked.file is None:
        options.error("expected a FILE, or --vectors and a folder")
    try:
        data, note = asked.file.read_bytes(), None
        keys = asked.keys and read_keys(parse(asked.keys.read_bytes()))
        if asked.known_checkpoint:
            note = asked.known_checkpoint.read_bytes().decode()
    except (OSError, ValueError, RecursionError) as error:
        options.error(f"a file cannot be read: {error}")
    verdict, grade, checks, hidden = verify(data, keys, note, asked.expected_size)
    print(f"{verdict} (grade: {grade})" if grade else verdict)
    for name, status in checks.items():
        print(f"  {name} {status}: {RULES['checks'][name]}")
    for seq in hidden:
        print(f"  deed {seq}: what its agent signed is not shown")
    return EXITS.index(verdict)

if __name__ == "__main__":
    sys.exit(main())
