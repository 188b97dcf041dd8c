#!/usr/bin/env python3
"""Compare brim and PyTorch, both in single precision, with models of many shapes in double precision.

    check_shapes.py [--brim build/brim] [--random N [--seed S]] [--only FAMILY,..]

The models are random, made by tools/make_model_golden.py, with what they compute in double precision, into build/shapes (again
when a shape or the script changed). With --random N their sizes, texts and whatever else a family's configuration may say are
drawn too: N of them, of all families in turn. For each of them `brim inspect gradients` and `brim inspect trajectory` run with
the kernels of plain C, AVX2, AVX-512 and AMX, as far as the processor has them, and transformers on PyTorch computes the same, one
text at a time. What is compared, and the tolerances, are those of tests/golden/model_gradients.c. A line of each model goes to
stderr as it is made, and as it is compared. For a ratio, an error counts as half a unit in the last place at least (6e-8 of 1, or
of the tensor): what it is measured from was itself rounded to single precision. Below the table stand the models that are outside
a tolerance, and where the largest error is; before it, each family's largest errors.

Fails where brim is more than 10 times outside a tolerance and 10 times as far off as PyTorch (after 12 steps: with all kernels),
or where the geometric mean of the ratios of a quantity is above 2.
Needs: torch, transformers, safetensors, numpy.
"""
import argparse
import hashlib
import importlib.util
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file

WORK = Path("build/shapes")
LEVELS = ("plain", "avx2", "avx512", "amx")
LEAST = 2.0**-24
WIDE = 10
MOST_ON_AVERAGE = 2
# Quantity: its name in the table, its tolerance.
QUANTITIES = {
    "hidden": ("hidden states", 1e-5),
    "logits": ("logits", 1e-5),
    "loss": ("loss", 2e-6),
    "norm": ("gradient norm", 1e-5),
    "gradients": ("gradients", 1e-5),
    "key_biases": ("gradients of key biases", 1e-6),
    "step_loss": ("12 steps: loss", 1e-5),
    "step_norm": ("12 steps: gradient norm", 1e-5),
    "weights": ("12 steps: weights", 1e-5),
    "key_weights": ("12 steps: key biases", 5e-3),
}
# Steps enlarge rounding, of the same model ten or fifty times more with some kernels than with others, as it falls out. A mistake
# of one level shows in its gradients, and one of all levels in the best of them.
ENLARGED = ("step_loss", "step_norm", "weights", "key_weights")

