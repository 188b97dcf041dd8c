#!/usr/bin/env python3
"""Several processes: what overlap hides, what a process instead of a thread costs, and how even shares are.

  bench_ranks.py overlap   two processes in network namespaces of their own, a link of --rate between them (root, `ip`, `tc`, MPICH):
                           hidden = (time without overlap - time with) / communication alone, MiniLM, IMDB at 400, batch 16;
                           and what the rest is
  bench_ranks.py threads   one process of two threads, two of one thread that share memory, and two that send messages, in turns, on IMDB
                           and on Rotten Tomatoes: the median ratio of the same step, with its interval
  bench_ranks.py model     steps of two processes over that link next to what `brim plan --simulate` says of them
  bench_ranks.py memory    what 1 and 4 processes of one machine hold (proportional set size) with rows that they share, with rows of a
                           cache, and where each has its own
  bench_ranks.py balance   planned cost of the slowest process / mean at 2, 4 and 8, with and without slices; computing at 2, measured

Runs take turns; a figure is the median of whole steps, the first of each run left out. On a machine that does other work figures are
lower than they are."""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from common import BRIM, DATA, fetch_data, machine, median, print_table

DEVICE, SPACES = "brim-link", ("brim-rank-0", "brim-rank-1")
DATASETS = {"imdb": ("imdb.csv", 400), "rotten-tomatoes": ("train.csv", 64)}
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def shell(*words):
    subprocess.run(words, check=True)


def open_link(rate):
    for space in SPACES:
        shell("ip", "netns", "add", space)
    shell("ip", "link", "add", DEVICE, "netns", SPACES[0], "type", "veth", "peer", "name", DEVICE, "netns", SPACES[1])
    for number, space in enumerate(SPACES):
        shell("ip", "-n", space, "addr", "add", f"10.77.0.{number + 1}/24", "dev", DEVICE)
        shell("ip", "-n", space, "link", "set", DEVICE, "up")
        shell("ip", "-n", space, "link", "set", "lo", "up")
        shell("ip", "netns", "exec", space, "tc", "qdisc", "add", "dev", DEVICE, "root", "tbf", "rate", rate, "burst", "256kb", "latency", "50ms")
    time.sleep(1)  # until it is up


def close_link():
    for space in SPACES:
        subprocess.run(["ip", "netns", "del", space], check=False, stderr=subprocess.DEVNULL)


