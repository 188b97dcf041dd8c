"""brim: fine-tune BERT-class encoders without computing on padding.

    import brim

    result = brim.train("MiniLM", "train.csv", eval="test.csv", output="run", epochs=2)
    result.model.predict(["a fine film"])

``brim.data`` puts brim's tokenizers and batches in front of any other model, ``brim.torch`` has the pieces that fit into torch's loaders.
"""
import importlib
import inspect
from typing import Any

from . import _core, data, errors, hub, keywords
from .device import to
from .data import Batch, Batches, Dataset, Labels, Plan, Stream, restore_order
from .callbacks import Predictions
from .errors import EVALUATE, SAVE, STOP, Error
from .judged import Evaluation
from .model import Model, TokenPrediction
from .prediction import Prediction, Ranked
from .runtime import Runtime, set_threads
from .tokenizer import Encoding, Ragged, Tokenizer
from .study import Analysis, Comparison, FoldsResult, analyze
from .result import Event, Result
from .training import compare, train, train_events

__version__ = _core.version()
__all__ = ["Analysis", "Batch", "Batches", "Comparison", "Dataset", "EVALUATE", "Encoding", "Error", "Evaluation", "Event", "FoldsResult", "Labels", "Model", "Plan", "Prediction", "Predictions", "Ragged", "Ranked", "Result", "SAVE", "TokenPrediction",
           "Runtime", "STOP", "Stream", "Tokenizer", "analyze", "compare", "data", "errors", "hub", "restore_order", "set_threads", "to", "train", "train_events"]


def _tell(function: Any, options: Any) -> None:
    """Lets help() and notebooks, which look at the function, know of the options that it takes by name."""
    signature = inspect.signature(function)
    named = [one for one in signature.parameters.values() if one.kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)]
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name, kind in options.__annotations__.items()
            if getattr(kind, "__forward_arg__", kind) != "Any" and name not in signature.parameters]
    function.__signature__ = signature.replace(parameters=[*named, *more])
    if function.__doc__:
        function.__doc__ = f"{function.__doc__.rstrip()}\n\n    {options.__doc__}"


_tell(train, keywords.TrainOptions)


def __getattr__(name: str) -> Any:
    """``brim.torch`` and ``brim.sklearn`` are there when they are first asked for: what they import takes its time."""
    if name in _LATER:
        try:
            return importlib.import_module(f"brim.{name}")
        except ModuleNotFoundError as missing:
            raise AttributeError(f"brim.{name} needs {_LATER[name]}: pip install {_LATER[name]}") from missing
    raise AttributeError(f"module 'brim' has no attribute {name!r}" + (f": {_HERE[name]}" if name in _HERE else ""))


_LATER = {"torch": "torch", "sklearn": "scikit-learn"}
_HERE = {"Trainer": "brim.train(model, rows) trains", "TrainingArguments": "brim.train takes them as keywords, or a TrainingArguments as args",
         "pipeline": 'brim.Model(folder).predict("a text") labels', "load_dataset": "brim.train takes what datasets.load_dataset gives",
         "AutoModel": "brim.Model(folder) opens every kind", "AutoTokenizer": "brim.Tokenizer(folder) opens every kind",
         "AutoModelForSequenceClassification": "brim.Model(folder) opens every kind"}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
