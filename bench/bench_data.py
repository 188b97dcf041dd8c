#!/usr/bin/env python3
"""The data engine's figures, each beside its target, infinibatch 0.1.1 and a PyTorch DataLoader with a length-grouped sampler.

Lengths: slots and batches of every strategy on the real length lists of --data DIR and on CommonLit's own csv; the worst
of several seeds counts. Planning: ten million lengths. Layout: IMDB sentences, one a line, in gz shards of 10,000, through a shuffle
window of 100,000 and a read-ahead of 10,000 into batches of 16,384 tokens. Speed: from the gz shards to ragged batches, on one core and
on all; infinibatch runs on as many cores, on some of the same shards. Memory: forty passes, the first ten of which are judged.

Inputs that are not there are named and left out. Working files are made in a temporary folder."""

import argparse
import csv
import json
import lzma
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from common import BRIM, DATA, ROOT, fetch_data, machine, median, print_table, write_json
import peers_data as peers

PROGRAMS = pathlib.Path(BRIM).resolve().parent / "bench"
PARTS = ("lengths", "planning", "layout", "speed", "memory")
MAX_LENGTH, MAX_TOKENS, READ_AHEAD, WINDOW = 512, 16384, 10000, 100000


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("no --data"),
                        help="folder with data/ and tokenizers/; what needs it is left out without")
    parser.add_argument("--imdb", type=pathlib.Path, help="csv of film reviews with a column text (default: the quick start's)")
    parser.add_argument("--only", default=",".join(PARTS), help="comma-separated parts of: " + ", ".join(PARTS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--passes", type=int, default=5, help="passes over the shards that are timed")
    parser.add_argument("--rounds", type=int, default=5, help="times that the passes and the bare tokenizer take turns")
    parser.add_argument("--memory-passes", type=int, default=40, help="passes whose memory is looked at; 10 are judged, and made at least")
    parser.add_argument("--peer-shards", type=int, default=2, help="shards that infinibatch is timed on")
    return parser.parse_args()


class Figures:
    """The table: a figure, its target, what brim and the peers reach, and whether the target is met."""

    def __init__(self):
        self.rows = []

    def add(self, name, target, brim, met, infinibatch="", dataloader=""):
        self.rows.append({"figure": name, "target": target, "brim": brim, "met": met, "infinibatch": infinibatch,
                          "dataloader": dataloader})
        print(f"{name}: {brim}", file=sys.stderr)

    def table(self):
        verdict = {True: "ok", False: "MISSED", None: ""}
        return [[r["figure"], r["target"], r["brim"], r["infinibatch"], r["dataloader"], verdict[r["met"]]] for r in self.rows]


def run(*words, **environment):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, env={**os.environ, **environment})
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def words_of(options):
    return [word for name, value in options.items() for word in ("--" + name.replace("_", "-"), str(value))]


def plan(*source, seed=0, **options):
    """The parts and the summary of `brim plan`."""
    lines = run(BRIM, "plan", *source, "--jsonl", *words_of(dict(options, seed=seed))).splitlines()
    return [json.loads(line) for line in lines[:-1]], json.loads(lines[-1])["summary"]


def bench_plan(rows, folder=None):
    """What bench_plan measures: so many synthetic lengths, and the lists of a folder if any."""
    return [json.loads(line) for line in run(PROGRAMS / "bench_plan", "--json", "--rows", rows, *(["--data", folder] if folder else [])).splitlines()]


def slots(value):
    return f"{value:,}"


def share(count):
    return f"{count.batches:,} batches, {100 * count.padding:.2f} %"


def count_of(summary):
    count = peers.Count()
    count.batches, count.slots, count.tokens = summary["batches"], summary["slots"], summary["tokens"]
    return count


# ---- lengths --------------------------------------------------------------------------------------------------------


class Strategy:
    """One strategy on one source over all seeds."""

    def __init__(self, args, *source, **options):
        self.summaries = [plan(*source, seed=seed, **options)[1] for seed in range(args.seeds)]

    def worst(self):
        return count_of(max(self.summaries, key=lambda s: (s["slots"], s["batches"])))

    def range(self):
        values = [s["slots"] for s in self.summaries]
        return min(values), max(values)


def read_lengths(path, cut):
    return [min(int(line), cut) for line in path.read_text().split()]


def imdb(args, figures, lists):
    path = lists / "imdb-uncased-400.txt"
    lengths = read_lengths(path, 400)
    common = dict(batch_size=16, max_length=400, padding="longest")
    in_sorted = peers.infinibatch_lengths(lengths, 0, rows=16)
    grouped = peers.dataloader_lengths(lengths, 16)
    worst = Strategy(args, "--lengths", path, batching="sorted", **common).worst()
    figures.add("IMDB 400, 16 rows, sorted: slots", "<= 6,362,000", slots(worst.slots), worst.slots <= 6362000,
                slots(in_sorted.slots), slots(grouped.slots))
    low, high = Strategy(args, "--lengths", path, batching="uniform", **common).range()
    figures.add("IMDB 400, 16 rows, uniform: slots", "6,380,000 ± 0.5 %", f"{low:,} to {high:,}",
                6380000 * 0.995 <= low and high <= 6380000 * 1.005)


def commonlit(args, figures, lists):
    path = lists / "commonlit-roberta-350.txt"
    lengths = read_lengths(path, 350)
    common = dict(batch_size=24, max_length=350)
    fixed = plan("--lengths", path, batching="random", padding="max_length", **common)[1]
    figures.add("CommonLit 350, 24 rows, fixed: slots", "991,900", slots(fixed["slots"]), fixed["slots"] == 991900)
    worst = Strategy(args, "--lengths", path, batching="sorted", padding="longest", **common).worst()
    figures.add("CommonLit 350 (CRLF), sorted: slots", "<= 624,200", slots(worst.slots), worst.slots <= 624200,
                slots(peers.infinibatch_lengths(lengths, 0, rows=24).slots), slots(peers.dataloader_lengths(lengths, 24).slots))


def commonlit_text(args, figures, folder):
    """The csv itself, its line ends changed to LF."""
    packed, tokenizer = args.data / "data" / "commonlit" / "train.csv.xz", args.data / "tokenizers" / "roberta-base"
    if not packed.exists() or not tokenizer.exists():
        print(f"left out: {packed}, {tokenizer}", file=sys.stderr)
        return
    path = folder / "commonlit.csv"
    with lzma.open(packed, "rt", encoding="utf-8", newline="") as source, open(path, "w", encoding="utf-8", newline="") as out:
        out.write(source.read().replace("\r\n", "\n"))
    common = dict(tokenizer=tokenizer, text_column="excerpt", batch_size=24, max_length=350, padding="longest")
    ids = [json.loads(line)["ids"] for line in run(BRIM, "tokenize", path, "-t", tokenizer, "--text-column", "excerpt", "--max-length",
                                                   350).splitlines()]
    lengths = list(map(len, ids))
    worst = Strategy(args, path, batching="sorted", **common).worst()
    figures.add("CommonLit 350 (LF, from the csv), sorted: slots", "about 619,100", slots(worst.slots),
                worst.slots <= 619100 * 1.002, slots(peers.infinibatch_lengths(lengths, 0, rows=24).slots),
                slots(peers.dataloader_lengths(lengths, 24).slots))
    uniform = Strategy(args, path, batching="uniform", **common)
    low, high = uniform.range()
    figures.add("CommonLit 350 (LF, from the csv), uniform: slots", "623,000 to 629,000, 119 batches",
                f"{low:,} to {high:,}, {uniform.worst().batches} batches", 623000 <= low and high <= 629000 and
                uniform.worst().batches == 119)


def wikitext(args, figures, lists):
    path = lists / "wikitext2-cased-512.txt"
    lengths = read_lengths(path, 512)
    source, common = ("--lengths", path), dict(max_length=512, padding="longest")
    order = count_of(plan(*source, batching="sequential", batch_size=32, **common)[1])
    figures.add("WikiText-2 512, file order, 32 rows", "66.1 %", share(order), abs(order.padding - 0.661) < 0.0005,
                share(peers.file_order(lengths, 32)))
    by_rows = Strategy(args, *source, batching="bucketed", batch_size=32, read_ahead=320, **common).worst()
    figures.add("WikiText-2 512, bucketed, 32 rows, read-ahead 320", "168 batches, <= 21.1 %", share(by_rows),
                by_rows.batches == 168 and by_rows.padding <= 0.211, share(peers.infinibatch_lengths(lengths, 320, rows=32)),
                share(peers.dataloader_lengths(lengths, 32)))
    by_tokens = Strategy(args, *source, batching="bucketed", max_tokens=MAX_TOKENS, read_ahead=READ_AHEAD, **common).worst()
    peer = peers.infinibatch_lengths(lengths, READ_AHEAD, max_tokens=MAX_TOKENS)
    figures.add("WikiText-2 512, bucketed, 16,384 tokens", "<= 38 batches, 5.19 %", share(by_tokens),
                by_tokens.batches <= 38 and by_tokens.padding <= 0.0519, share(peer))
    packed = Strategy(args, *source, batching="packed", max_tokens=MAX_TOKENS, max_length=512, padding="none").worst()
    figures.add("WikiText-2 512, packed, nothing padded", "36 batches, 0 %", share(packed), packed.batches == 36 and
                packed.slots == packed.tokens)


def multipack(args, figures, lists):
    path, budget, ranks = lists / "multipack.txt", 32768, 8
    lengths = read_lengths(path, 1 << 30)
    least, steps, dropped = 1.0, set(), 0
    for seed in range(args.seeds):
        parts, summary = plan("--lengths", path, batching="packed", padding="none", max_tokens=budget, world_size=ranks, seed=seed)
        last = max(part["step"] for part in parts)
        filled = sum(part["tokens"] for part in parts if part["step"] < last) / (last * ranks * budget)
        least, dropped = min(least, filled), dropped + len(summary["dropped"])
        steps.add(last + 1)
    timed = bench_plan(0, args.data)
    peer = peers.infinibatch_lengths(lengths, 0, max_tokens=budget)
    figures.add("multipack, 8 ranks of 32,768: steps", "37, nothing dropped", f"{max(steps)}, {dropped} dropped",
                steps == {37} and dropped == 0, f"{-(-peer.batches // ranks)} of 8 batches")
    figures.add("multipack: utilisation before the tail", "> 99.7 %", f"{100 * least:.2f} %", least > 0.997,
                f"{100 * peer.tokens / (peer.batches * budget):.2f} % of all batches")
    slowest = 1e3 * max(row["seconds"] for row in timed
                        if row["lengths"] == path.name and row["batching"] == "packed" and row["ranks"] == ranks)
    figures.add("multipack: planned in", "< 20 ms", f"{slowest:.1f} ms", slowest < 20)


def measure_lengths(args, figures, folder):
    lists = args.data / "data" / "lengths"
    if not lists.exists():
        print(f"left out: {lists} is not there (--data DIR)", file=sys.stderr)
        return
    imdb(args, figures, lists)
    commonlit(args, figures, lists)
    commonlit_text(args, figures, folder)
    wikitext(args, figures, lists)
    multipack(args, figures, lists)


# ---- planning -------------------------------------------------------------------------------------------------------


def measure_planning(figures):
    rows = bench_plan(10000000)
    kinds = {"one rank": lambda r: r["ranks"] == 1 and r["batch_size"] != 1,
             "8 ranks": lambda r: r["ranks"] == 8 and r["batch_size"] != 1,
             "batch_size 1": lambda r: r["ranks"] == 1 and r["batch_size"] == 1,
             "batch_size 1, 8 ranks": lambda r: r["ranks"] == 8 and r["batch_size"] == 1}
    for name, belongs in kinds.items():
        chosen = [row for row in rows if belongs(row)]
        slowest = max(chosen, key=lambda row: row["seconds"])
        megabytes = max(row["megabytes"] for row in chosen) + 4 * 10
        figures.add(f"ten million lengths, {name}: slowest plan", "< 2 s, < 1,000 MB",
                    f"{slowest['seconds']:.2f} s ({slowest['batching']}), {megabytes:.0f} MB",
                    slowest["seconds"] < 2 and megabytes < 1000)


# ---- the layout: sentences in gz shards ------------------------------------------------------------------------------


def sentences_of(path, out):
    """The reviews' sentences, one a line, spaces made one."""
    csv.field_size_limit(1 << 30)
    ends = re.compile(r"(?<=[.!?])\s+|<br /><br />")
    count = 0
    with open(path, encoding="utf-8", newline="") as file, open(out, "w", encoding="utf-8", newline="\n") as lines:
        for row in csv.DictReader(file):
            for sentence in ends.split(row["text"]):
                sentence = " ".join(sentence.split())
                if len(sentence) > 2:
                    lines.write(sentence + "\n")
                    count += 1
    return count


class Layout:
    """Sentences, their shards and their tokenizer; made once."""

    def __init__(self, args, folder):
        if args.imdb is None:
            fetch_data()
        self.text = folder / "sentences.txt"
        self.count = sentences_of(args.imdb or DATA / "imdb.csv", self.text)
        self.megabytes = self.text.stat().st_size / 1e6
        run(BRIM, "shard", self.text, "--records", 10000, "-o", folder / "shards", "--quiet")
        self.shards = sorted(map(str, (folder / "shards").iterdir()))
        run(BRIM, "shard", self.text, "--records", 10000, "--format", "zst", "-o", folder / "zst", "--quiet")
        self.zst = sorted(map(str, (folder / "zst").iterdir()))
        tokenizer = args.data / "tokenizers" / "bert-base-uncased"
        self.tokenizer = tokenizer if tokenizer.exists() else ROOT / "tests" / "golden" / "tokenizers" / "wordpiece-uncased"
        self.folder = folder

    def feed(self, cores=None, shards=None, **options):
        """The epochs of bench_data, on some cores."""
        defaults = dict(max_length=MAX_LENGTH, batching="bucketed", padding="longest", max_tokens=MAX_TOKENS, read_ahead=READ_AHEAD,
                        window=WINDOW)
        command = [PROGRAMS / "bench_data", self.tokenizer, *words_of({**defaults, **options}), *(shards or self.shards)]
        pinned = cores or os.sched_getaffinity(0)
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False,
                              preexec_fn=lambda: os.sched_setaffinity(0, pinned))
        if done.returncode:
            raise SystemExit(done.stderr.strip())
        return [json.loads(line) for line in done.stdout.splitlines()]

    def lengths(self):
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self.tokenizer / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_LENGTH)
        found = []
        for shard in self.shards:
            found += [len(encoding.ids) for encoding in tokenizer.encode_batch_fast(list(peers.read_chunk(shard)))]
        return found


