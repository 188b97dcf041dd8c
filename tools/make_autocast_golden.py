#!/usr/bin/env python3
"""Write how far PyTorch's bf16 autocast is from double precision, for tests/golden/model_bf16.c to be compared with.

Each model of tests/golden/models is loaded in single precision and run as make_model_golden.py ran it, one sequence at a time, under
torch.autocast("cpu", torch.bfloat16); of each gradient the relative L2 distance from that of double precision (expected.safetensors)
is written to NAME/autocast.json, also those of the loss and the logits. Needs: tools/golden-requirements.txt.

    make_autocast_golden.py tests/golden/models"""
import json, pathlib, sys
import torch, transformers
from safetensors.torch import load_file

import make_model_golden as golden


def apart(got, want):
    return float((got.double() - want.double()).norm() / want.double().norm().clamp_min(1e-30))


def main():
    for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        spec = golden.MODELS.get(folder.name)
        if spec is None or spec["problem"] not in ("classification", "regression"):
            continue
        family = getattr(transformers, spec["cls"])
        model = family.from_pretrained(folder, attn_implementation="sdpa" if family._supports_sdpa else "eager").eval()
        batch, want = json.loads((folder / "batch.json").read_text()), load_file(folder / "expected.safetensors")
        with torch.autocast("cpu", torch.bfloat16):
            _, logits, loss = golden.batch_loss(model, spec, batch)
        loss.backward()
        errors = {"loss": apart(loss.detach()[None], want["loss"]), "logits": apart(logits.detach(), want["logits"])}
        gradients = golden.in_files(model, {name: p.grad for name, p in model.named_parameters() if p.grad is not None})
        errors |= {"grad." + name: apart(x, want["grad." + name]) for name, x in gradients.items() if "grad." + name in want}
        (folder / "autocast.json").write_text(json.dumps({k: float(f"{v:.4g}") for k, v in errors.items()}, indent=1) + "\n")
        print(folder.name, f"{errors['loss']:.1e}", f"{errors['logits']:.1e}")


if __name__ == "__main__":
    main()