# family, layers, heads, width, width between, eps, activation, classes (1: a regression), texts' tokens; what else the config says
SHAPES = [
    ("bert", 1, 1, 30, 60, 1e-12, "gelu", 2, [1, 9, 30, 17]),
    ("bert", 1, 2, 64, 256, 1e-12, "gelu", 3, [12, 64, 5, 33, 2]),
    ("bert", 1, 4, 64, 128, 1e-3, "gelu", 1, [40, 7, 19, 128]),
    ("bert", 2, 2, 50, 75, 1e-12, "gelu_new", 2, [6, 31, 90, 44]),
    ("bert", 2, 4, 128, 512, 1e-12, "gelu", 2, [512, 33, 200]),
    ("bert", 2, 4, 128, 512, 1e-12, "relu", 4, [129, 256, 3, 64]),
    ("bert", 3, 6, 90, 200, 1e-5, "gelu", 7, [11, 1, 55, 72, 23]),
    ("bert", 4, 12, 96, 384, 1e-12, "gelu", 5, [20, 64, 48, 7]),
    ("bert", 4, 8, 96, 192, 1e-6, "gelu_new", 1, [16, 80, 2, 37]),
    ("bert", 6, 12, 120, 480, 1e-12, "gelu", 2, [100, 8, 60, 25]),
    ("bert", 6, 2, 34, 68, 1e-12, "gelu", 3, [5, 40, 17, 1]),
    ("bert", 8, 4, 64, 128, 1e-12, "gelu", 2, [30, 12, 45]),
    ("bert", 12, 12, 96, 192, 1e-12, "gelu", 3, [24, 50, 9, 33]),
    ("bert", 24, 4, 64, 128, 1e-12, "gelu", 2, [20, 35, 11]),
    ("roberta", 1, 1, 33, 40, 1e-5, "gelu", 2, [3, 70, 15, 28]),
    ("roberta", 2, 2, 130, 260, 1e-5, "gelu", 3, [61, 5, 18, 33]),
    ("roberta", 2, 10, 130, 300, 1e-5, "gelu", 1, [9, 77, 31, 2]),
    ("roberta", 3, 4, 64, 256, 1e-5, "relu", 2, [45, 12, 90, 30]),
    ("roberta", 4, 4, 48, 192, 1e-5, "gelu", 6, [22, 510, 40]),
    ("roberta", 6, 6, 72, 144, 1e-3, "gelu", 2, [13, 34, 55, 8]),
    ("roberta", 12, 4, 64, 256, 1e-5, "gelu", 1, [27, 16, 48]),
    ("roberta", 24, 2, 40, 80, 1e-5, "gelu", 2, [19, 30, 6]),
    ("camembert", 1, 8, 64, 100, 1e-5, "gelu", 4, [1, 2, 3, 63]),
    ("camembert", 2, 4, 128, 512, 1e-5, "gelu", 2, [128, 40, 300]),
    ("camembert", 3, 5, 35, 70, 1e-5, "gelu_new", 3, [25, 51, 7, 14]),
    ("camembert", 6, 8, 64, 256, 1e-5, "gelu", 1, [36, 9, 60, 18]),
    ("camembert", 10, 3, 60, 120, 1e-5, "gelu", 2, [29, 42, 4]),
    ("xlm-roberta", 1, 3, 66, 200, 1e-5, "gelu", 2, [17, 96, 2, 50]),
    ("xlm-roberta", 2, 7, 70, 140, 1e-5, "gelu", 7, [38, 5, 83, 21]),
    ("xlm-roberta", 4, 2, 100, 400, 1e-5, "gelu_new", 2, [32, 64, 10]),
    ("xlm-roberta", 6, 4, 48, 96, 1e-5, "gelu", 1, [14, 26, 47, 3]),
    ("distilbert", 1, 6, 60, 90, 1e-12, "gelu", 3, [10, 66, 1, 29]),
    ("distilbert", 2, 12, 96, 384, 1e-12, "gelu", 2, [150, 24, 7, 60]),
    ("distilbert", 3, 4, 52, 208, 1e-12, "relu", 1, [18, 39, 70, 5]),
    ("distilbert", 6, 3, 48, 192, 1e-12, "gelu", 5, [41, 13, 28, 512]),
    ("electra", 1, 3, 33, 60, 1e-12, "gelu", 2, [9, 1, 40, 22]),
    ("electra", 3, 4, 64, 256, 1e-12, "gelu", 1, [130, 17, 5, 64]),
    ("electra", 12, 4, 96, 384, 1e-12, "gelu", 3, [31, 50, 8, 12]),
    ("albert", 2, 3, 33, 60, 1e-12, "gelu_new", 2, [9, 1, 40, 22]),
    ("albert", 6, 4, 64, 256, 1e-12, "gelu", 1, [130, 17, 5, 64]),
    ("albert", 12, 12, 96, 384, 1e-12, "gelu_new", 3, [31, 50, 8, 12]),
    ("mpnet", 1, 3, 33, 60, 1e-5, "gelu", 2, [9, 1, 40, 22]),
    ("mpnet", 3, 4, 64, 256, 1e-5, "gelu", 1, [230, 17, 5, 64]),
    ("mpnet", 12, 12, 96, 384, 1e-12, "gelu", 3, [31, 50, 8, 12]),
    ("deberta-v2", 1, 3, 33, 60, 1e-7, "gelu", 2, [9, 1, 40, 22]),
    ("deberta-v2", 3, 4, 64, 256, 1e-7, "gelu", 1, [230, 17, 5, 64]),
    ("deberta-v2", 12, 12, 96, 384, 1e-7, "gelu", 3, [31, 50, 8, 12]),
    ("modernbert", 1, 3, 30, 50, 1e-5, "gelu", 2, [9, 1, 40, 22]),
    ("modernbert", 3, 4, 64, 96, 1e-5, "gelu", 1, [130, 17, 5, 64]),
    ("modernbert", 7, 2, 128, 200, 1e-5, "silu", 3, [300, 65, 8, 129]),
    ("modernbert", 22, 4, 96, 144, 1e-5, "gelu", 2, [31, 150, 66]),
    ("nomic_bert", 2, 3, 30, 60, 1e-12, "silu", 2, [9, 1, 40, 22]),
    ("nomic_bert", 12, 4, 96, 192, 1e-12, "silu", 3, [31, 150, 8]),
    ("gte", 2, 5, 50, 70, 1e-12, "gelu", 1, [9, 1, 40, 22]),
    ("gte", 12, 4, 96, 192, 1e-12, "gelu", 3, [31, 150, 8]),
    ("eurobert", 2, 6, 60, 90, 1e-5, "silu", 2, [9, 1, 40, 22]),
    ("eurobert", 12, 4, 96, 192, 1e-5, "silu", 3, [31, 150, 8]),
    ("ernie", 3, 3, 48, 96, 1e-12, "relu", 2, [17, 1, 64, 30]),
    ("ernie", 12, 4, 64, 256, 1e-5, "gelu", 1, [40, 9, 130]),
    ("jina_embeddings_v3", 2, 3, 30, 60, 1e-5, "gelu", 2, [9, 1, 40, 22]),
    ("jina_embeddings_v3", 12, 4, 96, 192, 1e-5, "gelu", 1, [31, 150, 8]),
    ("deberta-v2", 4, 4, 64, 128, 1e-7, "gelu", 2, [33, 1, 70, 12], {"type_vocab_size": 2, "position_biased_input": True,
                                                                  "share_att_key": False}),
    ("deberta-v2", 6, 6, 72, 144, 1e-7, "gelu", 3, [90, 8, 41], {"embedding_size": 20}),
    ("albert", 6, 4, 64, 128, 1e-12, "gelu_new", 2, [33, 1, 70, 12], {"num_hidden_groups": 3}),
    ("modernbert", 6, 4, 64, 96, 1e-5, "gelu", 2, [33, 5, 90], {"attention_bias": True, "mlp_bias": True, "norm_bias": True,
                                                               "classifier_bias": True, "local_attention": 2}),
]
CLASSES = {"bert": "Bert", "ernie": "Ernie", "roberta": "Roberta", "camembert": "Camembert", "xlm-roberta": "XLMRoberta",
           "distilbert": "DistilBert", "electra": "Electra", "albert": "Albert", "mpnet": "MPNet", "deberta-v2": "DebertaV2", "modernbert": "ModernBert",
           "nomic_bert": "NomicBert", "jina_embeddings_v3": "JinaEmbeddingsV3", "gte": "Gte", "eurobert": "EuroBert"}
