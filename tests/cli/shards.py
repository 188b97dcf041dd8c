#!/usr/bin/env python3
"""How the cases of tests/cli/cases are shared out among the runs of run.py that go side by side: each to one of them, so that they take
about as long as each other.

  shards.py   prints, as TAP, that each case is in one share, and that shares are even; and that no case expects what depends on the processor"""

import pathlib
import re
import sys

CASES = pathlib.Path(__file__).resolve().parent / "cases"
# Hundredths of a second of a processor, of those that take longer than others. They need not be exact: only how even shares are depends on them.
COSTS = {
    "doctor": 360, "embed": 250, "compare-builds": 200, "train-folds": 160, "evaluate-many-classes": 140, "train-embedding": 130, "token-labels": 110,
    "report-predictions": 100, "train-meanwhile": 100, "train-interrupt": 95, "windows-masked": 90, "first-tries": 80, "report-predictions-tasks": 80,
    "train-long": 70, "train-rerank": 65, "embed-resume": 65, "train-folds-interrupt": 60, "report-tensorboard": 60, "train-precision": 60,
    "stream-bad": 55, "train-stream": 55, "report-many-steps": 50, "windows-words": 50, "train-longer": 45, "evaluate-vectors": 40, "mlm": 40,
    "options-without-effect": 40, "outputs-and-inputs": 40, "train-freeze": 35, "data-files": 35, "label-names": 35,
}
OTHER = 4  # of every other


def cost(name):
    return COSTS.get(name, OTHER)


def shares(names, count):
    """Lists of names in their order: the dearest first, each to the share that has least so far."""
    out, sums = [[] for _ in range(count)], [0] * count
    for name in sorted(names, key=lambda name: (-cost(name), name)):
        least = sums.index(min(sums))
        out[least].append(name)
        sums[least] += cost(name)
    return [sorted(share) for share in out]


def share_of(names, which):
    """The share that "I/N" names; I goes from 1."""
    found = re.fullmatch(r"([0-9]{1,3})/([0-9]{1,3})", which)
    number, count = map(int, found.groups()) if found else (0, 0)
    if not 1 <= number <= count:
        sys.exit(f'run.py: --shard is "{which}": give I/N, with I from 1 to N')
    return shares(names, count)[number - 1]


def refuses(which):
    try:
        share_of(["a"], which)
    except SystemExit as why:
        return which in str(why)
    return False


def main():
    names = sorted(case.stem for case in CASES.glob("*.sh"))
    points = {f"there are {len(names)} cases, and those that take long are among them": names and set(COSTS) <= set(names)}
    for count in (1, 2, 3, 4, 7, len(names), len(names) + 3):
        parts = [share_of(names, f"{i}/{count}") for i in range(1, count + 1)]
        sums = [sum(map(cost, part)) for part in parts]
        points[f"{count} shares: each case is in one"] = sorted(name for part in parts for name in part) == names
        points[f"{count} shares: the same in any order of the files"] = shares(names[::-1], count) == parts
        points[f"{count} shares: even to one case ({min(sums)} to {max(sums)})"] = max(sums) - min(sums) <= max(map(cost, names))
    for which in ("0/4", "5/4", "4", "1/0", "-1/4", "a/b", ""):
        points[f'"{which}" is no share'] = refuses(which)
    counted = [path.name for path in sorted(CASES.glob("*.std*")) if re.search(rb"state\.json: line \d+, byte \d", path.read_bytes())]
    points[f"no case counts bytes of a state, in which the processor's kernels are named {' '.join(counted)}"] = not counted
    for number, (name, good) in enumerate(points.items(), 1):
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
    print(f"1..{len(points)}")
    return not all(points.values())


if __name__ == "__main__":
    sys.exit(main())