def train(folder, words, ranks, threads, spaces=False, **environment):
    """Seconds of each step but the first, and the event `ranks` (None of one process)."""
    run = ["taskset", "-c", ",".join(map(str, range(threads)))] if ranks == 1 else []
    if ranks > 1:
        inside = "exec ip netns exec brim-rank-$PMI_RANK " if spaces else "exec "
        run = [shutil.which("mpirun.mpich") or "mpirun", "-n", str(ranks), "sh", "-c", inside + 'taskset -c ${PMI_RANK:-$OMPI_COMM_WORLD_RANK} "$@"', "sh"]
    more = {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": DEVICE, "UCX_RNDV_THRESH": "inf", "BRIM_SHARED": "none"} if spaces else {}
    words = [*run, BRIM, "train", *map(str, words), "--threads", str(threads), "--output", folder, "--overwrite", "--quiet"]
    done = subprocess.run(words, env={**ENVIRONMENT, **more, **environment}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: code {done.returncode}\n{done.stdout}{done.stderr}")  # launchers speak on either
    events = [json.loads(line) for line in open(Path(folder, "log.jsonl"), encoding="utf-8")]
    ends = [event["seconds"] for event in events if event["event"] == "step"]
    return [b - a for a, b in zip(ends, ends[1:])], next((event for event in events if event["event"] == "ranks"), None)


def words_of(data, steps, batch=16):
    name, length = DATASETS[data]
    return ["--model", fetch_data(), "--train", DATA / name, "--max-length", length, "--batch-size", batch, "--max-steps", steps]


class Beside(threading.Thread):
    """Processor time of each process's thread that sums while it computes: the busiest but its first, of one computing thread."""

    def __init__(self, folder):
        super().__init__()
        self.folder, self.seconds, self.ended = str(folder).encode(), {}, threading.Event()

    def run(self):
        while not self.ended.wait(0.1):
            for path in Path("/proc").glob("[0-9]*/task/[0-9]*/schedstat"):
                process, thread = path.parts[2], path.parts[4]
                line = read_or_nothing(Path("/proc", process, "cmdline"))
                if process != thread and self.folder in line and b"brim" in line.split(b"\0")[0]:
                    self.seconds[process, thread] = int((read_or_nothing(path).split() or [b"0"])[0]) / 1e9

    def end(self):
        self.ended.set()
        self.join()
        most = {}
        for (process, _), seconds in self.seconds.items():
            most[process] = max(seconds, most.get(process, 0))
        return sum(most.values()) / max(len(most), 1)


def overlap(args, folder):
    words, steps = words_of("imdb", args.steps), {"none": [], "backward": []}
    words += ["--slices", args.slices] if args.slices else []
    alone, computing, left, beside = [], {"none": [], "backward": []}, [], []
    open_link(args.rate)
    try:
        for _ in range(args.rounds):
            for how in steps:
                watch = Beside(folder)
                watch.start()
                seconds, ranks = train(folder, words, 2, 1, spaces=True, BRIM_OVERLAP=how)
                sending = watch.end() / args.steps
                steps[how].append(seconds)
                computing[how].append(sum(ranks["compute"]) / 2 / args.steps)
                if how == "none":
                    alone.append(min(ranks["communication"]) / args.steps)
                else:
                    left.append(sum(ranks["communication"]) / 2 / args.steps)
                    beside.append(sending)
    finally:
        close_link()
    gains = [a - b for one, other in zip(steps["none"], steps["backward"]) for a, b in zip(one, other)]  # of the same step
    after, during = (median([second for run in runs for second in run]) for runs in steps.values())
    gain, communication = median(gains), median(alone)
    print_table(["link of " + args.rate, "a step"], [["summed after backward", f"{after:.3f} s"], ["during backward", f"{during:.3f} s"],
                                                     ["gained, of the same step", f"{gain:.3f} s"], ["communication alone", f"{communication:.3f} s"],
                                                     ["hidden", f"{gain / communication:.2f}"], ["not hidden: left after backward", f"{median(left):.3f} s"],
                                                     ["not hidden: backward takes longer", f"{median(computing['backward']) - median(computing['none']):.3f} s"],
                                                     ["  of it the summing thread's processor time", f"{median(beside):.3f} s"]])
    return gain / communication >= 0.80


ARMS = {"1 x 2 threads": (1, 2, {}), "2 x 1, shared memory": (2, 1, {}), "2 x 1, messages": (2, 1, {"BRIM_SHARED": "none"})}


def interval(ratios):
    """Median, and the 95 % interval of medians of samples with replacement."""
    draw = random.Random(1)
    medians = sorted(median(draw.choices(ratios, k=len(ratios))) for _ in range(2000))
    return median(ratios), medians[50], medians[-51]


def compare_arms(args, folder, words):
    """Seconds of all steps and of waiting in them, for each arm."""
    steps, waited, order = {arm: [] for arm in ARMS}, {arm: [] for arm in ARMS}, list(ARMS)
    for _ in range(args.rounds):
        for arm in order:
            ranks, each, environment = ARMS[arm]
            seconds, times = train(folder, words, ranks, each, **environment)
            steps[arm] += seconds
            waited[arm].append(sum(times["wait"] + times["communication"]) / ranks / (len(seconds) + 1) if times else 0)
        order = order[1:] + order[:1]  # who comes first takes turns too
    return steps, waited


def threads(args, folder):
    good, one = True, list(ARMS)[0]
    for data, least in (("imdb", 0.95), ("rotten-tomatoes", 0.90)):
        steps, waited = compare_arms(args, folder, words_of(data, args.steps if data == "imdb" else 6 * args.steps))
        speeds = {arm: interval([a / b for a, b in zip(steps[one], steps[arm])]) for arm in ARMS}  # of the same step
        rows = [[arm, f"{1000 * median(steps[arm]):.1f} ms", f"{1000 * median(waited[arm]):.1f} ms", f"{speeds[arm][0]:.3f}", "{1:.3f} to {2:.3f}".format(*speeds[arm])]
                for arm in ARMS]
        print_table([f"a step of {data}", "takes", "waiting", "speed", "95 %"], rows)
        print(f"through shared memory {speeds['2 x 1, shared memory'][0]:.3f}, at least {least:.2f}", flush=True)
        good = good and speeds["2 x 1, shared memory"][0] >= least
    return good


def plan(*words):
    """The parts that `brim plan` prints."""
    words = ["plan", DATA / "imdb.csv", "-t", fetch_data(), "--max-length", 400, "--jsonl", "--quiet", *words]
    text = subprocess.run([BRIM, *map(str, words)], env={**os.environ, "BRIM_MPI": "none"}, capture_output=True, text=True, check=True).stdout
    return [part for part in map(json.loads, text.splitlines()) if "rank" in part]


def planned(lengths, world, slices, batch):
    """Cost of each step's slowest rank / mean, over an epoch; a text costs 4608 s + s^2, by which `brim plan` shares rows out."""
    costs = {}
    for part in plan("-b", batch, "--world-size", world, *(["--slices", slices] if slices else [])):
        step = costs.setdefault(part["step"], [0] * world)
        step[part["rank"]] += sum(4608 * lengths[row] + lengths[row] ** 2 for row in part["rows"])
    return world * sum(map(max, costs.values())) / sum(map(sum, costs.values()))


def balance(args, folder):
    lengths = {part["rows"][0]: part["tokens"] for part in plan("-b", 1)}
    rows = [[f"batch {batch}", *(f"{planned(lengths, world, slices, batch):.4f}" for slices in (0, 24) for world in (2, 4, 8))] for batch in (32, 64, 128)]
    print_table(["slowest / mean, planned", *(f"{world} ranks{how}" for how in ("", ", 24 slices") for world in (2, 4, 8))], rows)
    ranks = train(folder, words_of("imdb", args.steps, 32), 2, 1)[1]
    print(f"computing at 2 processes, batch 32, measured: {ranks['balance']:.3f}")
    return ranks["balance"] <= 1.04 and all(float(cell) <= 1.01 for row in rows for cell in row[1:4])


COPIES = 4  # of IMDB's rows


def proportional(processes):
    """Megabytes of these processes, a page that several of them have shared out among them."""
    words = [Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8").split() for process in processes]
    return sum(int(all_words[all_words.index("Pss:") + 1]) for all_words in words) / 1024


def held(folder, data, ranks, *words, **environment):
    """While steps are made: the encoder is frozen, so that most of what is held are weights and rows."""
    output = Path(folder, "held")
    shutil.rmtree(output, ignore_errors=True)
    words = ["train", "--model", fetch_data(), "--train", data, "--output", output, "--freeze", "encoder", "--max-steps", 10**6, "--batch-size", 4, "--max-length", 512,
             "--threads", 1, "--quiet", *words]
    launch = [shutil.which("mpirun.mpich") or "mpirun", "-n", str(ranks)] if ranks > 1 else []
    job = subprocess.Popen([*launch, BRIM, *map(str, words)], env={**ENVIRONMENT, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while job.poll() is None and not ((output / "log.jsonl").exists() and '"event":"step"' in (output / "log.jsonl").read_text(encoding="utf-8")):
            time.sleep(0.2)
        found = [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if str(output).encode() in read_or_nothing(path) and b"brim" in read_or_nothing(path).split(b"\0")[0]]
        return proportional(found)
    finally:
        job.send_signal(signal.SIGTERM)
        job.wait()


def read_or_nothing(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def memory(args, folder):
    data = Path(folder, "rows.csv")
    lines = (DATA / "imdb.csv").read_bytes().split(b"\n", 1)
    data.write_bytes(lines[0] + b"\n" + lines[1] * COPIES)
    cache = ["--cache", Path(folder, "cache")]
    held(folder, data, 1, *cache)  # makes it
    ways = {"each its own": ([], {"BRIM_SHARE_ROWS": "none"}), "shared": ([], {}), "from a cache": (cache, {})}
    sums = {way: [held(folder, data, ranks, *words, **environment) for ranks in (1, 4)] for way, (words, environment) in ways.items()}
    rows = [[way, f"{one:.0f} MB", f"{four:.0f} MB", f"{four / 4:.0f} MB", f"{sums['each its own'][1] - four:.0f} MB"] for way, (one, four) in sums.items()]
    print_table([f"rows of {COPIES} x IMDB, PSS", "1 process", "4 processes", "each", "less"], rows)
    return sums["shared"][1] < sums["each its own"][1]


def model(args, folder):
    """Speed and update are measured by `brim plan` itself, on one core."""
    wish = f"ranks=2,bandwidth={float(args.rate.removesuffix('gbit'))},latency=50,model={fetch_data()}"
    words = ["taskset", "-c", "0", BRIM, "plan", DATA / "imdb.csv", "-t", fetch_data(), "--max-length", 400, "-b", 16, "--threads", 1, "--quiet", "--jsonl", "--simulate", wish]
    text = subprocess.run([*map(str, words)], env={**os.environ, "BRIM_MPI": "none"}, capture_output=True, text=True, check=True).stdout
    said = [json.loads(line)["step"] for line in text.splitlines()]
    one = median(train(folder, words_of("imdb", args.steps), 1, 1)[0])
    open_link(args.rate)
    try:
        two = median(train(folder, words_of("imdb", args.steps), 2, 1, spaces=True)[0])
    finally:
        close_link()
    print_table(["a step", "simulated", "measured", "ratio"], [[f"{ranks} ranks", f"{s:.3f} s", f"{m:.3f} s", f"{s / m:.2f}"] for ranks, s, m in zip((1, 2), said, (one, two))])
    return True


def main():
    parts = {"overlap": overlap, "threads": threads, "memory": memory, "balance": balance, "model": model}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(parts), help=f"of {', '.join(parts)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--slices", type=int, default=0, help="of `overlap`")
    args = parser.parse_args()
    fetch_data()
    print(machine())
    good = True
    with tempfile.TemporaryDirectory(prefix="brim-ranks-") as folder:
        for part in args.parts:
            print(f"\n{part}")
            good = parts[part](args, folder) and good
    return not good


if __name__ == "__main__":
    raise SystemExit(main())