def measure_layout(figures, layout):
    lengths = layout.lengths()
    mine = layout.feed(threads=4, prefetch=1)[0]
    again = layout.feed(threads=1, prefetch=0)[0]
    peer = peers.infinibatch_lengths(lengths, READ_AHEAD, max_tokens=MAX_TOKENS, shuffle_window=WINDOW)
    grouped = peers.dataloader_lengths(lengths, 32)
    count = count_of(mine)
    figures.add(f"{layout.count:,} sentences, bucketed, 16,384 tokens", "<= infinibatch", share(count),
                count.padding <= peer.padding and count.batches <= peer.batches, share(peer), share(grouped) + " (32 rows)")
    figures.add("the same sentences in file order, 32 rows", "beside", share(count_of(layout.feed(
        threads=4, batching="sequential", batch_size=32, max_tokens=0, read_ahead=0)[0])), None, share(peers.file_order(lengths, 32)))
    packed = count_of(layout.feed(threads=4, batching="packed", padding="none")[0])
    figures.add("the same sentences packed, nothing padded", "0 %", share(packed), packed.slots == packed.tokens)
    figures.add("the same batches from 1 and 4 threads", "yes", "yes" if mine["hash"] == again["hash"] else "no",
                mine["hash"] == again["hash"])
    figures.add("tokens as the Hugging Face tokenizer counts them", f"{sum(lengths):,}", f"{mine['tokens']:,}",
                sum(lengths) == mine["tokens"])


