#!/usr/bin/env python3
"""The program on the emulated card, from the command line to the file: command_line.py BRIM LIBRARY FOLDER [CHECK...]

brim opens the false driver as it would open libcuda and NVRTC; the kernels run on the processor. All checks, or those that are named.
A program with sanitizers may run on a library without: BRIM_EMULATED names it. TAP."""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

BRIM, LIBRARY = os.path.abspath(sys.argv[1]), os.path.abspath(os.environ.get("BRIM_EMULATED", sys.argv[2]))
sys.path.insert(0, sys.argv[3])
import fixtures  # noqa: E402
from run import scratch  # noqa: E402

checks = 0
failed = 0


def ok(good, name):
    global checks, failed
    checks, failed = checks + 1, failed + (not good)
    print(f"{'ok' if good else 'not ok'} {checks} - {name}", flush=True)


def run(*words, **variables):
    """stdout, stderr and exit code; other variables than those of the card."""
    environment = {**os.environ, "BRIM_LIBCUDA": LIBRARY, "BRIM_NVRTC": LIBRARY, "BRIM_CUBLASLT": "none", "BRIM_CACHE": "cache",
                   "NO_COLOR": "1", **variables}
    done = subprocess.run([BRIM, *words], env=environment, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr, done.returncode


def weights(folder):
    data = pathlib.Path(folder, "model.safetensors").read_bytes()
    values = data[8 + struct.unpack("<Q", data[:8])[0]:]
    return struct.unpack(f"<{len(values) // 4}f", values)


def distance(one, other):
    return max(abs(a - b) for a, b in zip(weights(one), weights(other), strict=True))


def mean_distance(one, other):
    pairs = list(zip(weights(one), weights(other), strict=True))
    return sum(abs(a - b) for a, b in pairs) / len(pairs)


def events(folder):
    return [json.loads(line) for line in pathlib.Path(folder, "log.jsonl").read_text(encoding="utf-8").splitlines()]


def train(output, *words, epochs=2, model="model", **variables):
    long = [] if "--max-steps" in words else ["--epochs", str(epochs)]
    return run("train", "--model", model, "--train", "train.csv", *long, "--batch-size", "8", "--lr", "1e-3", "--schedule",
               "constant", "--output", output, "--quiet", *words, **variables)


def scores(*words):
    out, error, code = run("predict", "--model", "card", "train.csv", "--quiet", *words)
    return [score for line in out.splitlines() for score in json.loads(line)["scores"]] if code == 0 else error


def check_training():
    said = [train("card", "--device", "cuda"), train("card2", "--device", "cuda", BRIM_EMULATE_SEED="77"), train("processor")]
    ok(all(code == 0 for _, _, code in said), f"train ends well on both devices {''.join(error for _, error, _ in said)}")
    ok(distance("card", "processor") < 1e-5, f"six steps with dropout: weights within 1e-5 of the processor's ({distance('card', 'processor'):.1e})")
    ok(weights("card") == weights("card2"), "the same weights in another order of threads and blocks")
    start = events("card")[0]
    ok(start["kernels"] == "cuda-sm90" and start["given"]["device"] == "cuda", "the run says which device and kernels it had")
    ok(len(list(pathlib.Path("cache").rglob("*.cubin"))) == 1, "kernels were compiled once, and kept")


def check_parts():
    """Other ways to compute a step."""
    for name, words in {"padded": ["--padding", "longest"], "in parts": ["--accumulate", "3"], "with checkpoints": ["--checkpoint-activations"],
                        "with frozen embeddings": ["--freeze", "embeddings"], "pooled": ["--pooling", "max"], "with decay": ["--weight-decay", "0.1"],
                        "averaged": ["--swa-start", "0.5"], "evaluated": ["--eval", "train.csv"]}.items():
        (_, first, a), (_, second, b) = (train(f"part-{device}", "--overwrite", "--device", device, *words) for device in ("cuda", "cpu"))
        apart = distance("part-cuda", "part-cpu") if a == b == 0 else 1
        ok(apart < 1e-5, f"{name}: near the processor's ({apart:.1e}) {first}{second}")


def check_resume():
    train("shorter", "--device", "cuda", epochs=1)
    before = len(events("shorter"))
    _, error, code = train("shorter", "--resume")
    ok(code == 0 and weights("shorter") == weights("card") and len(events("shorter")) > before,
       f"a run that became longer has the bits of one that was long, and its device {error}")
    train("other", "--device", "cuda", epochs=1)
    _, error, code = train("other", "--resume", "--device", "cpu")
    ok(code == 1 and "cuda-sm90" in error, f"it does not continue elsewhere: {error.strip()}")
    _, error, code = train("other", "--resume", BRIM_FAKE_CAPABILITY="80")
    ok(code == 1 and "cuda-sm90" in error and "cuda-sm80" in error, f"nor on another card: {error.strip()}")


def check_inference():
    card, processor = scores("--device", "cuda"), scores("--device", "cpu")
    ok(len(card) == len(processor) > 0 and max(abs(a - b) for a, b in zip(card, processor)) < 1e-6, "predictions are near the processor's")
    loss = [json.loads(run("evaluate", "--model", "card", "train.csv", "--quiet", "--json", "--device", device)[0])["loss"] for device in ("cuda", "cpu")]
    ok(abs(loss[0] - loss[1]) < 1e-6, "an evaluation is near the processor's")
    said = scores("--device", "cuda", "--precision", "int8")
    ok(isinstance(said, str) and "bytes" in said, f"int8 is refused: {said.strip()}")


def check_words():
    found = json.loads(run("doctor", "--no-speed", "--json")[0])
    ok(found["devices"] == ["cpu", "cuda"] and found["gpu"]["name"] == "emulated" and found["gpu"]["capability"] == 90
       and found["gpu"]["compiler_version"] == 13000, f"doctor finds the card: {found['gpu']}")
    lines = run("doctor", "--no-speed")[0]
    ok("cpu, cuda" in lines and "emulated, sm_90" in lines and LIBRARY in lines, "and says so in lines")
    for name, variables, word in (("no driver", {"BRIM_LIBCUDA": "/nowhere"}, "BRIM_LIBCUDA"), ("no compiler", {"BRIM_NVRTC": "/nowhere"}, "BRIM_NVRTC"),
                                  ("no card", {"BRIM_FAKE_CARDS": "0"}, "no GPU"), ("an old card", {"BRIM_FAKE_CAPABILITY": "61"}, "6.1"),
                                  ("an old driver", {"BRIM_FAKE_DRIVER": "11040"}, "CUDA 11.4")):
        _, error, code = train("none", "--device", "cuda", **variables)
        ok(code == 1 and word in error and error.count("\n") == 1 and not os.path.exists("none"), f"{name}: {error.strip()}")
        gpu = json.loads(run("doctor", "--no-speed", "--json", **variables)[0])
        ok(gpu["devices"] == ["cpu"] and word in gpu["gpu"]["missing"], f"{name}: doctor says it too")


def check_products():
    """With cuBLASLt."""
    _, error, code = train("products", "--device", "cuda", BRIM_CUBLASLT=LIBRARY)
    apart = distance("products", "processor") if code == 0 else 1
    kernels = events("products")[0]["kernels"]
    ok(apart < 1e-5 and kernels == "cuda-sm90-cublaslt130100x132", f"products by cuBLASLt: near the processor's ({apart:.1e}), {kernels} {error}")
    ok(weights("products") != weights("card"), "and they are its own")
    train("products1", "--device", "cuda", epochs=1, BRIM_CUBLASLT=LIBRARY)
    _, error, code = train("products1", "--resume")
    ok(code == 1 and "cublaslt" in error, f"a run does not continue without it: {error.strip()}")
    gpu = json.loads(run("doctor", "--no-speed", "--json", BRIM_CUBLASLT=LIBRARY)[0])["gpu"]
    ok(gpu["products"] == LIBRARY and gpu["products_version"] == 13010, "doctor finds it")
    ok("pip install nvidia-cublas" in run("doctor", "--no-speed")[0], "and says what to install")


def check_tf32():
    """Products that round what they multiply: near, with other bits, and part of what a run records."""
    more = {"BRIM_CUBLASLT": LIBRARY}
    _, error, code = train("tf32", "--device", "cuda", "--tf32", epochs=1, **more)
    apart = mean_distance("tf32", "products1") if code == 0 else 1
    kernels = events("tf32")[0]["kernels"] if code == 0 else ""
    ok(0 < apart < 1e-3 and kernels == "cuda-sm90-cublaslt130100x132-tf32", f"--tf32: {apart:.1e} from true fp32, {kernels} {error}")
    said = [train("tf32", "--resume", **more), train("tf32-long", "--device", "cuda", "--tf32", **more)]
    ok(all(code == 0 for _, _, code in said) and weights("tf32") == weights("tf32-long"), "a run that is resumed keeps it, unasked")
    _, error, code = train("products1", "--resume", "--tf32", **more)
    ok(code == 1 and "130100x132-tf32" in error and error.count("\n") == 1, f"and one that was not begun so does not continue so: {error.strip()}")
    for name, words, variables, word in (("on a processor", [], more, "device cuda"), ("without cuBLASLt", ["--device", "cuda"], {}, "nvidia-cublas"),
                                         ("on an older card", ["--device", "cuda"], {**more, "BRIM_FAKE_CAPABILITY": "75"}, "7.5")):
        _, error, code = train("none", "--tf32", *words, **variables)
        ok(code == 1 and word in error and error.count("\n") == 1 and not os.path.exists("none"), f"--tf32 {name}: {error.strip()}")


def check_narrow():
    """Values of 16 bits: the processor rounds them where the card does, and other masks would move weights by a hundred times as much."""
    words = ["--precision", "bf16"]
    said = [train("narrow", "--device", "cuda", *words), train("narrow2", "--device", "cuda", *words, BRIM_EMULATE_SEED="78"),
            train("narrow-cpu", *words), train("narrow-lt", "--device", "cuda", *words, BRIM_CUBLASLT=LIBRARY)]
    config = pathlib.Path("model/config.json")
    kept = config.read_text(encoding="utf-8")
    config.write_text(json.dumps({**json.loads(kept), "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}), encoding="utf-8")
    said.append(train("no-masks", *words))
    config.write_text(kept, encoding="utf-8")
    ok(all(code == 0 for _, _, code in said), f"bf16: train ends well {''.join(error for _, error, _ in said)}")
    apart, products, masks = (mean_distance(name, "narrow-cpu") for name in ("narrow", "narrow-lt", "no-masks"))
    ok(apart < 1e-4 and products < 1e-4, f"bf16: weights are {apart:.1e} from the processor's in bf16, with cuBLASLt {products:.1e}")
    ok(masks > 20 * max(apart, products), f"and {masks:.1e} without masks")
    ok(weights("narrow") == weights("narrow2"), "bf16: the same weights in another order of threads and blocks")
    ok(mean_distance("narrow", "card") > 0, "and they are not those of fp32")
    train("narrow1", "--device", "cuda", *words, epochs=1)
    _, error, code = train("narrow1", "--resume", *words)
    ok(code == 0 and weights("narrow1") == weights("narrow"), f"bf16: a resumed run has the same bits {error}")
    ok(events("narrow")[0]["given"]["precision"] == "bf16", "the run says that it was in bf16")


def check_heads():
    """Heads of 32, 64 and 128 columns in bf16, whose attention tensor cores compute, each with its own kernel."""
    kept = fixtures.HIDDEN, fixtures.HEADS
    for heads, columns in ((2, 32), (1, 64), (1, 128)):
        fixtures.HIDDEN, fixtures.HEADS = heads * columns, heads
        model = f"wide{columns}"
        fixtures.write_model(pathlib.Path(model))
        name, words = f"{heads} heads of {columns} columns", ["--precision", "bf16"]
        runs = {f"heads-{columns}{how}": train(f"heads-{columns}{how}", *words, *more, epochs=1, model=model, **variables) for how, more, variables in
                (("", ["--device", "cuda"], {}), ("-again", ["--device", "cuda"], {"BRIM_EMULATE_SEED": "79"}), ("-plain", ["--device", "cuda"], {"BRIM_CUDA_MMA": "0"}), ("-cpu", [], {}))}
        ok(all(code == 0 for _, _, code in runs.values()), f"{name}: train ends well {''.join(error for _, error, _ in runs.values())}")
        card, again, plain, cpu = runs
        ok([events(run)[0]["kernels"] for run in (card, plain)] == ["cuda-sm90-mma", "cuda-sm90"] and weights(card) == weights(again),
           f"{name}: by tensor cores, the same bits in another order of threads and blocks")
        apart = [mean_distance(card, other) for other in (cpu, plain)]
        ok(max(apart) < 1e-4 and (apart[1] > 0 or columns < 64), f"{name}: weights are {apart[0]:.1e} from the processor's in bf16, {apart[1]:.1e} from those without tensor cores")
    fixtures.HIDDEN, fixtures.HEADS = kept


def check_half():
    """fp16: a scaled loss, which a gradient that is not finite halves, and steps without one double."""
    half = ["--device", "cuda", "--precision", "fp16"]
    for name, words in {"half": [], "half-lt": [LIBRARY]}.items():
        _, error, code = train(name, *half, BRIM_CUBLASLT=(words or ["none"])[0])
        apart = mean_distance(name, "processor") if code == 0 else 1
        ok(apart < 1e-4, f"fp16: weights are {apart:.1e} from the processor's in fp32 {error}")
    steps = [event for event in events("half") if event["event"] == "step"]
    ok([step["loss_scale"] for step in steps] == [65536.0] * 6 and steps[-1]["skipped"] == 0, "six steps have the first factor, none is skipped")
    doubling = [*half, "--loss-scale", "16384", "--loss-scale-steps", "2"]
    train("doubled", *doubling)
    scales = [event["loss_scale"] for event in events("doubled") if event["event"] == "step"]
    ok(scales == [16384.0, 32768.0, 32768.0, 65536.0, 65536.0, 131072.0], f"after two good steps each the factor doubles: {scales}")
    ok(mean_distance("doubled", "half") < 1e-4, "another factor changes rounding alone")
    train("doubled1", *doubling, epochs=1)
    _, error, code = train("doubled1", "--resume", *doubling[2:])
    ok(code == 0 and weights("doubled1") == weights("doubled"), f"a resumed run has the same factors and bits {error}")
    grown = json.loads(next(pathlib.Path("doubled1/checkpoints").glob("step-6/state.json")).read_text(encoding="utf-8"))["state"]
    ok(grown["loss_scale"] == 131072 and grown["scaled"] == 0, f"its checkpoint says which: {grown['loss_scale']}")
    too_large = [*half, "--loss-scale", str(2**30)]
    said = [train(f"large{count}", *too_large, "--max-steps", str(count)) for count in (1, 2, 12)]
    first, second, longer = ([event for event in events(f"large{count}") if event["event"] == "step"] for count in (1, 2, 12))
    ok(all(code == 0 for _, _, code in said) and first[0]["loss_scale"] == 2**29 and first[0]["skipped"] == 1 and second[1]["skipped"] == 2,
       f"a gradient that is not finite halves the factor {said[0][1]}")
    ok(weights("large1") == weights("large2"), "and changes no weight")
    ok(0 < longer[-1]["skipped"] < 12 and weights("large12") != weights("large1"), f"{longer[-1]['skipped']} steps of twelve were left out")
    for words in (["--precision", "fp16"], ["--precision", "bf16", "--loss-scale", "1024"], [*half, "--loss-scale", "1000"]):
        _, error, code = train("refused", *words)
        ok(code != 0 and error.count("\n") == 1 and not os.path.exists("refused"), f"refused: {error.strip()}")
    loss = [json.loads(run("evaluate", "--model", "card", "train.csv", "--quiet", "--json", "--device", "cuda", *words)[0])["loss"]
            for words in ([], ["--precision", "fp16"])]
    ok(loss[0] != loss[1] and abs(loss[0] - loss[1]) < 1e-3, f"an evaluation in fp16 is near that in fp32: {loss}")


def check_far():
    """A residual stream that leaves what fp16 has (65,504), as those of trained models may: a column of ModernBERT's after its first layer."""
    folder = pathlib.Path("far")
    shutil.copytree(pathlib.Path(sys.argv[3]).parent / "golden/models/modernbert-cls", folder)
    for name in ("vocab.txt", "tokenizer_config.json"):
        shutil.copy(pathlib.Path("model", name), folder)
    file = folder / "model.safetensors"
    data = bytearray(file.read_bytes())
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:begin])
    for name, rows, change in (("Wi", slice(None), lambda x: 10 * x), ("Wo", slice(5, 6), lambda x: 60000)):
        tensor = header[f"model.layers.0.mlp.{name}.weight"]
        count, width = tensor["shape"]
        for row in range(count)[rows]:
            at = begin + tensor["data_offsets"][0] + 4 * width * row
            data[at:at + 4 * width] = struct.pack(f"<{width}f", *map(change, struct.unpack(f"<{width}f", data[at:at + 4 * width])))
    file.write_bytes(data)
    said = {precision: run("predict", "--model", "far", "train.csv", "--quiet", "--device", "cuda", "--precision", precision) for precision in ("fp32", "fp16")}
    exact, half = ([score for line in out.splitlines() for score in json.loads(line)["scores"]] for out, _, _ in said.values())
    apart = max((abs(a - b) for a, b in zip(exact, half)), default=1)
    ok(all(code == 0 for _, _, code in said.values()) and len(exact) == len(half) > 0 and apart < 0.02,
       f"fp16: scores are {apart:.1e} from those of fp32 {''.join(error for _, error, _ in said.values())}")
    _, error, code = train("far-half", "--device", "cuda", "--precision", "fp16", model="far", epochs=1)
    steps = [event for event in events("far-half") if event["event"] == "step"] if code == 0 else []
    ok(bool(steps) and steps[0]["skipped"] == 0, f"and no first step is left out {error}")


def check_made():
    """Kernels that were compiled beforehand, under the name that a missing one is asked for by."""
    cubin = next(pathlib.Path("cache").rglob("*.cubin"))
    text = cubin.read_bytes().rstrip(b"\0").split()[-1].decode()  # the false compiler's machine code is the text's hash
    pathlib.Path("made").mkdir()
    pathlib.Path("made", f"{text}-sm_90.cubin").write_bytes(cubin.read_bytes())
    _, error, code = train("made-run", "--device", "cuda", BRIM_CUBINS="made", BRIM_NVRTC="/nowhere")
    ok(code == 0 and weights("made-run") == weights("card"), f"kernels that were compiled beforehand need no compiler {error}")
    ok("compiled beforehand" in run("doctor", "--no-speed", BRIM_CUBINS="made", BRIM_NVRTC="/nowhere")[0], "and doctor says so")


def check_losses():
    """No memory, before and within a run; and a card that is lost within one."""
    for room in ("1000000", "8500000", "8900000"):
        _, error, code = train("none", "--device", "cuda", BRIM_FAKE_MEMORY=room)
        ok(code == 1 and "memory" in error and "GPU" in error and error.count("\n") == 1 and not os.path.exists("none"), f"a card of {room} bytes: {error.strip()}")
    for code_of, name in (("719", "LAUNCH_FAILED"), ("214", "ECC_UNCORRECTABLE"), ("999", "UNKNOWN")):
        _, error, code = train("lost", "--device", "cuda", "--save-every", "1", "--overwrite", BRIM_FAKE_FAIL="300", BRIM_FAKE_CODE=code_of)
        ok(code == 1 and "the GPU was lost" in error and name in error and error.count("\n") == 1, f"a card that is lost: {error.strip()}")
    kept = list(pathlib.Path("lost/checkpoints").glob("step-*"))
    _, error, code = train("lost", "--resume", "--device", "cuda", "--save-every", "1")
    ok(code == 0 and kept and weights("lost") == weights("card"), f"resumed from one of {len(kept)} checkpoints it ends with the same weights {error}")


def check_cards():
    """Of several cards a run takes the one that it is told, or that has its number among the processes of the machine."""
    two = {"BRIM_FAKE_CARDS": "2", "BRIM_FAKE_TELL": "1"}
    for device, rank, card in (("cuda", None, 0), ("cuda:0", "1", 0), ("cuda:1", None, 1), ("cuda", "1", 1), ("cuda", "2", 0)):
        more = {"OMPI_COMM_WORLD_LOCAL_RANK": rank} if rank else {}
        _, error, code = train("carded", "--device", device, "--overwrite", epochs=1, **two, **more)
        ok(code == 0 and set(re.findall(r"card (\d)", error)) == {str(card)}, f"--device {device}, process {rank or 'alone'}: card {card} {'' if code == 0 else error}")
    _, error, code = train("carded", "--device", "cuda:1", "--precision", "fp16", "--overwrite", epochs=1, **two)
    ok(code == 0, f"--device cuda:1 in fp16 {error}")
    _, error, code = train("none", "--device", "cuda:2", **two)
    ok(code == 1 and "cuda:2" in error and error.count("\n") == 1, f"one that is not there: {error.strip()}")
    ok("cuda:0 to cuda:1" in run("doctor", "--no-speed", **two)[0], "doctor says how many there are")


LOSE = """if [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ]; then "$@"; code=$?; touch gone; exit $code; fi
"$@" & lost=$!
until grep -q '"event":"step"' "$WATCHED/log.jsonl" 2>/dev/null || [ -e gone ]; do sleep 0.1; done
kill -9 $lost
until [ -e gone ]; do sleep 0.1; done"""


def train_ranks(output, *words, failing=None, lost=False, **variables):
    """Two processes: what they say, and how they end. `failing`: the call of the second one's card that fails ("FAIL=n"; "FAIL_WAIT=n": where it
    waits for its stream). `lost`: the second one is killed after the first step, where the launcher does not see it."""
    more = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_ALLOW_RUN_AS_ROOT": "1",
            "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMPI_MCA_btl_base_warn_component_unused": "0"}
    environment = {**os.environ, **more, "BRIM_LIBCUDA": LIBRARY, "BRIM_NVRTC": LIBRARY, "BRIM_CUBLASLT": "none", "BRIM_CACHE": "cache", "NO_COLOR": "1",
                   "BRIM_FAKE_TELL": "1", "WATCHED": output, **variables}
    if "ASAN_OPTIONS" in environment:  # MPI's libraries do not give all of theirs back
        environment["ASAN_OPTIONS"] += ":detect_leaks=0"
    shell = LOSE if lost else f'[ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = 0 ] || export BRIM_FAKE_{failing}; exec "$@"' if failing else 'exec "$@"'
    long = [] if "--max-steps" in words else ["--epochs", "2"]
    done = subprocess.run(["mpirun", "-n", "2", "sh", "-c", shell, "sh", BRIM, "train", "--model", "model", "--train", "train.csv", *long, "--batch-size", "8", "--lr", "1e-3",
                           "--schedule", "constant", "--output", output, "--quiet", "--device", "cuda", "--threads", "1", *words],
                          env=environment, capture_output=True, text=True, check=False, timeout=300)
    return done.stderr, done.returncode


def check_ranks():
    """Two processes with a card each add up gradients by NCCL; where that cannot be, on the host."""
    if not shutil.which("mpirun"):
        print("# there is no mpirun: several cards are not tried")
        return
    cards = {"BRIM_FAKE_CARDS": "2", "BRIM_NCCL": LIBRARY}

    def sums_of(error):
        """Of each rank: how many values its card summed, how often, and after how many kernels each time."""
        return [(int(values), int(count), [int(number) for number in after.split()]) for _, count, values, after in
                sorted(re.findall(r"rank (\d) of 2, (\d+) sums of (\d+) values, after kernels([ \d]*)", error))]

    error, code = train_ranks("ranks", BRIM_CUDA_GRAPHS="0", **cards)
    sums = sums_of(error)
    size = len(weights("ranks")) if code == 0 else 0
    ok(code == 0 and len(sums) == 2 and sums[0][:2] == sums[1][:2] and size <= sums[0][0] // 6 < size + 200 and set(re.findall(r"card (\d)", error)) == {"0", "1"},
       f"two processes, two cards: sums of all {size} values in each of six steps, on both {'' if code == 0 else error} {sums}")
    steps = [after[i * (count // 6):(i + 1) * (count // 6)] for _, count, after in sums for i in range(6)]
    ok(steps and all(len(step) >= 7 and step[0] + 20 < step[-1] and len(set(step)) >= 4 for step in steps), f"in pieces, which are queued while backward is {steps[:1]}")
    apart = distance("ranks", "card") if code == 0 else 1
    ok(apart < 1e-5, f"near a run of one process ({apart:.1e})")
    error, code = train_ranks("ranks2", "--overwrite", BRIM_CUDA_GRAPHS="all", BRIM_EMULATE_SEED="79", **cards)
    graphs = sums_of(error)
    ok(code == 0 and weights("ranks2") == weights("ranks") and [one[:2] for one in graphs] == [one[:2] for one in sums],
       f"where backward is a graph, the same sums follow it, with the same bits {'' if code == 0 else error}")
    few = ("--batch-size", "1", "--max-steps", "4")  # one process has no rows
    (error, code), (other, host) = train_ranks("ranks-few", *few, BRIM_CUDA_GRAPHS="0", **cards), train_ranks("ranks-host", *few, BRIM_FAKE_CARDS="2", BRIM_NCCL="none")
    counts = {one[:2] for one in sums_of(error)}
    ok(code == host == 0 and weights("ranks-few") == weights("ranks-host") and len(counts) == 1, f"a process without rows sums as often {counts} {error if code else ''} {other if host else ''}")
    ends = [train_ranks("ranks-failing", "--overwrite", BRIM_CUDA_GRAPHS="0", failing=call, **cards) for call in ("FAIL=690", "FAIL=900", "FAIL_WAIT=9", "FAIL_WAIT=10")]
    wrong = re.compile(r"# false \w+: (?!card \d|rank \d)")  # what the false libraries say of a call that is not right
    ok(all(code != 0 and "rank 1 of 2" in error and "given up" in error and not wrong.search(error) and "brim: rank 1: " in error for error, code in ends), f"a card that fails: sums are given up {ends}")
    heard = ["rank 0 of 2" in error for error, _ in ends]
    ok(any(heard[:-1]) and not heard[-1], f"{heard}: by the other, too, but in the last wait of a step: there its card waits for this one's, and it hears that this one has left")
    header, *rows = pathlib.Path("train.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    pathlib.Path("long.csv").write_text("".join([header, *40 * rows]), encoding="utf-8")
    error, code = train_ranks("ranks-lost", "--max-steps", "1", "--eval", "long.csv", lost=True, **cards)
    good = code != 0 and "rank 0 of 2" in error and "given up" in error and "is gone" in error
    ok(good, f"a process that is lost while nothing is summed: the other waits for no end of NCCL {'' if good else error}")
    for name, more in (("without NCCL", {"BRIM_FAKE_CARDS": "2", "BRIM_NCCL": "none"}), ("with one card for both", {"BRIM_FAKE_CARDS": "1", "BRIM_NCCL": LIBRARY})):
        error, code = train_ranks("ranks2", "--overwrite", **more)
        ok(code == 0 and "sums of" not in error and weights("ranks2") == weights("ranks"), f"{name}: the host adds up, with the same bits {'' if code == 0 else error}")


def check_try_card():
    """tools/try_card as it is carried: packed, unpacked elsewhere, small on the emulated card; interrupted and resumed."""
    root, packed, there = pathlib.Path(sys.argv[3]).parent.parent, pathlib.Path("packed").absolute(), pathlib.Path("there").absolute()
    (packed / "bin").mkdir(parents=True)
    shutil.copy(BRIM, packed / "bin/brim")
    pack = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='try_card')['pack_all'](True)"
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", pack, root / "tools/try_card"], check=True, env={**environment, "BRIM_CARD": str(packed)})
    with tarfile.open(packed / "card.tar.gz") as file:
        file.extractall(there)
    lines, partial = there / "out/results.jsonl", there / "out/partial.jsonl"

    def begin(part):
        return subprocess.Popen([sys.executable, "tools/try_card", "run", "out", "--part", part, "--emulate", LIBRARY], cwd=there, env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    stopped = begin("repeat")
    while stopped.poll() is None and not (partial.exists() and partial.stat().st_size > 0):
        time.sleep(0.05)
    stopped.terminate()
    _, error = stopped.communicate()
    ok(stopped.returncode == 143 and not lines.exists() and '"run": "one"' in partial.read_text(encoding="utf-8"),
       f"try_card: a part that is interrupted has said what it found so far ({stopped.returncode}, {partial.stat().st_size} bytes) {error[-200:]}")
    lines.write_text('{"part": "golden", "to', encoding="utf-8")
    found = {}
    for part in ("doctor", "repeat", "accuracy", "accuracy-imdb", "graphs", "profile", "speed-minilm"):
        process = begin(part)
        _, error = process.communicate()
        last = lines.read_text(encoding="utf-8").splitlines()[-1]
        found[part] = json.loads(last) if process.returncode == 0 and last.startswith("{") else {}
        ok(found[part].get("part") == part and found[part]["wrong"] == [], f"try_card: {part} {found[part].get('wrong')} {'' if found[part] else error}")
    ok(found["doctor"]["gpu"]["name"] == "emulated" and "torch" in found["doctor"], "what is there")
    ok(found["repeat"]["same_bits"] and found["repeat"]["same_bits_without_graphs"] and found["repeat"]["apart_from_processor"] < 1e-5, "the bits repeat, and are near the processor's")
    runs = [run for part in ("accuracy", "accuracy-imdb") for run in found[part]["runs"]]
    ok([(run["rows"], run["verdict"], run["p"] > 0.01) for run in runs] == 2 * [(24, "as on the processor within chance", True)] and all(
        -1 <= low <= 0 <= high <= 1 for low, high in (run["difference"] for run in runs)), f"runs have the processor's accuracy on the same rows: {runs}")
    of, card = found["accuracy"]["of"], runs[0]["predicted"]
    (there / "reference").mkdir()
    (there / "reference/accuracy.json").write_text(json.dumps({"of": of, "predicted": card.translate({48: 49, 49: 48}), "truth": card}), encoding="utf-8")
    judged = subprocess.run([sys.executable, "tools/try_card", "judge", "out"], cwd=there, env=environment, capture_output=True, text=True, check=False)
    said = [json.loads(line) for line in judged.stdout.splitlines()]
    ok([(row["part"], row["verdict"].split()[0], row.get("card_alone_right")) for row in said] == [("accuracy", "not", 24), ("accuracy-imdb", str(there / "reference/accuracy-imdb.json"), None)]
       and said[0]["p"] == 0 and said[0]["difference"][0] > 0.7, f"they are judged later, beside a processor that is always wrong {said} {judged.stderr}")
    ok({step["graphs"] for step in found["graphs"]["steps"]} == {"0", "all"}, "steps are timed in both ways")
    rows, table = found["profile"]["rows"], (there / "out/profile.txt").read_text(encoding="utf-8")
    ok([row["precision"] for row in rows] == ["bf16", "fp32"] and all(row["kernels"]["loss"][1] == 2 and row["ms"]["products"] > 0 for row in rows), "a profile has the card's kernels of two steps")
    ok(all(abs(sum(row["ms"].values()) - row["profiled_ms"]) < 0.1 and set(row["ms"]) == {line[:24].strip() for line in table.splitlines()[1:8]} for row in rows),
       f"and its table all kinds of work, which are the step {table.splitlines()[:1]}")
    ok(sum(row["how"] == "brim" for row in found["speed-minilm"]["rows"]) == 3 and len(found["speed-minilm"]["rows"]) == 10, "every row of the benchmark is there, or says why it is not")


def check_card_tests():
    """What make test-cuda does where a card is: here with the operations' smallest program, and a false compute-sanitizer."""
    root = pathlib.Path(sys.argv[3]).parent.parent
    tool = root / "tools" / "try_card"
    pathlib.Path("sanitizers").mkdir()
    checker = pathlib.Path("sanitizers/compute-sanitizer")
    for ends in (0, 9):
        checker.write_text(f'#!/bin/sh\necho "$*" >> "{os.path.abspath("sanitized")}"\nexit {ends}\n')
        checker.chmod(0o755)
        done = subprocess.run([sys.executable, tool, "test", "tested", "--part", "sanitizer"], capture_output=True, text=True, check=False,
                              env={**os.environ, "BRIM_LIBCUDA": LIBRARY, "BRIM_NVRTC": LIBRARY, "PATH": f"{os.path.abspath('sanitizers')}:{os.environ['PATH']}"})
        ok(done.returncode == (ends != 0) and done.stdout.count("exit code") == (4 if ends else 0), f"compute-sanitizer that ends with {ends}: {done.stdout.splitlines()[:2]} {done.stderr}")
    lines = pathlib.Path("sanitized").read_text(encoding="utf-8").splitlines()
    ok(len(lines) == 8 and {line.split()[1] for line in lines} == {"memcheck", "racecheck", "synccheck", "initcheck"} and "cuda_ops_rows" in lines[0],
       f"its four tools look at the operations: {lines[0]}")
    done = subprocess.run([sys.executable, root / "bench" / "bench_cuda.py", "--brim", BRIM], capture_output=True, text=True, check=False,
                          env={**os.environ, "BRIM_LIBCUDA": "/nowhere"})
    ok(done.returncode == 1 and done.stderr.count("\n") == 1 and "needs a GPU" in done.stderr and not done.stdout, f"bench_cuda without a card: {done.stderr.strip()}")


def check_graphs():
    """Small parts are graphs, which a driver may lack."""
    old = str(pathlib.Path(LIBRARY).with_name("libfake_old_cuda.so"))
    _, error, code = train("old", "--device", "cuda", BRIM_LIBCUDA=old)
    ok(code == 0 and weights("old") == weights("card"), f"a driver without graphs gives the same weights {error}")


def check_failures():
    """A card that fails at one call after another, none of which is made again: an end with a word, or a whole run, and never a wrong one; and the
    false driver does not complain of memory that was freed. Everywhere, and at each of the calls that send the weights."""
    calls = [6]
    while calls[-1] < 2000:
        calls.append(calls[-1] * 3 // 2)
    seen, named = 0, set()
    for call in sorted({*calls, *range(130, 170)}):
        _, error, code = train("failing", "--device", "cuda", "--overwrite", BRIM_FAKE_FAIL=str(call), BRIM_CUDA_GRAPHS="0", epochs=1)
        if code == 0:
            break
        seen += 1
        named.update(re.findall(r", in (\w+)\)", error))
        if "GPU" not in error and "memory" not in error or error.count("\n") != 1:
            ok(False, f"call {call}: {error}")
            return
    ok(seen >= 45 and {"cuMemcpyHtoDAsync", "cuEventRecord", "cuStreamWaitEvent"} <= named, f"{seen} failures of calls end the run with a line {sorted(named)}")


CHECKS = (check_training, check_parts, check_resume, check_inference, check_products, check_tf32, check_narrow, check_heads, check_half, check_far, check_made, check_losses, check_cards,
          check_ranks, check_try_card, check_card_tests, check_graphs, check_words, check_failures)


def main():
    with tempfile.TemporaryDirectory(prefix="brim-cuda-", dir=scratch()) as folder:
        os.chdir(folder)
        fixtures.write_all(pathlib.Path(folder))
        rows = pathlib.Path("data/train.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        pathlib.Path("train.csv").write_text("".join(rows[:24]), encoding="utf-8")
        for check in CHECKS:
            if len(sys.argv) == 4 or check.__name__.removeprefix("check_") in sys.argv[4:]:
                check()
        os.chdir("/")
    print(f"1..{checks}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
