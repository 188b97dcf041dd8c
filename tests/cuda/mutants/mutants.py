#!/usr/bin/env python3
"""Small faults in the kernels, and whether the tests see them: mutants.py TEXT OUT.inc | mutants.py --run TEXT LIBRARY FOLDER

The first call writes the kernels' text with every fault in it, each with a number: a barrier that is left out, an index that is one
too large, lanes that exchange with the wrong one. The second runs the tests of FOLDER with the library made of it. Without a fault they
have to go well; then each case is tried with each fault that it reaches (case_faults.h), until one case sees it. A fault that none sees is
a survivor; SURVIVORS are known, with the reason. The share of each file is printed. Less than 95 % seen is a failure, of all faults or of
those in the kernels of tensor cores."""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

INDEXED = re.compile(r"((?:\b(?:a|range|layout|at)\.[\w.]+|(?<![\w.])(?:lines|of_a|of_b|same|to|from|kept|ds|p|v|q|k|dout|room))\[)([^\[\]]+)(\])")
BARRIER = re.compile(r"^(\s*)(__syncthreads\(\);)")
SHUFFLE = re.compile(r"(__shfl_xor_sync\(ALL_LANES, x, )(apart)(\))")
WORD = re.compile(r"(\.of\[)(\d)(\])")
COPIES = re.compile(r"^(\s*)((?:await|close)_copies\(.*\);)")
LANE = re.compile(r"\b(lane) ([/%]) (\d+)")
SKIPPED = re.compile(r"^\s*(#|/\*|\*|enum|struct|typedef|SHARED|float \w+\[|fragment \w+\[|sums \w+\[|GLOBAL)")
TESTS = {
    "attention.cuh": ["ops_attention", "ops_relative"],
    "attention_matrix.cuh": ["matrices"],
    "matrix.cuh": ["matrices"],
    "stream.cuh": ["ops_stream"],
    "update.cuh": ["ops_more", "ops_update"],
    "loss.cuh": ["ops_more", "ops_loss"],
    "rows.cuh": ["ops_rows", "ops_linear"],
    "embed.cuh": ["ops_rows", "ops_more"],
    "activation.cuh": ["ops_linear"],
    "product.cuh": ["ops_linear"],
    "norm.cuh": ["ops_linear", "ops_rows"],
    "common.cuh": ["ops_rows", "ops_linear", "ops_attention", "ops_stream", "ops_more"],
}
NEEDED = 95  # %, of all and of those alone
MATRICES = ("attention_matrix.cuh", "matrix.cuh")
# "file: line's text": why nothing changes.
SURVIVORS = {
    "loss.cuh: double top = a.logits[at], sum = 0, loss = 0;": "the largest logit only keeps exp in range",
    "update.cuh: a.sums[blockIdx.x] += sum;": "all sums are added up, whichever block has which",
}


def faults(text):
    """The text with switches, and a list of (file, line's text, what)."""
    found, lines, name, inside = [], [], "", False
    for line in text.splitlines():
        start = re.match(r'#line 1 "([\w.]+)"', line)
        name = start[1] if start else name

        def switch(kind, wrong):
            def put(match):
                found.append((name, line.strip(), kind))
                return match[1] + wrong.format(number=len(found), of=match[2]) + match[3]
            return put

        def lane(match):
            """Of a lane's place: another row, or another column."""
            found.append((name, line.strip(), "fragment's lane"))
            return f"(lane ^ ({match[3] if match[2] == '/' else 1} * (brim_mutant == {len(found)}))) {match[2]} {match[3]}"

        inside = (inside or "/*" in line) and "*/" not in line.split("/*")[-1]
        if name in TESTS and not inside and not SKIPPED.match(line):
            if BARRIER.match(line):
                found.append((name, line.strip(), "barrier"))
                line = BARRIER.sub(lambda match: f"{match[1]}if (brim_mutant != {len(found)}) {match[2]}", line)
            if COPIES.match(line):
                found.append((name, line.strip(), "copies"))
                line = COPIES.sub(lambda match: f"{match[1]}if (brim_mutant != {len(found)}) {match[2]}", line)
            if name == "matrix.cuh" or name == "attention_matrix.cuh":
                line = LANE.sub(lane, line)
            line = INDEXED.sub(switch("index", "({of}) + (brim_mutant == {number})"), line)
            line = SHUFFLE.sub(switch("lanes", "({of}) ^ (brim_mutant == {number})"), line)
            line = WORD.sub(switch("word", "({of}) ^ (brim_mutant == {number})"), line)
        lines.append(line)
    head = f"""enum {{ BRIM_FAULTS = {len(found)} }};
static int fault_number;
static bool fault_reached[BRIM_FAULTS + 1];
static const struct {{ // asked for a number it notes that the place was reached
  bool operator==(int number) const {{
    fault_reached[number] = true;
    return fault_number == number;
  }}
  bool operator!=(int number) const {{
    return !(*this == number);
  }}
}} brim_mutant = {{}};
"""
    return head + "\n".join(lines) + "\n", found


def run(test, library, folder, faults_file):
    """Whether the test goes well without a fault; the file has a byte for each fault then: 0 was not reached, 1 was not seen, 2 was seen."""
    environment = {**os.environ, "BRIM_LIBCUDA": library, "BRIM_NVRTC": library, "BRIM_CUBLASLT": "none", "LD_PRELOAD": library, "BRIM_CASE_FAULTS": faults_file,
                   "BRIM_CACHE": str(pathlib.Path(folder) / "cache")}
    done = subprocess.run([f"{folder}/cuda_{test}"], env=environment, capture_output=True, text=True)
    if done.returncode:
        print(f"# {test}: {done.stdout[-2000:]} {done.stderr[-2000:]}".replace("\n", "\n# "))
    return done.returncode == 0


def main():
    if sys.argv[1] != "--run":
        pathlib.Path(sys.argv[2]).write_text(faults(pathlib.Path(sys.argv[1]).read_text(encoding="ascii"))[0], encoding="ascii")
        return 0
    text, library, folder = sys.argv[2:5]
    found = faults(pathlib.Path(text).read_text(encoding="ascii"))[1]
    tests = list(dict.fromkeys(test for names in TESTS.values() for test in names))
    with tempfile.NamedTemporaryFile() as file, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        file.write(b"0" * (len(found) + 1))
        file.flush()
        if not all(pool.map(lambda test: run(test, library, folder, file.name), tests)):
            print("1..1\nnot ok 1 - without a fault the tests pass")
            return 1
        file.seek(0)
        states = file.read()[1:].decode()
    survivors = [fault for fault, state in zip(found, states, strict=True) if state != "2"]
    for name, line, kind in survivors:
        print(f"# not seen: {kind} in {name}: {line}")
    for name in dict.fromkeys(fault[0] for fault in found):
        of_file, missed = sum(fault[0] == name for fault in found), sum(fault[0] == name for fault in survivors)
        print(f"# {name}: {of_file} faults, {100 * (of_file - missed) / of_file:.1f} % seen")
    counted = [fault for fault in survivors if f"{fault[0]}: {fault[1]}" not in SURVIVORS]
    matrices = [state for fault, state in zip(found, states, strict=True) if fault[0] in MATRICES]
    good = True
    for number, (what, seen) in enumerate((("all kernels", states), ("those of tensor cores", matrices)), 1):
        share = 100 * seen.count("2") / len(seen)
        good = good and share >= NEEDED
        print(f"{'ok' if share >= NEEDED else 'not ok'} {number} - {what}: {len(seen)} faults, {share:.1f} % seen")
    print(f"# {len(counted)} survivors not explained\n1..2")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