# ---- speed ----------------------------------------------------------------------------------------------------------


def bare_tokenizer(layout, cores, passes):
    """MB/s of the tokenizer on the same sentences in memory: the best of the warm passes."""
    texts = layout.folder / "sentences.nul"
    texts.write_bytes(layout.text.read_bytes().replace(b"\n", b"\0"))
    command = [str(PROGRAMS / "bench_tokenizers"), str(layout.tokenizer / "tokenizer.json"), str(texts), str(len(cores))]
    done = subprocess.run(command, input="\n" * (passes + 1), capture_output=True, text=True, check=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores))
    return layout.megabytes / min(float(line.split()[0]) for line in done.stdout.splitlines()[1:])


def inflating(layout, cores, passes):
    """MB/s of decompression of the same shards alone, on one core."""
    done = subprocess.run([str(PROGRAMS / "bench_inflate"), str(passes), *map(str, layout.shards)], capture_output=True, text=True, check=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores[:1]))
    return layout.megabytes / float(done.stdout)


def peer_speed(args, layout, cores):
    """Tokens/s of infinibatch's pipeline on some of the shards."""
    settings = {"shards": layout.shards[: args.peer_shards], "tokenizer": str(layout.tokenizer / "tokenizer.json"),
                "max_length": MAX_LENGTH, "read_ahead": READ_AHEAD, "max_tokens": MAX_TOKENS,
                "processes": 4 if len(cores) > 1 else 1}
    path = layout.folder / "settings.json"
    path.write_text(json.dumps(settings))
    done = subprocess.run([sys.executable, peers.__file__, str(path)], capture_output=True, text=True, check=False,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores))
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    result = json.loads(done.stdout.splitlines()[-1])
    return result["tokens"] / result["seconds"]