# Positions begin with 0; elsewhere they are counted from padding's.
FROM_ZERO = ("bert", "ernie", "distilbert", "electra", "albert", "deberta-v2", "modernbert", "nomic_bert", "gte", "eurobert", "jina_embeddings_v3")
ROTATED = ("jina_embeddings_v3", "modernbert", "nomic_bert", "gte", "eurobert")  # heads of an even width
STREAMS = ("modernbert", "eurobert")  # would grow too much with weights as large as elsewhere


# What else a configuration may say: with --random each has one of these.
BOTH = (False, True)
ROTARY = {"rope_parameters": (*({"rope_type": "default", "rope_theta": theta} for theta in (100.0, 1000.0, 160000.0)),
                              {"rope_type": "linear", "rope_theta": 500.0, "factor": 2.5})}
OPTIONS = {
    "electra": {"embedding_size": (8, 24, "width")},
    "albert": {"embedding_size": (8, 24, "width"), "num_hidden_groups": (1, 1, 2)},
    "deberta-v2": {
        "type_vocab_size": (0, 2), "position_biased_input": BOTH, "norm_rel_ebd": ("none", "layer_norm"), "share_att_key": BOTH,
        "position_buckets": (-1, 4, 8, 32, 256), "max_relative_positions": (-1, 150, 512), "embedding_size": ("width", "width", 20),
        "relative_attention": (True, True, True, False), "pos_att_type": ("p2c|c2p", ["c2p", "p2c"]),
        "pooler_hidden_act": ("gelu", "relu")},
    "modernbert": {
        "attention_bias": BOTH, "mlp_bias": BOTH, "norm_bias": BOTH, "classifier_bias": BOTH, "local_attention": (2, 3, 8, 32, 128),
        "global_attn_every_n_layers": (1, 2, 3), "classifier_pooling": ("cls", "mean"), "classifier_activation": ("gelu", "silu"),
        "rope_parameters": tuple({kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in
                                  (("full_attention", far), ("sliding_attention", near))}
                                 for far, near in ((160000.0, 10000.0), (500.0, 70.5)))},
    "nomic_bert": ROTARY | {"type_vocab_size": (1, 2)},
    "jina_embeddings_v3": ROTARY,
    "gte": ROTARY | {"type_vocab_size": (0, 1, 2)},
    "eurobert": ROTARY | {"attention_bias": BOTH, "mlp_bias": BOTH, "classifier_pooling": ("late", "mean", "bos")},
}


