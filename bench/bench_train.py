#!/usr/bin/env python3
"""Training on the CPU: brim next to PyTorch + transformers, and next to what the machine's matrix multiply allows.

The same weights, texts, batch size, optimizer, dropout and number of threads. PyTorch pads: `fixed` to the maximum, `dynamic` to the
longest text of a random batch, `sorted` in batches of equal length (evenly spaced over the epoch). Each is tried with eager and with
SDPA attention, and the better one takes part; --peer-paddings says which of the three. All take turns, round by round; figures are
medians. Tokens are real tokens: padding is no work done. Texts are tokenized beforehand on both sides.

A case is MODEL:TEXTS:BATCH. Models: minilm; distilbert, bert-base, modernbert-base, deberta-v3-small, mpnet-base, albert-base (shapes
with random weights). Texts: rt (Rotten Tomatoes at 64), imdb (at 400), stsb (pairs, at 128; needs --pairs), joined (reviews joined to
512 to 2,048 tokens). --also compile lets PyTorch compile too; autocast and bf16, the default, set products of 16-bit values beside,
PyTorch's and brim's: then bf16 is judged too, its UFU by the best of oneDNN's and brim's products of 16-bit values. Where cases are
bert-base and other shapes on the same texts, each one's UFU is set beside bert-base's. For each case:

  speed      real tokens/s and ratios; UFU: useful FLOPs of real tokens, full-model formula 6 N s + 12 L H s^2 (of a layer with a
             window, the tokens that it sees; DeBERTa's terms by distance are not counted), optimizer included, per second, over the speed of sgemm on the model's own shapes (forward, dX, dW; the best of OpenBLAS and oneDNN each),
             measured here in the same run on the same threads
  memory     peak resident memory of a process that trains, what brim printed beforehand, processor seconds a thousand tokens
  padding    eta: (t_padded / t_ragged) / (slots_padded / tokens) of brim against itself
and once, with MiniLM: start (to the first step), predict (trained for 300 steps on Rotten Tomatoes; fp32 and int8, next to PyTorch's
inference_mode in sorted batches and its quantize_dynamic), threads (2 next to 1, the same bits?).

A case ends after --budget seconds whatever the rounds (--steps makes them shorter); the number of rounds is printed. With one thread a
round in which other programs had a tenth of the processor is taken again. With --add, cases of earlier runs stand beside this one's, so
that a long table can be measured a case at a time; the tokens of texts are kept in build/bench-texts. --cpu avx2 holds
brim and PyTorch to AVX2 and sets the ratios beside those of the last run without it."""

import argparse
import json
import lzma
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from common import BRIM, DATA, ROOT, brim_json, fetch_data, launched, machine, median, print_table, write_json
from train_peers import ATTENTIONS, PADDINGS, Peer, Texts

TEXTS = {"rt": ("train.csv", 64), "imdb": ("imdb.csv", 400), "stsb": ("stsb.csv", 128), "joined": ("joined.csv", 2048)}
RELATIVE = {"relative_attention": True, "position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": True,
            "pos_att_type": ["p2c", "c2p"], "position_biased_input": False, "type_vocab_size": 0}
BASE = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
SHAPES = {"distilbert": ("distilbert", {"n_layers": 6}), "bert-base": ("bert", {}), "modernbert-base": ("modernbert", {"pad_token_id": 0}),
          "deberta-v3-small": ("deberta-v2", BASE | {"num_hidden_layers": 6} | RELATIVE), "mpnet-base": ("mpnet", {}),
          "albert-base": ("albert", BASE | {"embedding_size": 128})}
CASES = ["minilm:rt:16", "minilm:rt:32", "minilm:imdb:16", "minilm:stsb:16", "distilbert:rt:16", "distilbert:imdb:16",
         "bert-base:rt:16", "bert-base:imdb:16"]
PARTS = ["speed", "memory", "padding", "start", "predict", "threads"]
# Of bf16: ratio to the fastest PyTorch in sorted batches, in whatever precision, and to brim's fp32, where there is AMX, which fp32 takes
# as well (--cpu avx512 does not, and has half the speed); and without it.
NARROW_TARGETS = {"minilm:rt:16": ((1.9, None), (1.9, 1.65)), "minilm:imdb:16": ((2.5, None), (2.5, 1.75)),
                  "bert-base:rt:16": ((2.0, None), (1.2, 1.6)), "bert-base:imdb:16": ((1.5, None), (1.5, 1.6))}
