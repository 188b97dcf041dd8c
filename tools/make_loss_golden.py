#!/usr/bin/env python3
"""Write tests/unit/loss_golden.h: what PyTorch's losses and their gradients are for a few logits, in float64.

    make_loss_golden.py > tests/unit/loss_golden.h

Each case is a whole optimizer step of five rows; the mean is PyTorch's own (reduction="mean"). Needs: torch.
"""
import torch
from torch.nn import functional

torch.manual_seed(7)
ROWS, CLASSES = 5, 4
LOGITS = (torch.randn(ROWS, CLASSES, dtype=torch.float64) * 3).float().double()
WEIGHTS = [0.5, 2.0, 1.0, 3.25]
CLASS_LABELS = [2.0, 0.0, 3.0, 1.0, 2.0]
MANY_LABELS = [[1.0, 0.0, 0.0, 1.0], [0.0] * 4, [1.0] * 4, [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]
VALUES = [[0.5, -1.25, 3.0, 0.0], [1.0, 2.0, -3.0, 4.0], [0.0] * 4, [-2.5, 0.75, 1.5, 8.0], [10.0, -10.0, 0.125, 1.0]]
KINDS = {"CROSS_ENTROPY": CLASS_LABELS, "BINARY": MANY_LABELS, "SQUARED_ERROR": VALUES}


def loss_of(kind, logits, weights, smoothing):
    """The mean over the step."""
    weight = torch.tensor(WEIGHTS, dtype=torch.float64) if weights else None
    labels = torch.tensor(KINDS[kind], dtype=torch.float64)
    if kind == "CROSS_ENTROPY":
        return functional.cross_entropy(logits, labels.long(), weight=weight, label_smoothing=smoothing)
    if kind == "BINARY":
        return functional.binary_cross_entropy_with_logits(logits, labels, pos_weight=weight)
    return functional.mse_loss(logits, labels)


def numbers(values):
    return ", ".join(f"{value:.17g}" for value in values)


def flat(values):
    return [item for row in values for item in row] if isinstance(values[0], list) else values


def case(kind, weights, smoothing):
    """One initializer: kind, weighted, smoothing, loss, gradient."""
    logits = LOGITS.clone().requires_grad_()
    loss = loss_of(kind, logits, weights, smoothing)
    loss.backward()
    return (f"    {{BRIM_LOSS_{kind}, {str(weights).lower()}, {smoothing:g}, {loss.item():.17g},\n"
            f"     {{{numbers(logits.grad.flatten().tolist())}}}}},")


print("/* Made by tools/make_loss_golden.py with torch " + torch.__version__.split("+")[0] + ". */")
print(f"enum {{ GOLDEN_ROWS = {ROWS}, GOLDEN_CLASSES = {CLASSES} }};")
print("static const double golden_logits[GOLDEN_ROWS * GOLDEN_CLASSES] = {" + numbers(LOGITS.flatten().tolist()) + "};")
print("static const double golden_weights[GOLDEN_CLASSES] = {" + numbers(WEIGHTS) + "};")
for name, labels in KINDS.items():
    print(f"static const float golden_{name.lower()}_labels[] = {{" + numbers(flat(labels)) + "};")
print("static const struct golden_loss {\n  brim_loss_kind kind;\n  bool weighted;\n  double smoothing, loss, "
      "gradient[GOLDEN_ROWS * GOLDEN_CLASSES];\n} golden_losses[] = {")
for weighted in (False, True):
    for e in (0.0, 0.1, 0.75):
        print(case("CROSS_ENTROPY", weighted, e))
    print(case("BINARY", weighted, 0.0))
print(case("SQUARED_ERROR", False, 0.0))
print("};")