def drawn(number, seed, families):
    """A random shape, and what else its configuration says."""
    rng = random.Random(seed * 100003 + number)
    family = families[number % len(families)]
    heads, layers = rng.choice((1, 2, 3, 4, 6, 8, 12)), rng.choice((1, 2, 2, 3, 4, 7))
    size = rng.choice((2, 6, 8, 10, 16, 32, 34, 64) if heads < 6 else (2, 6, 8, 16))
    width = heads * (size + (rng.random() < 0.3 and family not in ROTATED))
    lengths = [rng.choice((1, 2, 5, 16, 17, 40, 63, 64, 65, 90, 129, rng.randint(1, 200))) for _ in range(rng.randint(3, 6))]
    activation = rng.choice(("gelu", "gelu", "gelu_new", "relu", "silu"))
    shape = (family, layers, heads, width, rng.randint(3, 200), rng.choice((1e-12, 1e-7, 1e-5)), activation, rng.choice((1, 2, 3, 7)),
             lengths)
    more = {key: rng.choice(values) for key, values in OPTIONS.get(family, {}).items()}
    if family == "albert":
        more["num_hidden_groups"] = min(more["num_hidden_groups"], layers)
    if family == "eurobert":
        more["num_key_value_heads"] = rng.choice([k for k in range(1, heads + 1) if heads % k == 0])
    if not more.get("relative_attention", True):
        more |= {"pos_att_type": [], "norm_rel_ebd": "none"}
    if more.get("max_relative_positions", -1) > 0:
        more["max_relative_positions"] = max(more["max_relative_positions"], more["position_buckets"])
    elif max(lengths) - 1 <= more.get("position_buckets", -1) // 2:  # brim refuses buckets without a logarithm
        more["max_relative_positions"] = more["position_buckets"]
    return shape, {key: width if value == "width" else value for key, value in more.items()}