def epoch_seconds(epochs):
    """The best epoch that is warm and whole, as the bare tokenizer's best pass is: an epoch's clock begins with its first window made,
    so the first one has a window more and the last one less."""
    return min(epoch["seconds"] for epoch in (epochs[1:-1] or epochs))


def feed_and_tokenizer(args, layout, cores, shards=None):
    """MB/s of the feed and of the bare tokenizer, by turns: what else the machine does then bends both alike."""
    pairs, tokens = [], 0
    for _ in range(args.rounds):
        epochs = layout.feed(cores=cores, shards=shards, threads=len(cores), prefetch=len(cores) - 1, padding="none", epochs=args.passes)
        pairs.append((layout.megabytes / epoch_seconds(epochs), bare_tokenizer(layout, cores, args.passes)))
        tokens = epochs[0]["tokens"]
    return pairs, tokens


def measure_speed(args, figures, layout):
    everyone = sorted(os.sched_getaffinity(0))
    rates = {}
    for cores in ([everyone[:1]] if len(everyone) == 1 else [everyone[:1], everyone[:2]]):
        pairs, tokens = feed_and_tokenizer(args, layout, cores)
        megabytes, bare = (median(values) for values in zip(*pairs))
        ratio = median(mine / theirs for mine, theirs in pairs)
        rate, peer = tokens * megabytes / layout.megabytes, peer_speed(args, layout, cores)
        rates[len(cores)] = rate
        if len(cores) == 1:
            unpacked = median(inflating(layout, cores, args.passes) for _ in range(args.rounds))
        name = "1 core" if len(cores) == 1 else f"{len(cores)} cores"
        figures.add(f"gz text to ragged batches, {name}: tokens/s", ">= 30 x infinibatch",
                    f"{rate / 1e6:.2f} M ({rate / peer:.0f} x)", rate >= 30 * peer, f"{peer / 1e6:.3f} M")
        figures.add(f"the same, {name}: MB/s of text beside the bare tokenizer's", ">= 0.7 x",
                    f"{megabytes:.1f} of {bare:.1f} ({ratio:.2f} x)", ratio >= 0.7)
        pairs = feed_and_tokenizer(args, layout, cores, layout.zst)[0]
        figures.add(f"zst text, {name}: MB/s of text beside the bare tokenizer's", "beside",
                    f"{median(mine for mine, _ in pairs):.1f} ({median(mine / theirs for mine, theirs in pairs):.2f} x)", None)
        if len(cores) == 1:
            figures.add("decompressing alone: MB/s of text; with the bare tokenizer after it, beside the bare tokenizer's", "beside",
                        f"{unpacked:.1f} ({unpacked / (unpacked + bare):.2f} x)", None)
    if 2 in rates:
        figures.add("two cores over one", "beside", f"{rates[2] / rates[1]:.2f} x", None)


