"""Fine-tune in five lines, and look at it while it runs.

    python fine_tune.py MiniLM train.csv test.csv --output run
"""
import argparse
from typing import Any

import brim

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("model", help="Hugging Face folder")
parser.add_argument("train")
parser.add_argument("test")
parser.add_argument("--output", default=None)
parser.add_argument("--epochs", type=float, default=1)
args = parser.parse_args()


def watch(kind: str, fields: dict[str, Any]) -> None:
    if kind == "step" and fields["step"] % 50 == 0:
        print(f"step {fields['step']}: loss {fields['loss']:.4f}")


result = brim.train(args.model, args.train, eval=args.test, output=args.output, epochs=args.epochs, lr=5e-5, on_event=watch)
print(f"{result.steps} steps, {result.tokens:,} tokens, nothing padded; accuracy {result.best_metric:.4f}")
for text in ("a warm , funny and moving film .", "dull and far too long ."):
    print(text, result.model.predict([text])[0])