def spec(shape, more):
    """What make_model_golden.py takes with --specs."""
    family, layers, heads, width, between, eps, activation, classes, lengths = shape
    if family == "distilbert":
        config = {"dim": width, "n_layers": layers, "n_heads": heads, "hidden_dim": between, "activation": activation,
                  "dropout": 0.0, "attention_dropout": 0.0, "seq_classif_dropout": 0.0, "max_position_embeddings": max(lengths)}
    elif family == "eurobert":
        config = {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": max(1, heads // 2),
                  "intermediate_size": between, "rms_norm_eps": eps, "hidden_act": activation, "pad_token_id": 0,
                  "max_position_embeddings": max(lengths), "classifier_pooling": ("late", "mean", "bos")[classes % 3]}
    elif family == "modernbert":
        config = {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": between,
                  "norm_eps": eps, "hidden_activation": activation, "max_position_embeddings": max(lengths), "local_attention": 32,
                  "pad_token_id": 0, "classifier_pooling": "mean" if layers % 2 else "cls"}
    else:
        config = {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": between,
                  "layer_norm_eps": eps, "hidden_act": activation, "type_vocab_size": 2, "max_position_embeddings": max(lengths),
                  "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    if family in ("electra", "albert"):  # tables of an odd width
        config["embedding_size"] = width // 2 + 1
    if family == "deberta-v2":
        config |= {"type_vocab_size": 0, "relative_attention": True, "position_buckets": 16, "norm_rel_ebd": "layer_norm",
                   "share_att_key": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False}
    if family == "albert":
        config["classifier_dropout_prob"] = 0.0
    if family not in FROM_ZERO:
        config |= {"type_vocab_size": 1, "max_position_embeddings": max(lengths) + 2, "pad_token_id": 1, "bos_token_id": 0,
                   "eos_token_id": 2}
    return {"kind": family, "cls": CLASSES[family] + "ForSequenceClassification", "n_labels": classes, "lengths": lengths,
            "scale": 2.0 if family in STREAMS else 5.0,
            "problem": "regression" if classes == 1 else "classification", "cfg": {"vocab_size": 300, **config, **more}}


def listed(families):
    return [(shape[:9], shape[9] if len(shape) > 9 else {}) for shape in SHAPES if shape[0] in families]


def name_of(shape, more):
    family, layers, heads, width, _, eps, activation, classes, _ = shape
    kind = "regression" if classes == 1 else f"{classes} classes"
    return f"{family}, {layers} x {heads} x {width}, {eps:.0e}, {activation}, {kind}{', ' if more else ''}{json.dumps(more)[1:-1]}"


def make_models(script, shapes):
    """Folders of all models; they are made where they are not there, or not of these specs."""
    specs = {f"{i:02d}-{shape[0]}": spec(shape, more) | {"draw": i} for i, (shape, more) in enumerate(shapes, 1)}
    text = json.dumps(specs, indent=1)
    stamp, want = WORK / "made", hashlib.sha256(text.encode() + script.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != want:
        WORK.mkdir(parents=True, exist_ok=True)
        (WORK / "specs.json").write_text(text)
        subprocess.run([sys.executable, "-u", script, WORK, "--specs", WORK / "specs.json"], check=True,
                       stdout=sys.stderr, stderr=subprocess.DEVNULL)
        stamp.write_text(want)
    return {WORK / name: (name_of(*shape), specs[name]) for name, shape in zip(specs, shapes)}


def levels_here(brim):
    """Kernels that this processor runs: without them brim takes the next lower ones."""
    found = []
    for level in LEVELS:
        said = subprocess.run([brim, "doctor", "--no-speed", "--json"], check=True, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "BRIM_CPU": level}).stdout
        if json.loads(said)["kernels"].removeprefix("cpu-") == level:
            found.append(level)
    return tuple(found)


def run_brim(brim, folder, kernels):
    """Tensors of one pass, the steps, and the weights after them."""
    with tempfile.TemporaryDirectory() as scratch:
        common = ["--model", folder, "--batch", folder / "batch.json", "--cpu", kernels, "-q", "-o"]
        one, end = Path(scratch) / "one.safetensors", Path(scratch) / "end.safetensors"
        subprocess.run([brim, "inspect", "gradients", *common, one], check=True)
        lines = subprocess.run([brim, "inspect", "trajectory", *common, end, "--hyperparameters", folder / "trajectory.json"],
                               check=True, stdout=subprocess.PIPE, text=True).stdout
        return load_file(one), [json.loads(line) for line in lines.splitlines()], load_file(end)


def run_torch(oracle, folder, s):
    """The same by transformers in single precision, with the oracle's own loop."""
    batch = json.loads((folder / "batch.json").read_text())
    recipe = json.loads((folder / "trajectory.json").read_text())["hyperparameters"]
    model = getattr(transformers, s["cls"]).from_pretrained(folder, dtype=torch.float32).eval()
    hidden, logits, loss = oracle.batch_loss(model, s, batch)
    loss.backward()
    grads = oracle.in_files(model, {n: p.grad for n, p in model.named_parameters() if p.grad is not None})
    grads = {"grad." + n: g.clone() for n, g in grads.items()}
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads.values()]))
    one = {"hidden": hidden.detach(), "logits": logits.detach(), "loss": loss.detach()[None], "grad_norm": norm[None], **grads}
    steps = oracle.trajectory(model, s, batch, recipe)
    return one, steps, oracle.in_files(model, dict(model.named_parameters()))


