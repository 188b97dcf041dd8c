#!/usr/bin/env python3
"""Adds up the test points of Meson's logs: python3 tools/count_tests.py [--slowest N] BUILD...

A BUILD is a build folder, or one of its logs: `meson test --logbase NAME` writes BUILD/meson-logs/NAME.json.

--failed N counts so many failures more, of what is no test.

--slowest N also names the N programs that took longest, and lists what was skipped and why.

Every `ok` and `not ok` line of a TAP program counts once. A program that failed without a failing point (it crashed, ran out of
time, or stopped before its plan) counts as one failure; one that prints no points counts as one. A folder without a log is a
failure too: its tests did not run. Exits with 1 when anything failed."""

import json
import os
import re
import sys

POINT = re.compile(r"^(not )?ok\b(.*)$", re.MULTILINE)


def count_program(test):
    passed = failed = skipped = 0
    for bad, rest in POINT.findall(test.get("stdout") or ""):
        if "# SKIP" in rest.upper():
            skipped += 1
        elif bad:
            failed += 1
        else:
            passed += 1
    good = test["result"] in ("OK", "EXPECTEDFAIL")
    if test["result"] == "SKIP" and not skipped:
        skipped = 1
    elif test["result"] not in ("OK", "EXPECTEDFAIL", "SKIP") and not failed:
        failed = 1
    elif good and passed + failed + skipped == 0:
        passed = 1
    return passed, failed, skipped


def log_of(build):
    return build if build.endswith(".json") else os.path.join(build, "meson-logs", "testlog.json")


def read_log(build):
    path = log_of(build)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as log:
            yield from map(json.loads, log)


def list_slowest(folders, most):
    """The programs that took longest, and every skip with its reason."""
    tests = [(test.get("duration", 0), folder, test) for folder in folders for test in read_log(folder)]
    for seconds, folder, test in sorted(tests, key=lambda t: -t[0])[:most]:
        print(f"{seconds:7.1f} s  {folder}: {test['name']}")
    for _, folder, test in tests:
        for rest in re.findall(r"^(?:ok\b|1\.\.0)(.*# SKIP.*)$", test.get("stdout") or "", re.MULTILINE | re.IGNORECASE):
            print(f"skipped: {folder}: {test['name']}:{rest}")


def count_folder(folder):
    if not os.path.exists(log_of(folder)):
        print(f"{folder}: no test ran")
        return 0, 1, 0
    totals = [0, 0, 0]
    for test in read_log(folder):
        counts = count_program(test)
        totals = [a + b for a, b in zip(totals, counts)]
        if counts[1]:
            print(f"{folder}: {test['name']}: {counts[1]} failed ({test['result']})")
    print(f"{folder}: {totals[0]} passed, {totals[1]} failed, {totals[2]} skipped")
    return totals


def main():
    folders = sys.argv[1:]
    if folders[:1] == ["--slowest"]:
        list_slowest(folders[2:], int(folders[1]))
        folders = folders[2:]
    more = 0
    if folders[:1] == ["--failed"]:
        more, folders = int(folders[1]), folders[2:]
    totals = [sum(column) for column in zip([0, more, 0], *(count_folder(folder) for folder in folders))]
    print(f"{totals[2]} skipped" if totals[2] else "none skipped")
    print(f"{totals[0]} passed, {totals[1]} failed")
    return 1 if totals[1] or (folders and not totals[0]) else 0


if __name__ == "__main__":
    sys.exit(main())