# What is aimed at: ratio to sorted, ratio to fixed, UFU; of a case, or of a shape and texts in batches of any size.
TARGETS = {"minilm:rt:16": (2.0, 5.0, 0.70), "minilm:rt:32": (1.8, 4.5, None), "minilm:imdb:16": (1.8, 3.5, 0.80),
           "bert-base:rt:16": (1.4, None, 0.80), "bert-base:imdb:16": (1.4, None, 0.80),
           "deberta-v3-small:rt": (2.0, None, None), "deberta-v3-small:imdb": (2.0, None, None),
           "modernbert-base:joined": (2.0, None, None),
           **{f"{shape}:{texts}": (least, None, None) for shape in ("modernbert-base", "mpnet-base", "albert-base")
              for texts, least in (("rt", 1.3), ("imdb", 1.5))}}
AVX2 = {"BRIM_CPU": "avx2", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2", "OPENBLAS_CORETYPE": "Haswell"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(CASES), help="cases, separated by commas")
    parser.add_argument("--parts", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--also", default="autocast,bf16", help="PyTorch's compile and autocast, brim's bf16; separated by commas; empty: none")
    parser.add_argument("--attentions", default=",".join(ATTENTIONS), help="PyTorch's kinds of attention, separated by commas; eager keeps "
                        "[heads, length, length] of a batch for every layer")
    parser.add_argument("--peer-paddings", default=",".join(PADDINGS), help="what PyTorch pads to, separated by commas; sorted at least")
    parser.add_argument("--compile-limit", type=int, default=120, help="seconds until a compiled model has made its first step; else it "
                        "takes no part")
    parser.add_argument("--add", action="store_true", help="beside the cases that the last run left in build/bench-train.json")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=0, help="optimizer steps a round; 0: as many as take some seconds")
    parser.add_argument("--budget", type=float, default=150, help="seconds for the rounds of a case")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cpu", choices=["auto", "avx2"], default="auto")
    parser.add_argument("--pairs", type=pathlib.Path, help="csv (.xz) of sentence 1, sentence 2, score without a header; default: "
                        "that of --data")
    parser.add_argument("--data", type=pathlib.Path, help="folder with data/stsb; without it the pairs are left out")
    return parser.parse_args()


# ---- inputs ---------------------------------------------------------------------------------------------------------


def make_pairs(given, folder):
    """stsb.csv, or False when there is nothing to make it from."""
    import csv
    import io

    source = given or (folder / "data/stsb/stsb-en-train.csv.xz" if folder else None)
    if not source or not source.exists():
        return False
    raw = lzma.open(source, "rt", encoding="utf-8", newline="") if source.suffix == ".xz" else open(source, encoding="utf-8", newline="")
    with raw, open(DATA / "stsb.csv", "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["text", "text_pair", "label"])
        writer.writerows(row[:3] for row in csv.reader(io.StringIO(raw.read())))
    return True


def make_joined():
    """joined.csv: reviews of imdb.csv one after the other, 350 to 1,500 words a row, which are about 512 to 2,048 tokens."""
    import csv
    import random

    draw, words, label, want = random.Random(1), [], None, 350
    with open(DATA / "imdb.csv", encoding="utf-8", newline="") as source, open(DATA / "joined.csv", "w", encoding="utf-8", newline="") as out:
        csv.field_size_limit(1 << 30)
        writer = csv.writer(out)
        writer.writerow(["text", "label"])
        for row in csv.DictReader(source):
            words += row["text"].split()
            label = row["label"] if label is None else label
            if len(words) >= want:
                writer.writerow([" ".join(words[:1500]), label])
                words, label, want = [], None, draw.randint(350, 1500)


def model_folder(name, minilm):
    """MiniLM as it is, or a shape with random weights and MiniLM's tokenizer."""
    if name == "minilm":
        return minilm
    folder = DATA / "shapes" / name
    if not (folder / "config.json").exists():
        import torch
        from transformers import AutoConfig, AutoModelForSequenceClassification

        torch.manual_seed(1)
        kind, sizes = SHAPES[name]
        config = AutoConfig.for_model(kind, vocab_size=30522, num_labels=2, **sizes)
        AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
        shutil.copy(minilm / "tokenizer.json", folder)
    return folder


class Case:
    def __init__(self, name, minilm, options):
        model, texts, batch = name.split(":")
        self.name, self.batch, self.threads, self.given_steps = name, int(batch), options.threads, options.steps
        self.model, (file, self.max_length) = model_folder(model, minilm), TEXTS[texts]
        self.path = DATA / file
        self.texts = Texts(self.model, self.path, self.max_length, self.batch)
        config = json.loads((self.model / "config.json").read_text(encoding="utf-8"))
        self.hidden = config.get("hidden_size") or config["dim"]
        self.layers = config.get("num_hidden_layers") or config["n_layers"]
        self.intermediate = config.get("intermediate_size") or config["hidden_dim"]
        self.big = self.hidden >= 768
        self.gated = config["model_type"] == "modernbert"
        windowed = (config.get("layer_types") or []).count("sliding_attention")
        self.windows = windowed, config.get("local_attention", 0) + 1  # layers with one, and tokens that each sees

    def steps(self):
        """Optimizer steps a round: some seconds of the slowest contender."""
        if self.given_steps > 0:
            return self.given_steps
        work = self.layers * self.hidden**2 * self.max_length * self.batch
        return max(1, min(12, int(6e10 / work)))

    def least_steps(self):
        """Of brim, whose batches have texts of all lengths."""
        return 2 if self.big and self.max_length > 128 else 4

    def flops_per_token(self):
        weights = self.layers * (4 * self.hidden**2 + (3 if self.gated else 2) * self.hidden * self.intermediate)
        lengths, (windowed, seen) = self.texts.lengths, self.windows
        pairs = ((self.layers - windowed) * s * s + windowed * s * min(s, seen) for s in lengths)
        return (6 * weights * sum(lengths) + 12 * self.hidden * sum(pairs)) / sum(lengths)

    def tokens_a_step(self):
        return self.batch * sum(self.texts.lengths) / len(self.texts.lengths)

    def brim_options(self, **more):
        task = {"task": "regression"} if self.texts.regression else {}
        return dict(model=self.model, train=self.path, max_length=self.max_length, batch_size=self.batch, threads=self.threads, **task, **more)


# ---- speed ----------------------------------------------------------------------------------------------------------


def brim_modes(case, modes, steps, seed, precision="fp32"):
    return brim_json("compare", **case.brim_options(modes=modes, max_steps=steps, seed=seed, precision=precision))["modes"]


SLOWEST = 60  # seconds


def choose(case, options, fast):
    """The best kind of attention for each padding, from one short run each, and a model of each kind that is taken. One kind at a time
    is in memory: its first run only warms up. Where there is one kind, there is nothing to try."""
    speeds, also = {padding: {} for padding in options.peer_paddings.split(",")}, options.also.split(",")
    kinds = (*options.attentions.split(","), *(["compile"] if "compile" in also else []))
    for attention in kinds if len(kinds) > 1 else ():
        if attention == "compile" and not one_step(case, "compile", options.compile_limit):
            print(f"  {case.name}: compile: no step in {options.compile_limit} s", flush=True)
            continue
        try:
            peer = Peer(case.model, attention, case.texts.regression)
        except ValueError as none:
            print(f"  {case.name}: PyTorch has no {attention}: {str(none).splitlines()[0][:100]}", flush=True)
            continue
        peer.train(case.texts, "sorted", 1, 0)
        for padding in speeds:
            tokens, seconds, _ = peer.train(case.texts, padding, 1 if case.big else 2, 1)
            speeds[padding][attention] = tokens / seconds
        del peer
    for padding, each in speeds.items() if len(kinds) > 1 else ():
        print(f"  {case.name}: {padding}: " + ", ".join(f"{attention} {speed:,.0f}" for attention, speed in each.items()), flush=True)
    best = {padding: max(each, key=each.get) if each else kinds[0] for padding, each in speeds.items()}
    peers = {attention: Peer(case.model, attention, case.texts.regression)
             for attention in (*dict.fromkeys(best.values()), *(["autocast"] if "autocast" in also and fast else []))}
    for peer in peers.values():
        peer.train(case.texts, "sorted", 1, 0)
    return best, peers


def one_step(case, attention, limit):
    """Tokens a second of a single step of PyTorch in a process of its own, for what may take minutes: compilation, or products of 16
    bits on a processor that has none. None: it took longer than this many seconds."""
    order = {"model": str(case.model), "path": str(case.path), "max_length": case.max_length, "batch_size": case.batch,
             "threads": case.threads, "attention": attention, "padding": "sorted", "steps": 1}
    try:
        done = subprocess.run([sys.executable, pathlib.Path(__file__).parent / "train_peers.py", json.dumps(order)], capture_output=True,
                              text=True, check=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    child = json.loads(done.stdout.splitlines()[-1])
    return child["tokens"] / child["seconds"]


def sgemm(case):
    """GFLOP/s on the shapes of a layer at a batch's number of tokens: of each library alone, and of the best for each product."""
    rows, hidden, wide = int(case.tokens_a_step()), case.hidden, case.intermediate
    shapes = [(hidden, 3 * hidden), (hidden, hidden), (hidden, wide), (wide, hidden)]
    program = pathlib.Path(BRIM).resolve().parent / "bench" / "bench_products"
    done = subprocess.run([program, str(case.threads)] + [f"{rows}:{i}:{o}" for i, o in shapes], capture_output=True, text=True, check=True)
    measured = json.loads(done.stdout)["shapes"]
    kinds = ("forward", "input_gradient", "weight_gradient")
    names = [name for name in ("brim", "openblas", "onednn") if name in measured[0]]
    work = sum(s["in"] * s["out"] for s in measured) * len(kinds)

    def rate(pick):
        return work / sum(s["in"] * s["out"] / pick(s, kind) for s in measured for kind in kinds)

    speeds = {name: rate(lambda s, kind, name=name: s[name][kind]) for name in names}
    libraries = [name for name in names if name != "brim"] or names
    speeds["best"] = rate(lambda s, kind: max(s[name][kind] for name in libraries))
    return {"speeds": speeds, "shapes": measured, "libraries": libraries}


def narrow_rate(products):
    """GFLOP/s of 16-bit values on the same shapes: the best of brim's and PyTorch's (oneDNN's) for each product."""
    import torch

    def torch_rate(m, k, n):
        a, b = torch.randn(m, k, dtype=torch.bfloat16), torch.randn(k, n, dtype=torch.bfloat16)
        best = 1e9
        for _ in range(12):
            start = time.perf_counter()
            torch.matmul(a, b)
            best = min(best, time.perf_counter() - start)
        return 2e-9 * m * k * n / best

    work = seconds = 0
    for s in products["shapes"]:
        for kind, sides in (("forward", ("rows", "in", "out")), ("input_gradient", ("rows", "out", "in")), ("weight_gradient", ("out", "rows", "in"))):
            work += s["in"] * s["out"]
            seconds += s["in"] * s["out"] / max(s["brim_bf16"][kind], torch_rate(*(s[side] for side in sides)))
    return work / seconds


UNDISTURBED = 0.9  # of the time a single thread has the processor


def one_round(case, peers, best, steps, number, narrow):
    """Tokens a second of each way, and the least share of its time in which one had the processor."""
    taken, shares = {}, []

    def brim(precision):
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        speed = brim_modes(case, "brim", max(steps, case.least_steps()), number, precision)[0]["tokens_per_second"]
        after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - begin
        shares.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / seconds)
        return speed

    taken["brim"] = brim("fp32")
    if narrow:
        taken["brim bf16"] = brim("bf16")
    for way, attention, padding in [*((padding, best[padding], padding) for padding in best), ("autocast", "autocast", "sorted")]:
        if attention in peers:
            tokens, seconds, cpu = peers[attention].train(case.texts, padding, steps, number)
            taken[way] = tokens / seconds
            shares.append(cpu / seconds)
    return taken, min(shares)


def run_speed(case, options, doctor):
    narrow = "bf16" in options.also.split(",")
    best, peers = choose(case, options, doctor["bf16_fast"])
    if "autocast" in options.also.split(",") and "autocast" not in peers:
        speed = one_step(case, "autocast", SLOWEST)
        print(f"  {case.name}: autocast, one step: {f'{speed:,.0f} tokens/s' if speed else f'none in {SLOWEST} s'}: this processor has no "
              "products of 16 bits", flush=True)
    steps, speeds, limits = case.steps(), {}, []
    start, disturbed = time.monotonic(), 0
    for number in range(options.rounds):
        taken, share = one_round(case, peers, best, steps, number, narrow)
        while options.threads == 1 and share < UNDISTURBED and disturbed < 2:
            print(f"  {case.name}: round {number + 1} again: another program had {100 * (1 - share):.0f} % of the processor", flush=True)
            disturbed += 1
            taken, share = one_round(case, peers, best, steps, number, narrow)
        for way, speed in taken.items():
            speeds.setdefault(way, []).append(speed)
        limits.append(sgemm(case))
        if narrow:
            limits[-1]["speeds"]["bf16"] = narrow_rate(limits[-1])
        print(f"  {case.name}: round {number + 1}, {time.monotonic() - start:.0f} s", flush=True)
        if time.monotonic() - start > options.budget:
            break
    limit = median([l["speeds"]["best"] for l in limits])
    ufu = case.flops_per_token() * 1e-9 * median(speeds["brim"]) / limit
    return {"speeds": speeds, "attention": best, "steps": steps, "ufu": ufu,
            "sgemm": {name: median([l["speeds"][name] for l in limits]) for name in limits[0]["speeds"]}, "products": limits[-1]}


# ---- the other parts ------------------------------------------------------------------------------------------------


def brim_run(case, steps, threads=None, folder=None):
    """A whole `brim train` in a process of its own: log, profile, peak memory."""
    output = folder or tempfile.mkdtemp(prefix="brim-bench-")
    command = [BRIM, "train", "--quiet", "--overwrite", "--profile", "--output", output]
    for name, value in {**case.brim_options(max_steps=steps), "threads": threads or case.threads}.items():
        command += ["--" + name.replace("_", "-"), str(value)]
    _, peak = launched(command)
    events = [json.loads(line) for line in open(f"{output}/log.jsonl", encoding="utf-8")]
    trace = json.load(open(f"{output}/trace.json", encoding="utf-8"))
    frames = [event for event in trace["traceEvents"] if event["cat"] == "frame"]
    result = {"start": events[0], "steps": [event for event in events if event["event"] == "step"],
              "peak_bytes": peak,
              "first_step_after": frames[0]["ts"] * 1e-6, "rows": trace["otherData"]["rows"]}
    if not folder:
        shutil.rmtree(output)
    return result


def run_memory(case, options):
    steps = 2 if case.big else 6
    brim = brim_run(case, steps)
    frame = next(row for row in brim["rows"] if row["cat"] == "frame")
    tokens = sum(step["tokens"] for step in brim["steps"])
    parameters = brim["start"]["parameters"]
    result = {"parameters": parameters, "brim": brim["peak_bytes"], "planned": brim["start"]["memory_planned"],
              "brim_cpu": 1e3 * frame["cpu_seconds"] / tokens, "profile": brim["rows"]}
    for padding in ("fixed", "sorted"):
        order = {"model": str(case.model), "path": str(case.path), "max_length": case.max_length, "batch_size": case.batch,
                 "threads": case.threads, "attention": "sdpa", "padding": padding, "steps": steps}
        done = subprocess.run([sys.executable, pathlib.Path(__file__).parent / "train_peers.py", json.dumps(order)], capture_output=True,
                              text=True, check=True)
        child = json.loads(done.stdout.splitlines()[-1])
        result[padding] = child["peak_bytes"]
        result[padding + "_cpu"] = 1e3 * child["cpu_seconds"] / child["tokens"]
    return result


def run_padding(case, options):
    steps, values = 3 if case.big else 10, []
    for number in range(min(3, options.rounds)):
        fixed, ragged = brim_modes(case, "fixed,brim", steps, number)
        slowdown = ragged["tokens_per_second"] / fixed["tokens_per_second"]
        values.append(slowdown / (fixed["slots"] / fixed["tokens"]))
    return {"eta": median(values), "values": values}


def run_start(case, options):
    values = [brim_run(case, 1)["first_step_after"] for _ in range(options.rounds + 1)][1:]
    return {"seconds": median(values), "values": values}


TRAINED_STEPS = 300  # of batch 16: half of Rotten Tomatoes


def brim_scores(folder, case, path, precision):
    """Probabilities of every row."""
    command = [BRIM, "predict", "--model", folder, "--precision", precision, "--max-length", case.max_length, "--quiet", path]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    return [json.loads(line)["scores"] for line in done.stdout.splitlines()]


def compare_scores(scores, exact, labels):
    """What a way of computing changes: accuracy, share of rows with another label, largest change of a probability."""
    best = [row.index(max(row)) for row in scores]
    return {"accuracy": sum(got == want for got, want in zip(best, labels)) / len(labels),
            "changed": sum(got != row.index(max(row)) for got, row in zip(best, exact)) / len(labels),
            "largest": max(abs(x - y) for one, other in zip(scores, exact) for x, y in zip(one, other))}


def run_predict(case, folder, options):
    """With a model that was trained: in fp32 and with bytes, next to PyTorch's."""
    path, peer = DATA / ("test.csv" if case.path.name == "train.csv" else "imdb-40.csv"), Peer(folder, "sdpa")
    texts = Texts(folder, path, case.max_length, 32)
    peers = {"PyTorch fp32": peer, "PyTorch int8": peer.quantized()}
    peers = {name: each for name, each in peers.items() if each}
    scores = {"brim " + precision: brim_scores(folder, case, path, precision) for precision in ("fp32", "int8")}
    for name, each in peers.items():
        scores[name] = each.predict(texts, len(texts.ids))[2]  # and warms up
    rates = {name: [] for name in scores}
    for _ in range(options.rounds):
        for precision in ("fp32", "int8"):
            scored = brim_json("evaluate", path, model=folder, max_length=case.max_length, threads=case.threads, precision=precision)
            rates["brim " + precision].append(scored["tokens"] / scored["seconds"])
        for name, each in peers.items():
            tokens, seconds, _ = each.predict(texts, len(texts.ids))
            rates[name].append(tokens / seconds)
    quality = {name: compare_scores(of, scores[name.split()[0] + " fp32"], texts.labels) for name, of in scores.items()}
    return {"rates": rates, "quality": quality, "rows": len(texts.ids),
            "ratio": median(rates["brim fp32"]) / median(rates["PyTorch fp32"]),
            "int8_ratio": median([i / f for i, f in zip(rates["brim int8"], rates["brim fp32"])])}


def run_threads(case, options):
    folders, speeds = {}, {1: [], 2: []}
    for number in range(options.rounds):
        for threads in (1, 2):
            folder = tempfile.mkdtemp(prefix="brim-bench-")
            steps = brim_run(case, 16, threads, folder)["steps"]
            tokens = sum(step["tokens"] for step in steps[1:])
            speeds[threads].append(tokens / (steps[-1]["seconds"] - steps[0]["seconds"]))
            weights = pathlib.Path(folder, "model.safetensors").read_bytes()
            folders.setdefault(threads, weights)
            shutil.rmtree(folder)
    return {"speeds": speeds, "ratio": median(speeds[2]) / median(speeds[1]), "same_bits": folders[1] == folders[2]}


# ---- results --------------------------------------------------------------------------------------------------------


def verdict(value, target, at_most=False):
    if target is None:
        return ""
    return f"{'ok' if (value <= target if at_most else value >= target) else 'MISSED'} ({'<=' if at_most else '>='} {target})"


def print_speed(name, r, doctor):
    brim = median(r["speeds"]["brim"])
    against = dict(zip(("sorted", "fixed", "ufu"), TARGETS.get(name) or TARGETS.get(name.rsplit(":", 1)[0], (None, None, None))))
    rows = []
    for method, values in r["speeds"].items():
        label = f"{method}, random batches, no padding" if method.startswith("brim") else f"PyTorch, {method} ({r['attention'].get(method, 'sorted')})"
        ratio = (median(r["speeds"]["brim bf16"]) if method == "autocast" and "brim bf16" in r["speeds"] else brim) / median(values)
        rows.append([label, f"{median(values):,.0f}", f"{min(values):,.0f}", f"{max(values):,.0f}", f"{ratio:.2f} x",
                     verdict(ratio, against.get(method))])
    print(f"\n{name}: {r['steps']} steps a round, median of {len(r['speeds']['brim'])} rounds")
    print_table(["method", "tokens/s", "least", "most", "brim is", "target"], rows)
    speeds = ", ".join(f"{library} {speed:.0f}" for library, speed in r["sgemm"].items())
    alone = "openblas" not in r["sgemm"] or "onednn" not in r["sgemm"]
    print(f"UFU {r['ufu']:.3f} {verdict(r['ufu'], against['ufu'])}; sgemm on these shapes, GFLOP/s: {speeds}")
    print("OpenBLAS or oneDNN is missing, so UFU has too low a measure: tools/deps --bench\n" if alone else "")
    if "brim bf16" in r["speeds"]:
        print_narrow(name, r, "AMX" in doctor["bf16"])


def print_narrow(name, r, tiles):
    ours, wide = median(r["speeds"]["brim bf16"]), median(r["speeds"]["brim"])
    peer = max(median(r["speeds"][way]) for way in ("sorted", "autocast") if way in r["speeds"])
    of_peer, of_wide = NARROW_TARGETS.get(name, ((None, None),) * 2)[0 if tiles else 1]
    least = (0.72 if ":imdb:" in name else 0.68) if name in NARROW_TARGETS else None
    ufu = r["ufu"] * ours / wide * r["sgemm"]["best"] / r["sgemm"]["bf16"]
    print(f"bf16: {ours / peer:.2f} x the fastest sorted PyTorch {verdict(ours / peer, of_peer)}, {ours / wide:.2f} x brim's fp32 "
          f"{verdict(ours / wide, of_wide)}; UFU {ufu:.3f} of bf16 products {verdict(ufu, least)}\n")


def print_beside_bert(results):
    """UFU beside BERT-base's on the same texts."""
    for name, case in results.items():
        shape, texts, _ = name.split(":")
        bert = next((r for other, r in results.items() if other.startswith(f"bert-base:{texts}:") and "speed" in r), None)
        if bert and "speed" in case and shape != "bert-base":
            ratio = case["speed"]["ufu"] / bert["speed"]["ufu"]
            print(f"{name}: UFU {ratio:.3f} of BERT-base's {verdict(ratio, 0.90)}")


def print_memory(name, r):
    mib, best = 1 << 20, min(r["fixed"], r["sorted"])
    state = 16 * r["parameters"]
    ratio, activations = r["brim"] / best, (r["brim"] - state) / max(best - state, 1)
    small = name.startswith("minilm")
    print(f"{name}: peak memory brim {r['brim'] / mib:.0f} MiB, planned {r['planned'] / mib:.0f} MiB "
          f"({100 * (r['brim'] / r['planned'] - 1):+.1f} %, {verdict(abs(r['brim'] / r['planned'] - 1), 0.05, True)}); PyTorch sorted "
          f"{r['sorted'] / mib:.0f}, fixed {r['fixed'] / mib:.0f} MiB; ratio {ratio:.2f} {verdict(ratio, 0.5 if small else None, True)}, "
          f"without 16 bytes a parameter {activations:.2f} {verdict(activations, None if small else 0.4, True)}; CPU seconds a thousand "
          f"tokens: brim {r['brim_cpu']:.2f}, sorted {r['sorted_cpu']:.2f}, fixed {r['fixed_cpu']:.2f}")


def print_predict(name, r):
    base, rows = median(r["rates"]["PyTorch fp32"]), []
    for way, values in r["rates"].items():
        quality = r["quality"][way]
        rows.append([way, f"{median(values):,.0f}", f"{median(values) / base:.2f} x", f"{quality['accuracy']:.4f}",
                     f"{100 * quality['changed']:.2f} %", f"{quality['largest']:.3f}"])
    print(f"\nprediction, {name.split(':')[1]}: {r['rows']} texts, median of {len(r['rates']['brim fp32'])} rounds; PyTorch: inference_mode, "
          f"sorted{'' if 'PyTorch int8' in r['rates'] else '; it has no quantize_dynamic here'}")
    print_table(["", "tokens/s", "of PyTorch fp32", "accuracy", "labels that fp32 has not", "largest change"], rows)
    print(f"fp32 {r['ratio']:.2f} x {verdict(r['ratio'], 2.0)}; int8 next to fp32 {r['int8_ratio']:.2f} x {verdict(r['int8_ratio'], 2.0)}\n")


def print_avx2(results, before):
    for name, case in results.items():
        old = before.get(name, {}).get("speed")
        if "speed" not in case or not old:
            continue
        for padding in ("sorted", "fixed"):
            if padding not in case["speed"]["speeds"] or padding not in old["speeds"]:
                continue
            ratios = [median(s["speeds"]["brim"]) / median(s["speeds"][padding]) for s in (case["speed"], old)]
            print(f"{name}: {ratios[0]:.2f} x {padding} with AVX2, {ratios[1]:.2f} x without: {verdict(ratios[0] / ratios[1], 0.75)}")


def run_once(parts, minilm, options):
    case, results = Case("minilm:rt:16", minilm, options), {}
    if "start" in parts:
        results["start"] = run_start(case, options)
        seconds = results["start"]["seconds"]
        print(f"start to first step: {seconds:.2f} s {verdict(seconds, 1.0, True)}")
    if "predict" in parts:
        folder = tempfile.mkdtemp(prefix="brim-bench-")
        brim_run(case, TRAINED_STEPS, folder=folder)
        for name in ("minilm:rt:16", "minilm:imdb:16"):
            results["predict " + name] = r = run_predict(Case(name, minilm, options), folder, options)
            print_predict(name, r)
        shutil.rmtree(folder)
    if "threads" in parts and options.threads >= 2:
        for name in ("minilm:rt:16", "minilm:imdb:16"):
            results["threads " + name] = r = run_threads(Case(name, minilm, options), options)
            print(f"2 threads next to 1, {name.split(':')[1]}: {r['ratio']:.2f} x {verdict(r['ratio'], 1.85)}, "
                  f"{'the same bits' if r['same_bits'] else 'OTHER BITS'}")
    return results


def main():
    options = arguments()
    if options.cpu == "avx2" and os.environ.get("BRIM_CPU") != "avx2":
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **AVX2})
    os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX" if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text() else "Haswell")
    import torch
    import transformers

    torch.set_num_threads(options.threads)
    minilm, doctor, parts = fetch_data(), brim_json("doctor"), options.parts.split(",")
    versions = {"brim": doctor["version"], "PyTorch": torch.__version__, "transformers": transformers.__version__}
    print(f"{machine()}\n{versions}, {BRIM}, kernels {options.cpu}; {options.threads} threads\n")
    last = ROOT / "build" / "bench-train.json"
    before = json.loads(last.read_text(encoding="utf-8")).get("cases", {}) if last.exists() else {}
    results = dict(before) if options.add else {}
    for name in options.only.split(",") if options.only else []:
        if ":stsb:" in name and not (DATA / "stsb.csv").exists() and not make_pairs(options.pairs, options.data):
            print(f"{name}: SKIPPED, there are no pairs: give --pairs FILE")
            continue
        if ":joined:" in name and not (DATA / "joined.csv").exists():
            make_joined()
        case, results[name] = Case(name, minilm, options), {}
        if "speed" in parts:
            results[name]["speed"] = run_speed(case, options, doctor)
            print_speed(name, results[name]["speed"], doctor)
        if "memory" in parts:
            results[name]["memory"] = run_memory(case, options)
            print_memory(name, results[name]["memory"])
        if "padding" in parts:
            results[name]["padding"] = r = run_padding(case, options)
            print(f"{name}: eta {r['eta']:.3f} {verdict(r['eta'], 0.95)}")
    print_beside_bert(results)
    once = run_once(parts, minilm, options)
    if options.cpu == "avx2":
        print_avx2(results, before)
    write_json("bench-train.json" if options.cpu == "auto" else "bench-train-avx2.json",
               {"machine": machine(), "versions": versions, "doctor": doctor, "threads": options.threads, "rounds": options.rounds,
                "cases": results, "once": once})


if __name__ == "__main__":
    main()
