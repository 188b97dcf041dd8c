"""Every class of tokenizers that transformers has, named for each kind of file: what it makes of the folder."""
import itertools
import json
import pathlib
import re

import tokenizer_folders as folders

TEXTS = [*folders.TEXTS, "Hello film", "foo\nbar [SEP] </s>"]
FILES = {"cased": "wordpiece-cased", "uncased": "wordpiece-uncased", "bytes": "byte-bpe", "pieces": "unigram"}
MODELS = {"cased": ("bert", "distilbert"), "uncased": ("bert", "mpnet"), "bytes": ("roberta", "eurobert"), "pieces": ("xlm-roberta", "bert")}
OPTIONS = ({}, {"do_lower_case": True}, {"do_lower_case": False}, {"add_prefix_space": True}, {"add_prefix_space": False},
           {"auto_map": {"AutoTokenizer": ["own.Slow", "own.Fast"]}}, {"add_bos_token": True})
NOBODY = ["FooTokenizer", "RetriBertTokenizer", "PreTrainedTokenizer", "PreTrainedTokenizerFast", "TokenizersBackend", "BloomTokenizerFast"]


def names():
    """Those that transformers maps models to, and those that its modules make, with and without Fast."""
    import transformers
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES
    found = {name for name in TOKENIZER_MAPPING_NAMES.values() if name and name.endswith("Tokenizer")}
    for file in pathlib.Path(transformers.__file__).parent.glob("models/*/tokenization_*.py"):
        found.update(re.findall(r"^(?:class )?(\w+Tokenizer)(?:Fast)?(?:\(| =)", file.read_text(encoding="utf-8"), re.M))
    return [*sorted({*found, *(name + "Fast" for name in found)} - {"AutoTokenizer", "AutoTokenizerFast"}), *NOBODY]


def cases():
    """(name, files) of every class, kind of file, model and option."""
    for title, kind, form, options in itertools.product(names(), FILES, ("json", "older", "added"), OPTIONS):
        for model in MODELS[kind]:
            files = {"tokenizer.json": folders.text_of(FILES[kind]), "config.json": {"model_type": model},
                     "tokenizer_config.json": {"tokenizer_class": title, **options}}
            if form == "added":
                folders.added_file(files)
            if form == "older" and not folders.older(files):
                continue
            yield f"{title}, {kind} {form}, {model}, {json.dumps(options)}", files


def of(encode):
    """Ids of texts and of a pair, by either side's function."""
    return [encode(text) for text in TEXTS] + [encode(*folders.PAIR)]
