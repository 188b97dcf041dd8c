#!/usr/bin/env python3
"""Writes tests/golden/updates.json: what optimizers make of some values in some steps, in double precision.

AdamW and SGD are PyTorch's. AdamW without corrections is that of BERT's own code (google-research/bert, optimization.py), decay towards
the start that of Zhang et al., "Revisiting few-sample BERT fine-tuning" (PriorWD: x -= lr decay (x - start), before the update), which in
SGD is part of the gradient (Li et al., "Explicit inductive bias for transfer learning", L2-SP). MADGRAD is that of Defazio and Jelassi's own
code. Needs torch."""

import json
import pathlib

import torch

COUNT, STEPS = 24, 7
OUT = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/updates.json"
RATES = [0.0, 0.004, 0.01, 0.01, 0.007, 0.003, 0.001]
generator = torch.Generator().manual_seed(11)


def draw():
    return torch.randn(COUNT, generator=generator, dtype=torch.float64).float().double()


def of_torch(make):
    """The steps of an optimizer of PyTorch."""
    def run(values, gradients, case):
        x = torch.nn.Parameter(values.clone())
        optimizer = make([x], case)
        for rate, gradient in zip(RATES, gradients):
            optimizer.param_groups[0]["lr"] = rate
            x.grad = gradient.clone()
            optimizer.step()
        return x.detach()
    return run


def adamw(values, gradients, case, corrected=True):
    x, m, v, start = values.clone(), torch.zeros(COUNT).double(), torch.zeros(COUNT).double(), values.clone()
    for step, (rate, g) in enumerate(zip(RATES, gradients), 1):
        x -= rate * case["weight_decay"] * (x - start if case["returns"] else x)
        m = case["beta1"] * m + (1 - case["beta1"]) * g
        v = case["beta2"] * v + (1 - case["beta2"]) * g * g
        first, second = (1 - case["beta1"] ** step, 1 - case["beta2"] ** step) if corrected else (1, 1)
        x -= rate * (m / first) / ((v / second).sqrt() + case["eps"])
    return x


def bert_adam(values, gradients, case):
    return adamw(values, gradients, case, corrected=False)


def sgd_to_start(values, gradients, case):
    x, m = values.clone(), torch.zeros(COUNT).double()
    for rate, g in zip(RATES, gradients):
        m = case["momentum"] * m + g + case["weight_decay"] * (x - values)
        x -= rate * m
    return x


def madgrad(values, gradients, case):
    """As facebookresearch/madgrad has it, decay in the gradient."""
    x, start, squares, s = values.clone(), values.clone(), torch.zeros(COUNT).double(), torch.zeros(COUNT).double()
    for k, (rate, g) in enumerate(zip(RATES, gradients)):
        weight = (rate + case["eps"] if rate != 0 else 0) * (k + 1) ** 0.5
        g = g + case["weight_decay"] * (x - start if case["returns"] else x)
        squares += weight * g * g
        s += weight * g
        z = start - s / (squares ** (1 / 3) + case["eps"])
        x = case["momentum"] * x + (1 - case["momentum"]) * z
    return x


CASES = [
    ("adamw", of_torch(lambda p, c: torch.optim.AdamW(p, betas=(c["beta1"], c["beta2"]), eps=c["eps"], weight_decay=c["weight_decay"])),
     {"weight_decay": 0.1}),
    ("adamw", adamw, {"weight_decay": 3, "returns": True}),
    ("bert_adam", bert_adam, {"weight_decay": 0.1, "eps": 1e-6}),
    ("bert_adam", bert_adam, {"weight_decay": 3, "returns": True}),
    ("sgd", of_torch(lambda p, c: torch.optim.SGD(p, lr=1, momentum=c["momentum"], weight_decay=c["weight_decay"])), {"weight_decay": 0.3}),
    ("sgd", of_torch(lambda p, c: torch.optim.SGD(p, lr=1, momentum=c["momentum"])), {"momentum": 0.0}),
    ("sgd", sgd_to_start, {"weight_decay": 3, "returns": True}),
    ("madgrad", madgrad, {"weight_decay": 0.3, "eps": 1e-6}),
    ("madgrad", madgrad, {"momentum": 0.0, "eps": 1e-6}),
    ("madgrad", madgrad, {"weight_decay": 3, "eps": 1e-6, "returns": True}),
]


def main():
    cases = []
    for optimizer, run, options in CASES:
        case = {"optimizer": optimizer, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "momentum": 0.8, "weight_decay": 0, "returns": False, **options}
        values, gradients = draw(), [draw() for _ in range(STEPS)]
        after = run(values, gradients, case)
        cases.append({**case, "lr": RATES, "values": values.tolist(), "gradients": [g.tolist() for g in gradients],
                      "after": [float(f"{x:.9g}") for x in after.tolist()]})
    lines = ",\n".join(json.dumps(case) for case in cases)
    OUT.write_text(f'{{"made_by": "tools/make_update_golden.py", "torch": "{torch.__version__}", "cases": [\n{lines}\n]}}\n', encoding="utf-8")


main()
