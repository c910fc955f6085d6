#!/usr/bin/env python3
"""Checks deeds offline, as docs/deed-format.md says. Needs Python 3.9 and `cryptography`.

    verify.py FILE [--keys KEYS.JSON] [--known-checkpoint NOTE] [--expected-size N]
              [--archived FILE]...
    verify.py --vectors docs/vectors    prints what each published case comes to, one a line
"""
import argparse, json, pathlib, sys
from archives import fill, read_archive
from deeds import Report, check_deed
from formats import RULES, fits, frame, need, parse, read_keys
from intents import not_shown
from logs import check_evidence, check_log

EXITS = ["valid", "invalid", "usage", "undecidable", "malformed"]

def verify(data, keys=None, note=None, size=None, archive=None):
    """Returns the verdict, the grade, how each check that did not pass came out, in order, the
    places of the deeds whose signed intents are not shown, and those of archived deeds: from one
    up to another, and whether a checkpoint vouches for them."""
    report, read = Report(), None
    with report.check("input"):
        read = read_input(data)
    if read is None:
        return "malformed", None, {"input": "failed"}, [], []
    file, frames = read
    frames = frames if file else list(fill(frames, archive or {}))
    if not any(isinstance(part, tuple) for part in frames):
        return "malformed", None, {"input": "failed"}, [], []
    if file:
        deeds = check_evidence(file, frames, (keys, note, size), report)
    else:
        parts = [part if isinstance(part, dict) else check_deed(part, keys, report)
                 for part in frames]
        if None not in parts:
            check_log(parts, (keys, note, size), report)
        deeds = [part for part in parts if part is None or "seq" in part]
    deeds = list(filter(None, deeds))
    rows = required(file, deeds, note, size)
    report.require({**rows, "archived": any(isinstance(part, dict) for part in frames)})
    # Where something is at fault, what rests on it did not have to run.
    for name in () if report else report.missing:
        report.open(name)
    worst = max(report.values(), default=0)
    grade = (None, "signed", "chained", "checkpointed")[0 if worst else report.grade]
    verdict = ("valid", "undecidable", "invalid")[worst]
    status = (None, "undecided", "failed")
    checks = {name: status[report[name]] for name in RULES["checks"] if name in report}
    archived = [(start, behind, proved and not worst) for start, behind, proved in report.archived]
    return verdict, grade, checks, not_shown(file, deeds), archived

def read_line(value):
    """Returns the frame of a deed, or the line itself where it stands for archived deeds."""
    if isinstance(value, dict) and value.get("object") == "archived_deeds":
        need(fits("@archived", value) and value["from"] < value["to"])
        return value
    return frame(value)

def read_input(data):
    """Returns the file of evidence, if it is one, and the deeds' frames and archived parts."""
    try:
        value = parse(data)
    except (ValueError, RecursionError):
        lines = [line for line in data.decode().split("\n") if line.strip(" \t\r")]
        return None, [read_line(parse(line.encode())) for line in lines]
    if isinstance(value, dict) and value.get("object") == "evidence":
        value = {"intents": [], **value}
        need(fits("@evidence", value) and value["deeds"])
        return value, [frame(envelope) for envelope in value["deeds"]]
    return None, [read_line(value)]

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
            verdict, grade, checks, hidden, archived = verify(
                case["input"].encode(), case["keys"] and read_keys(parse(keys.encode())),
                case["known_checkpoint"], case["expected_size"])
            print(json.dumps({"name": case["name"], "verdict": verdict, "grade": grade,
                              "checks": list(checks), "not_shown": hidden,
                              "archived": archived}))

def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("file", nargs="?", type=pathlib.Path)
    for name in ("--keys", "--known-checkpoint", "--vectors"):
        options.add_argument(name, type=pathlib.Path)
    options.add_argument("--expected-size", type=int)
    options.add_argument("--archived", type=pathlib.Path, action="append", default=[])
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
        archive = {}
        for path in asked.archived:
            read_archive(path, archive)
        told = verify(data, keys, note, asked.expected_size, archive)
    except (OSError, ValueError, RecursionError) as error:
        options.error(f"a file cannot be read: {error}")
    verdict, grade, checks, hidden, archived = told
    print(f"{verdict} (grade: {grade})" if grade else verdict)
    for name, status in checks.items():
        print(f"  {name} {status}: {RULES['checks'][name]}")
    for seq in hidden:
        print(f"  deed {seq}: what its agent signed is not shown")
    for start, behind, proved in archived:
        shown = "proved by the tree of a checkpoint" if proved else "no checkpoint vouches for them"
        print(f"  deeds {start} to {behind - 1}: archived" + (f"; {shown}" if grade else ""))
    return EXITS.index(verdict)

if __name__ == "__main__":
    sys.exit(main())