def largest(name, got, want):
    return float((got[name].double() - want[name].double()).abs().max()), ""


def relative(got, want):
    size = float(want.double().norm())
    return float((got.double() - want.double()).norm()) / (size or 1)


def is_key_bias(name):
    return name.endswith((".key.bias", ".k_lin.bias", ".attn.k.bias", ".pos_key_proj.bias"))


def worst_tensor(got, want, prefix, key_biases=False):
    """The largest relative error of a tensor, with its name, and its part of the norm of all of them."""
    names = [n for n in want if n.startswith(prefix) and is_key_bias(n) == key_biases]
    if not names:
        return 0.0, "there are none"
    worst = max(names, key=lambda n: relative(got[n], want[n]))
    whole = math.sqrt(sum(float(want[n].double().norm()) ** 2 for n in names))
    part = float(want[worst].double().norm()) / whole
    return relative(got[worst], want[worst]), f"{worst.removeprefix('grad.')}, {part:.1e} of all"


def worst_step(steps, want, key):
    apart, k = max((abs(a[key] - b[key]) / abs(b[key]), k) for k, (a, b) in enumerate(zip(steps, want, strict=True)))
    return apart, f"step {k + 1}, {want[0][key]:.2g} has become {want[k][key]:.2g}"


def errors(result, want):
    """The largest error of each quantity, as the golden test takes it, and where it is."""
    (one, steps, end), (want_one, want_steps, want_end) = result, want
    biases = [n for n in want_one if is_key_bias(n)]
    found = {
        "hidden": largest("hidden", one, want_one),
        "logits": largest("logits", one, want_one),
        "loss": (relative(one["loss"], want_one["loss"]), ""),
        "norm": (relative(one["grad_norm"], want_one["grad_norm"]), ""),
        "gradients": worst_tensor(one, want_one, "grad."),
        "key_biases": max((largest(n, one, want_one) for n in biases), default=(0.0, "")),
        "step_loss": worst_step(steps, want_steps, "loss"),
        "step_norm": worst_step(steps, want_steps, "grad_norm"),
        "weights": worst_tensor(end, want_end, ""),
        "key_weights": worst_tensor(end, want_end, "", True),
    }
    return {quantity: (math.inf if math.isnan(error) else error, where) for quantity, (error, where) in found.items()}


def measure(brim, oracle, models):
    """Of each model: {kernels or "torch": its errors}."""
    found, levels = {}, levels_here(brim)
    for k, (folder, (title, s)) in enumerate(models.items(), 1):
        want = (load_file(folder / "expected.safetensors"), json.loads((folder / "trajectory.json").read_text())["steps"],
                load_file(folder / "trajectory.safetensors"))
        results = {kernels: errors(run_brim(brim, folder, kernels), want) for kernels in levels}
        results["torch"] = errors(run_torch(oracle, folder, s), want)
        found[title] = results
        print(f"{k}/{len(models)} {title}: " + ("within" if not any(outside(results, who) for who in levels) else "OUTSIDE"),
              file=sys.stderr, flush=True)
    return found


def ratio(results, kernels, quantity):
    # The gradients of key biases are rounding alone: nothing is too small for them.
    least = 0 if quantity == "key_biases" else LEAST
    ours, theirs = (max(results[who][quantity][0], least) for who in (kernels, "torch"))
    return 1 if ours == theirs else ours / theirs


def outside(results, who):
    return [quantity for quantity, (_, tolerance) in QUANTITIES.items() if results[who][quantity][0] > tolerance]