def measure_memory(args, figures, layout):
    """Peaks include what malloc keeps of freed pieces that it could not use again; in use is what nobody has freed."""
    epochs = layout.feed(threads=2, prefetch=1, padding="none", epochs=max(10, args.memory_passes))
    early, late, bound = epochs[4]["peak_mb"], epochs[9]["peak_mb"], epochs[9]["bound_mb"]
    figures.add("peak memory after 5 and after 10 passes", "flat (5 %), <= the stated bound",
                f"{early:.1f}, {late:.1f} MB of {bound:.0f}", late <= 1.05 * early and late <= bound)
    early, late = (max(epoch["in_use_mb"] for epoch in half) for half in (epochs[:5], epochs[5:10]))
    figures.add("memory in use, most after one of passes 1 to 5, and of 6 to 10", "flat (5 %)", f"{early:.1f}, {late:.1f} MB",
                late <= 1.05 * early)
    if len(epochs) > 10:
        peak, used = epochs[-1]["peak_mb"], max(epoch["in_use_mb"] for epoch in epochs)
        figures.add(f"after {len(epochs)} passes: peak memory; most in use after a pass", "beside", f"{peak:.1f}; {used:.1f} MB", None)


def main():
    args = arguments()
    wanted, figures = args.only.split(","), Figures()
    unknown = [part for part in wanted if part not in PARTS]
    if unknown:
        raise SystemExit(f"--only: no part is called {', '.join(unknown)}")
    with tempfile.TemporaryDirectory(prefix="bench-data-") as name:
        folder = pathlib.Path(name)
        if "lengths" in wanted:
            measure_lengths(args, figures, folder)
        if "planning" in wanted:
            measure_planning(figures)
        if set(wanted) & {"layout", "speed", "memory"}:
            layout = Layout(args, folder)
        if "layout" in wanted:
            measure_layout(figures, layout)
        if "speed" in wanted:
            measure_speed(args, figures, layout)
        if "memory" in wanted:
            measure_memory(args, figures, layout)
    print(machine())
    print_table(["figure", "target", "brim", "infinibatch", "length-grouped", ""], figures.table())
    write_json("bench-data.json", {"machine": machine(), "figures": figures.rows})


if __name__ == "__main__":
    main()
