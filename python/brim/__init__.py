"""brim: fine-tune BERT-class encoders without computing on padding.

    import brim

    result = brim.train("MiniLM", "train.csv", eval="test.csv", output="run", epochs=2)
    result.model.predict(["a fine film"])

``brim.data`` puts brim's tokenizers and batches in front of any other model, ``brim.torch`` has the pieces that fit into torch's loaders.
"""
from . import _core, data, errors
from .data import Batch, Batches, Dataset, Labels, Plan, Stream, restore_order
from .errors import Error
from .model import Event, Model, Prediction, Result, train, train_events
from .runtime import Runtime, set_threads
from .tokenizer import Encoding, Ragged, Tokenizer

__version__ = _core.version()
__all__ = ["Batch", "Batches", "Dataset", "Encoding", "Error", "Event", "Labels", "Model", "Plan", "Prediction", "Ragged", "Result",
           "Runtime", "Stream", "Tokenizer", "data", "errors", "restore_order", "set_threads", "train", "train_events"]