def levels_of(results):
    return [who for who in results if who != "torch"]


def print_table(found):
    levels = levels_of(next(iter(found.values())))
    print(f"| largest error, {len(found)} models | tolerance | brim's | PyTorch's | brim's, as a multiple of PyTorch's | models outside: "
          + ", ".join(levels) + " | PyTorch |\n|---|---|---|---|---|---|---|")
    for quantity, (title, tolerance) in QUANTITIES.items():
        counts = [sum(quantity in outside(r, who) for r in found.values()) for who in (*levels, "torch")]
        print(f"| {title} | {tolerance:.0e} | {worst(found.values(), levels, quantity):.1e} | {worst(found.values(), ['torch'], quantity):.1e} | "
              f"{average(found, quantity):.2f} | {', '.join(map(str, counts[:-1]))} | {counts[-1]} |")
    print(f"| any of them | | | | | {', '.join(str(sum(bool(outside(r, k)) for r in found.values())) for k in levels)} | "
          f"{sum(bool(outside(r, 'torch')) for r in found.values())} |\n")


def worst(results, who, quantity):
    return max(r[level][quantity][0] for r in results for level in who)


def print_families(found):
    """Each family's largest errors, brim's and PyTorch's."""
    families = {}
    for title, results in found.items():
        families.setdefault(title.split(",")[0], []).append(results)
    columns = ("hidden", "logits", "loss", "gradients", "step_loss", "weights")
    print("| family (models) | " + " | ".join(QUANTITIES[c][0] for c in columns) + " |\n" + "|---" * (len(columns) + 1) + "|")
    for family, results in families.items():
        print(f"| {family} ({len(results)}) | " + " | ".join(
            f"{worst(results, levels_of(results[0]), c):.1e} ({worst(results, ['torch'], c):.1e})" for c in columns) + " |")
    print()


def average(found, quantity):
    """The geometric mean of the ratios, over models and kernels."""
    return math.exp(statistics.mean(math.log(ratio(r, k, quantity)) for r in found.values() for k in levels_of(r)))


def list_outside(found):
    for name, results in found.items():
        listed = [q for q in QUANTITIES if any(q in outside(results, who) for who in results)]
        if listed:
            print(name)
        for quantity in listed:
            each = ", ".join(f"{'PyTorch' if who == 'torch' else who} {r[quantity][0]:.1e}" for who, r in results.items())
            print(f"  {QUANTITIES[quantity][0]}: {each}; {max(r[quantity] for r in results.values())[1]}")


def complaints(found):
    for quantity, (title, tolerance) in QUANTITIES.items():
        if not average(found, quantity) <= MOST_ON_AVERAGE:
            yield f"{title}: brim's errors are {average(found, quantity):.2f} times PyTorch's on average"
        for name, results in found.items():
            levels = levels_of(results)
            if quantity in ENLARGED:
                levels = [min(levels, key=lambda who: results[who][quantity][0])]
            for kernels in levels:
                error = results[kernels][quantity][0]
                if error > WIDE * tolerance and not ratio(results, kernels, quantity) <= WIDE:
                    yield f"{name}: {title}, {kernels}: {error:.1e}, PyTorch {results['torch'][quantity][0]:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brim", default="build/brim")
    parser.add_argument("--random", type=int, metavar="N", help="this many random shapes, in place of the listed ones")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="shapes of these families, separated by commas")
    args = parser.parse_args()
    families = args.only.split(",") if args.only else list(CLASSES)
    shapes = [drawn(i, args.seed, families) for i in range(args.random)] if args.random else listed(families)
    script = Path(__file__).resolve().parent / "make_model_golden.py"
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    module = importlib.util.spec_from_file_location("oracle", script)
    oracle = importlib.util.module_from_spec(module)
    module.loader.exec_module(oracle)
    found = measure(args.brim, oracle, make_models(script, shapes))
    print_table(found)
    print_families(found)
    list_outside(found)
    wrong = list(complaints(found))
    for line in wrong:
        print(f"FAILED {line}", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
