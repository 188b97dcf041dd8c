#!/usr/bin/env python3
"""Runs the commands of docs/tutorials on small its own data, and prints TAP. Every block that is fenced as `sh` is run, those of a page
in one folder and in order; a block must succeed, and every option that a page names must be one of the program's.

  tutorials.py BRIM [NAME]"""

import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import fixtures
from run import scratch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "python"))
import verses  # noqa: E402


def texts(count, least, most, seed):
    draw = random.Random(seed)
    return [" ".join(draw.choice(fixtures.WORDS) for _ in range(draw.randint(least, most))) for _ in range(count)]


def write_data(folder):
    fixtures.POSITIONS = 512
    fixtures.write_model(folder / "MiniLM")
    draw = random.Random(5)
    for name, rows in (("reviews.csv", 40), ("test.csv", 12)):
        lines = [f"{text},{draw.randint(0, 1)}" for text in texts(rows, 3, 300, rows)]
        (folder / name).write_text("text,label\n" + "\n".join(lines) + "\n", encoding="utf-8")
    for name, rows in (("mnli.tsv", 36), ("mnli_matched.tsv", 9), ("mnli_mismatched.tsv", 9)):
        kinds = ("contradiction", "entailment", "neutral")
        lines = [f"{a}\t{b}\t{kinds[i % 3]}" for i, (a, b) in enumerate(zip(texts(rows, 2, 20, 1), texts(rows, 2, 9, 2)))]
        (folder / name).write_text("text\ttext_pair\tlabel\n" + "\n".join(lines) + "\n", encoding="utf-8")
    lines = [f"{text},{draw.gauss(-1, 1):.4f}" for text in texts(30, 10, 60, 3)]
    (folder / "commonlit.csv").write_text("excerpt,target\n" + "\n".join(lines) + "\n", encoding="utf-8")
    pairs = list(zip(range(60), texts(60, 3, 6, 6), texts(60, 5, 30, 7)))
    verses.write(folder / "verses", pairs, train=40, test=10, others=10)
    (folder / "wiki.txt").write_text("\n\n".join(texts(300, 1, 90, 4)) + "\n", encoding="utf-8")


def options_of(brim):
    page = subprocess.run([brim, "help", "--markdown"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"--([a-z][a-z0-9-]*)", page))


def main():
    brim = os.path.abspath(sys.argv[1])
    pages = [page for page in sorted((ROOT / "docs/tutorials").glob("0*.md")) if len(sys.argv) < 3 or sys.argv[2] in page.name]
    known, count, failed = options_of(brim), 0, 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        own = re.sub(r"ARGS='[^']*'|ARGS=\"[^\"]*\"", "", text)  # a benchmark's options are not the program's
        unknown = sorted(set(re.findall(r"--([a-z][a-z0-9-]*)", own)) - known)
        missing = [path for path in re.findall(r"\]\(([^):]+)\)", text) if not (page.parent / path).exists()]
        points = [("options and links exist", not unknown and not missing, f"{unknown} {missing}")]
        with tempfile.TemporaryDirectory(prefix="brim-tutorial-", dir=scratch()) as folder:
            write_data(pathlib.Path(folder))
            (pathlib.Path(folder) / "bin").mkdir()
            (pathlib.Path(folder) / "bin/brim").symlink_to(brim)
            environment = dict(os.environ, PATH=f"{folder}/bin:{os.environ['PATH']}", LC_ALL="C.UTF-8")
            for number, block in enumerate(re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M), 1):
                block = re.sub(r"^brim doctor$", "brim doctor --no-speed", block, flags=re.M)  # cases/doctor.sh times products
                done = subprocess.run(["sh", "-e", "-c", block], cwd=folder, env=environment, capture_output=True, text=True, timeout=900,
                                      check=False)
                points.append((f"block {number}", done.returncode == 0, f"exit {done.returncode}\n{done.stdout[-900:]}{done.stderr[-900:]}"))
        for name, good, note in points:
            count, failed = count + 1, failed + (not good)
            print(f"{'ok' if good else 'not ok'} {count} - {page.stem}: {name}", flush=True)
            if not good:
                print("\n".join("# " + line for line in note.splitlines()))
    print(f"1..{count}")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
