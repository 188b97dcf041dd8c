"""MLflow: a run's losses and evaluations, its options and its model. mlflow_run.py MODEL TRAIN EVAL OUTPUT; pip install mlflow"""
import sys
from typing import Any

import brim
import mlflow


def report(kind: str, fields: dict[str, Any]) -> None:
    if kind == "start":
        mlflow.log_params({name: value for name, value in fields["options"].items() if value is not None})
    elif kind in ("step", "eval"):
        numbers = {f"{kind}.{name}": value for name, value in fields.items() if isinstance(value, (int, float)) and name != "step"}
        mlflow.log_metrics(numbers, step=fields["step"])


with mlflow.start_run():
    print(brim.train(sys.argv[1], sys.argv[2], eval=sys.argv[3], output=sys.argv[4], report_to=report))
    mlflow.log_artifacts(sys.argv[4], "run")
