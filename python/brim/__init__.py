"""brim: fine-tune BERT-class encoders without computing on padding.

    import brim

    result = brim.train("MiniLM", "train.csv", eval="test.csv", output="run", epochs=2)
    result.model.predict(["a fine film"])

``brim.data`` puts brim's tokenizers and batches in front of any other model, ``brim.torch`` has the pieces that fit into torch's loaders.
"""
import importlib

from . import _core, data, errors, hub
from .device import to
from .data import Batch, Batches, Dataset, Labels, Plan, Stream, restore_order
from .callbacks import Predictions
from .errors import EVALUATE, SAVE, STOP, Error
from .judged import Evaluation
from .model import Model, TokenPrediction
from .prediction import Prediction
from .runtime import Runtime, set_threads
from .tokenizer import Encoding, Ragged, Tokenizer
from .study import Analysis, Comparison, FoldsResult, analyze
from .training import Event, Result, compare, train, train_events

__version__ = _core.version()
__all__ = ["Analysis", "Batch", "Batches", "Comparison", "Dataset", "EVALUATE", "Encoding", "Error", "Evaluation", "Event", "FoldsResult", "Labels", "Model", "Plan", "Prediction", "Predictions", "Ragged", "Result", "SAVE", "TokenPrediction",
           "Runtime", "STOP", "Stream", "Tokenizer", "analyze", "compare", "data", "errors", "hub", "restore_order", "set_threads", "to", "train", "train_events"]


def __getattr__(name: str):
    """``brim.torch`` is there when it is first asked for: torch takes its time to import."""
    if name == "torch":
        try:
            return importlib.import_module("brim.torch")
        except ModuleNotFoundError as missing:
            raise AttributeError("brim.torch needs torch: pip install torch") from missing
    raise AttributeError(f"module 'brim' has no attribute {name!r}" + (f": {_HERE[name]}" if name in _HERE else ""))


_HERE = {"Trainer": "brim.train(model, rows) trains", "TrainingArguments": "brim.train takes them as keywords, or a TrainingArguments as args",
         "pipeline": 'brim.Model(folder).predict("a text") labels', "load_dataset": "brim.train takes what datasets.load_dataset gives",
         "AutoModel": "brim.Model(folder) opens every kind", "AutoTokenizer": "brim.Tokenizer(folder) opens every kind",
         "AutoModelForSequenceClassification": "brim.Model(folder) opens every kind"}


def __dir__():
    return sorted({*globals(), *__all__})
