#!/usr/bin/env python3
"""Two builds of bench_ops taking turns: bench_ops.py OLD NEW [--case 1,2,4] [--rounds 5] [--level avx512]

Each is run on one thread, where figures are processor time. Printed are each build's best figure and the median of the ratios of
neighbouring runs (above 1: NEW is faster), which a busy machine disturbs less. For example:

    git worktree add /tmp/old 8217134 && meson setup /tmp/old/build /tmp/old --buildtype=release
    ninja -C /tmp/old/build bench/bench_ops && ninja -C build bench/bench_ops
    bench/bench_ops.py /tmp/old/build/bench/bench_ops build/bench/bench_ops"""

import argparse
import re
import subprocess

from common import median, print_table

RATE, TIME = re.compile(r"(forward|fused|dx|dw|slices) +(\d+)"), re.compile(r"(forward|backward|gradient|layer) ([\d.]+) ms")


def figures(program, level, case):
    """{name: (value, True if more is better)} of one run."""
    done = subprocess.run([program, "1", level, case], capture_output=True, text=True, check=True)
    title, *lines = done.stdout.splitlines()
    found = {}
    for line in lines:
        name = line.split("  ")[1].split(" ms")[0].strip()
        if line.startswith("  gelu"):
            continue  # the difference of two figures
        if line.startswith("  layer"):
            found["layer"] = (float(TIME.search(line)[2]), False)
        elif " ms" in line:
            found.update({f"{name.split(' gradient')[0]}, {kind}": (float(value), False) for kind, value in TIME.findall(line)})
        else:
            found.update({f"{name}, {kind}": (float(value), True) for kind, value in RATE.findall(line)})
    return title.split(", workspace")[0], found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--case", default="1,2,4", help="numbers of cases, separated by commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--level", default="avx512")
    options = parser.parse_args()
    for case in options.case.split(","):
        runs = []
        for _ in range(options.rounds):
            title, old = figures(options.old, options.level, case)
            runs.append((old, figures(options.new, options.level, case)[1]))
        print(f"\n{title}: {options.rounds} rounds")
        rows = []
        for name, (_, more) in runs[0][0].items():
            values = [(old[name][0], new[name][0]) for old, new in runs]
            best = max if more else min
            ratios = [new / old if more else old / new for old, new in values]
            rows.append([name, "GFLOP/s" if more else "ms", best(v[0] for v in values), best(v[1] for v in values), f"{median(ratios):.2f} x"])
        print_table(["operation", "", "old", "new", "new is"], rows)


if __name__ == "__main__":
    main()
