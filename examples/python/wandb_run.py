"""Weights & Biases: a run's losses and evaluations, and its options. wandb_run.py MODEL TRAIN EVAL; pip install wandb"""
import sys
from typing import Any

import brim
import wandb

run = wandb.init(project="brim")


def report(kind: str, fields: dict[str, Any]) -> None:
    if kind == "start":
        run.config.update(fields["options"])
    elif kind in ("step", "eval"):
        numbers = {f"{kind}/{name}": value for name, value in fields.items() if isinstance(value, (int, float)) and name != "step"}
        run.log(numbers | {"trainer/step": fields["step"]})


result = brim.train(sys.argv[1], sys.argv[2], eval=sys.argv[3], report_to=report)
print(result)
run.finish()
