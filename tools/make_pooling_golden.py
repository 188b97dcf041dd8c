#!/usr/bin/env python3
"""Write tests/unit/pooling_golden.h: mean and largest over the tokens of a few sequences, and their gradients, by PyTorch in float64.

    make_pooling_golden.py > tests/unit/pooling_golden.h

As sentence encoders pool: padding is masked out of the mean, and is minus infinity for the largest. Needs: torch.
"""
import torch

torch.manual_seed(11)
LENGTHS, WIDTH = [1, 4, 2, 7], 5
LONGEST, COUNT = max(LENGTHS), len(LENGTHS)
HIDDEN = (torch.randn(COUNT, LONGEST, WIDTH, dtype=torch.float64) * 2).float().double()
PULL = torch.randn(COUNT, WIDTH, dtype=torch.float64).float().double()
MASK = (torch.arange(LONGEST)[None, :] < torch.tensor(LENGTHS)[:, None])[:, :, None]


def numbers(values):
    return "{" + ", ".join(f"{value:.17g}" for value in values.flatten().tolist()) + "}"


def pooled(largest):
    """What comes out and, with PULL as the gradient of that, the gradient of what went in."""
    hidden = HIDDEN.clone().requires_grad_()
    if largest:
        out = hidden.masked_fill(~MASK, -torch.inf).max(dim=1).values
    else:
        out = (hidden * MASK).sum(dim=1) / MASK.sum(dim=1)
    out.backward(PULL)
    return out.detach(), hidden.grad


print("/* Made by tools/make_pooling_golden.py with torch " + torch.__version__.split("+")[0] + ". */")
print(f"enum {{ GOLDEN_COUNT = {COUNT}, GOLDEN_LONGEST = {LONGEST}, GOLDEN_WIDTH = {WIDTH}, "
      "GOLDEN_SLOTS = GOLDEN_COUNT * GOLDEN_LONGEST };")
print("static const int golden_lengths[GOLDEN_COUNT] = {" + ", ".join(map(str, LENGTHS)) + "};")
print("static const double golden_hidden[GOLDEN_SLOTS * GOLDEN_WIDTH] = " + numbers(HIDDEN) + ";")
print("static const double golden_pull[GOLDEN_COUNT * GOLDEN_WIDTH] = " + numbers(PULL) + ";")
print("static const struct golden_pool {\n  double out[GOLDEN_COUNT * GOLDEN_WIDTH], gradient[GOLDEN_SLOTS * GOLDEN_WIDTH];\n"
      "} golden_mean = {")
print(",\n".join(map(numbers, pooled(False))) + "}, golden_largest = {")
print(",\n".join(map(numbers, pooled(True))) + "};")
