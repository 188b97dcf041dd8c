#!/usr/bin/env python3
"""The table of stages, as TAP: stages.py SOURCE_ROOT. Every tracked file selects a stage of .ci/run, and kernels select what they need.
Faults of tools/faults.txt fit the source."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys

from points import end, holds


def load(root, name):
    loader = importlib.machinery.SourceFileLoader(name, str(root / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def main():
    root = pathlib.Path(sys.argv[1])
    ci = load(root, "ci")
    tracked = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=False).stdout.split("\n")[:-1]
    if not tracked:  # an archive: its files are those of a checkout
        tracked = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and not path.relative_to(root).parts[0].startswith("build")]
    holds([path for path in tracked if not ci.stages_of(path)], "every file selects a stage")
    known = set(ci.STAGES) | {"all"}
    named = [name for entry in ci.TABLE["paths"] for name in ([entry["stages"]] if isinstance(entry["stages"], str) else entry["stages"])]
    holds([name for name in named if name not in known], "every stage that is named exists")
    idle = [pattern for entry in ci.TABLE["paths"] for pattern in entry["of"] if not any(ci.fnmatch.fnmatchcase(path, pattern) for path in tracked)]
    holds(idle, "every pattern fits a file")
    needs = {"src/ops/cpu/tile.c": {"kernels", "address", "threads"}, "src/ops/dropout.c": {"kernels", "address", "threads", "cuda"},
             "src/ops/cuda/stream.c": {"cuda"}, "src/text/bpe.c": {"address", "golden", "torch"}, "python/core/feed.c": {"python", "python-sanitized"},
             "docs/users/python.md": {"program"}, "src/ops/cuda/driver.c": {"cuda-address"}, "meson.build": {name for name, stage in ci.STAGES.items() if not stage.get("alone")}}
    holds([f"{path}: {sorted(wanted - set(ci.stages_of(path)))}" for path, wanted in needs.items() if not wanted <= set(ci.stages_of(path))],
          "kernels select all levels and the sanitizers, what devices share the card, the build all")
    holds([path for path in needs if not (root / path).exists()], "these files exist")
    first = {path: next((pattern for entry in ci.TABLE["paths"] for pattern in entry["of"] if ci.fnmatch.fnmatchcase(path, pattern)), "") for path in tracked}
    never = [pattern for entry in ci.TABLE["paths"] for pattern in entry["of"] if pattern not in first.values()]
    holds(never, "every pattern is the first that fits some file")
    own = {"tests/unit/base_json.c"}
    sides = {"base": "views", "ops": "train", "views": "views"}
    holds([f"{changed}: {other}" for changed, other in sides.items() if other not in ci.touched_folders([f"src/{changed}/x.c"], own)] +
          [other for other in ("base", "text") if other in ci.touched_folders(["src/train/x.c", "tests/unit/base_json.c"], own)],
          "a folder's change needs its own tests and those of the folders to its right")
    holds([path for path in ("src/meson.build", "tests/unit/ops_case.h", "tests/golden/meson.build", "tests/tap.h") if ci.touched_folders([path], own) is not None],
          "what is no program's own source needs all tests of its stages")
    row = ci.Row("a stage", 1.5)
    found = []
    for row.processor in (14, 16, 31):
        found.append(ci.judged(row, 10))
    holds([] if [red for red, _ in found] == [False, False, True] and not found[0][1] and "warning" in found[1][1] else found,
          "a stage over its budget is a warning, over twice it is red")
    holds([name for name, stage in ci.STAGES.items() if stage.get("budget", 0) <= 0], "every stage has a budget")
    planter = load(root, "plant_faults")
    holds([f"{fault['name']}: does not fit {fault['file']}" for fault in planter.faults() if planter.changed(fault) is None],
          "faults that tools/plant_faults puts in fit the source")
    return end()


if __name__ == "__main__":
    sys.exit(main())
