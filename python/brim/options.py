"""Options of training by the names that Hugging Face's TrainingArguments has for them."""
from __future__ import annotations

import dataclasses
import difflib
import enum
import numbers
import operator
import re
import warnings
from collections.abc import Collection, Mapping
from typing import Any

from . import keywords as _keywords
from .errors import UsageError

re_size = re.compile(r"([\d.]+) *([A-Za-z]*)")

#: Names of brim, for "did you mean" and to tell the two kinds apart.
PLAN = {"batching", "padding", "batch_size", "max_tokens", "max_rows", "accumulate", "slices", "pad_to_multiple_of", "read_ahead", "drop_last",
        "required_batch_size_multiple", "oversize", "tail"}
TRAIN = {"epochs", "max_steps", "lr", "schedule", "warmup_steps", "warmup_ratio", "optimizer", "weight_decay", "decay_towards", "mixout", "momentum", "beta1", "beta2", "eps", "clip",
         "layer_lr_decay", "freeze", "train_only", "checkpoint_activations", "precision", "class_weights", "mask_rate", "label_smoothing", "loss_scale", "loss_scale_steps", "patience", "min_delta",
         "eval_batch_size", "eval_batching", "eval_padding", "eval_max_tokens", "log_every", "eval_every", "save_every", "keep_checkpoints",
         "best_metric", "best_is_small", "keep", "loss", "scale", "margin", "temperature", "positive_weight", "distance", "directions", "partition", "similarity",
         "hardness", "hardness_strength", "matryoshka", "matryoshka_weights", "eval_when", "save_when", "memory_limit", "swa_start", "swa_every", "resume", "resume_anyway", "overwrite"}
#: How files are read; of a stream also how its rows are mixed.
SOURCE = {"format", "quote", "where", "min_chars", "skip_damaged", "max_record", "cache", "truncation", "truncation_side", "windows", "max_windows"}
STREAM = {"stream", "shuffle_window", "weights", "repeat", "prefetch"}
#: What brim.train does with them itself.
HERE = {"validation_split", "test", "fold_column", "cpu", "profile", "compute_metrics", "callbacks", "report_to", "progress"}
CALL = {"whole_words", "prompts", "eval", "output", "task", "labels", "max_length", "seed", "text_column", "pair_column", "label_column", "missing_label", "delimiter", "header", "keep_head", "pooling", "layers", "dense", "dense_activation", "reinit_layers",
        "columns", "no_type_ids", "revision", "on_event", "device", "tf32"}

_SAME = {"learning_rate": "lr", "num_train_epochs": "epochs", "per_device_train_batch_size": "batch_size", "train_batch_size": "batch_size",
         "per_device_eval_batch_size": "eval_batch_size", "adam_beta1": "beta1", "adam_beta2": "beta2", "adam_epsilon": "eps",
         "max_grad_norm": "clip", "lr_scheduler_type": "schedule", "logging_steps": "log_every", "eval_steps": "eval_every",
         "save_steps": "save_every", "save_total_limit": "keep_checkpoints", "metric_for_best_model": "best_metric",
         "output_dir": "output", "overwrite_output_dir": "overwrite", "resume_from_checkpoint": "resume",
         "gradient_checkpointing": "checkpoint_activations", "activation_checkpointing": "checkpoint_activations", "train_sampling_strategy": "batching", "label_smoothing_factor": "label_smoothing", "max_seq_length": "max_length",
         "dataloader_drop_last": "drop_last", "optim": "optimizer", "early_stopping_patience": "patience", "early_stopping_threshold": "min_delta",
         "eval_dataset": "eval", "num_epochs": "epochs", "data_seed": "seed", "load_best_model_at_end": "keep", "eval_strategy": "eval_when",
         "evaluation_strategy": "eval_when", "save_strategy": "save_when", "greater_is_better": "best_is_small", "disable_tqdm": "progress",
         "buffer_size": "shuffle_window"}

#: All options, by brim's names.
_KNOWN = PLAN | TRAIN | SOURCE | STREAM | HERE | CALL

#: Names whose value says that brim's own way is what is wanted; any other value is refused with the reason.
_FIXED = {
    "logging_strategy": (("epoch", "steps", "no"), "on_event is called with each step's numbers; log_every says how often"),
    "fp16": ((False,), 'precision="bf16" multiplies 16-bit values; fp16 needs a device that has it'),
    "fp16_full_eval": ((False,), "evaluations are fp32"),
    "bf16_full_eval": ((False,), "evaluations are fp32"),
    "push_to_hub": ((False,), "brim writes a folder; huggingface_hub's upload_folder sends it"),
    "group_by_length": ((False,), 'batching="uniform" puts rows of like length together; without padding, which is the default, it saves nothing'),
}
#: Names that change no weight here, whatever they are: where and how a program of torch computes, counts, shows, keeps and sends what there is.
_IDLE = {"do_train", "do_eval", "do_predict", "use_cpu", "no_cuda", "full_determinism", "use_cache",
         "remove_unused_columns", "length_column_name", "prediction_loss_only", "average_tokens_across_devices",
         "dataloader_num_workers", "dataloader_pin_memory", "dataloader_prefetch_factor", "dataloader_persistent_workers", "dataloader_multiprocessing_context",
         "dataloader_in_order",
         "activation_checkpointing_kwargs", "gradient_checkpointing_kwargs", "torch_compile", "torch_compile_backend", "torch_compile_mode", "torch_empty_cache_steps",
         "use_liger_kernel", "liger_kernel_config", "local_rank", "ddp_find_unused_parameters", "ddp_bucket_cap_mb", "ddp_broadcast_buffers", "ddp_static_graph",
         "ddp_backend", "ddp_timeout",
         "eval_accumulation_steps", "eval_do_concat_batches", "eval_use_gather_object", "skip_memory_metrics", "include_num_input_tokens_seen",
         "run_name", "project", "trackio_space_id", "trackio_bucket_id", "trackio_static_space_id", "log_level", "log_level_replica", "log_on_each_node",
         "logging_dir", "logging_first_step", "logging_nan_inf_filter",
         "save_safetensors", "save_only_model", "save_on_each_node", "enable_jit_checkpoint",
         "hub_token", "hub_private_repo", "hub_model_id", "hub_strategy", "hub_always_push", "hub_revision"}

#: What else a Trainer is given, and how brim has it.
_ELSEWHERE = {
    "threads": "brim.set_threads(n), or BRIM_THREADS, is for all that follows; results do not depend on it",
    "data_collator": "brim makes its batches itself, without padding; brim.torch.Collator is for other training loops",
    "verbose": 'progress=False shows nothing while it trains; logging.getLogger("brim") has the notes',
    "shuffle": 'rows are in a new random order in each epoch; batching="sequential" keeps theirs',
    "dropout": "that of the model's config.json is used",
    "num_labels": "the labels of the rows say how many there are; labels=[...] names them",
    "optimizers": "optimizer names one of brim's own; lr, weight_decay, momentum, beta1, beta2, eps and schedule are its numbers",
    "compute_loss_func": "the loss follows from the task; class_weights and label_smoothing change it",
    "model_init": "each run begins with the folder's weights, and with a head drawn by seed",
    "preprocess_logits_for_metrics": "model.logits(rows) gives the logits",
    "peft_config": "brim trains all weights, or those that freeze and train_only leave",
    "eval_delay": "evaluations begin with the first; eval_every and eval_strategy say how often they are",
    "eval_on_start": "model.evaluate(rows) before the training says it",
    "auto_find_batch_size": "max_tokens, or memory_limit, cuts steps into parts that fit",
    "lr_scheduler_kwargs": "schedule, warmup_steps and warmup_ratio are all that there is of it",
    "optim_args": "beta1, beta2, eps, momentum and weight_decay are the optimizer's numbers",
    "optim_target_modules": "freeze and train_only choose tensors",
    "neftune_noise_alpha": "no noise is added to embeddings",
    "ignore_data_skip": "a resumed run continues with the row where it stopped",
    "include_for_metrics": "compute_metrics gets the logits and the labels",
    "batch_eval_metrics": "compute_metrics is called once for all rows of a set",
    "label_names": "label_column names the column of labels",
    "batch_sampler": "batching says which rows go together",
    "multi_dataset_batch_sampler": "it trains on one set of rows; stream=True with weights mixes files",
    "router_mapping": "all texts go through one encoder",
    "learning_rate_mapping": "lr is of all tensors; layer_lr_decay, freeze and train_only distinguish them",
}
#: Defaults of TrainingArguments, which an object of it means where it does not say otherwise.
_ARGUMENTS = ("num_train_epochs", "per_device_train_batch_size", "learning_rate", "weight_decay", "max_grad_norm", "seed")


def of_arguments(args: Any) -> dict[str, Any]:
    """A TrainingArguments as options: what was said where it was made, and of the rest the defaults that change a result. What is no field of it
    was not said, but follows, and so do fields that another one sets."""
    fields = [field for field in dataclasses.fields(args) if field.init]
    needed = {field.name for field in fields if field.default is field.default_factory is dataclasses.MISSING} | {"output_dir"}
    given = {name: getattr(args, name) for name in needed}
    usual = type(args)(**given)
    said = {field.name: getattr(args, field.name) for field in fields if getattr(args, field.name) != getattr(usual, field.name)}
    options = [brims(name) for name in said]
    for name in list(said):
        unclear = brims(name) not in _KNOWN or options.count(brims(name)) > 1 or name == "warmup_steps"
        if unclear and any(_follows(name, args, {**given, other: said[other]}) for other in said if other != name):
            del said[name]
    if "save_steps" in said and hasattr(args, "save_strategy"):  # "steps" alone, which is the usual one
        said.setdefault("save_strategy", args.save_strategy)
    rest = {name: getattr(args, name) for name in (*_ARGUMENTS, "output_dir") if getattr(args, name, None) is not None}
    return {**said, **rest}


def _follows(name: str, args: Any, given: dict[str, Any]) -> bool:
    """Whether a field has its value where other ones alone are given."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(getattr(type(args)(**given), name) == getattr(args, name))
    except (TypeError, ValueError, ImportError, RuntimeError):  # which contradict each other without the rest
        return False


def _of_enum(value):
    """A string of an enum of transformers."""
    return value.value if isinstance(value, enum.Enum) else value


def _value(name: str, given: str, value: Any) -> Any:
    value = _of_enum(value)
    if name == "best_metric" and isinstance(value, str):
        return value.removeprefix("eval_")
    if name == "max_steps" and isinstance(value, numbers.Real) and not isinstance(value, bool) and value <= 0 and value != -1:
        raise ValueError(f"max_steps is {value}: give a number of steps, or epochs")
    if name in ("freeze", "train_only") and not isinstance(value, (str, bool)) and value is not None:
        return ",".join(map(str, value if hasattr(value, "__iter__") else [value]))
    if name == "mask_rate" and isinstance(value, numbers.Real):
        return str(float(value))
    if name in ("directions", "matryoshka", "matryoshka_weights") and value is not None and not isinstance(value, str):
        return ",".join(map(str, value if hasattr(value, "__iter__") else [value]))
    if given == "load_best_model_at_end" and value is not None:
        return "best" if value else "last"
    if given in _STRATEGIES and value is not None:
        return _strategy(given, value)
    if given == "train_sampling_strategy" and value not in (None, "random", "sequential"):
        raise TypeError(f"{given}={value!r}: " + (_FIXED[value][1] if value == "group_by_length" else "one of random, sequential"))
    if given == "greater_is_better":
        return None if value is None else not value
    if given == "disable_tqdm":
        return False if value else None
    if name == "max_steps" and not isinstance(value, (str, bool)) and value == -1:  # of TrainingArguments: by the epochs
        return None
    if given == "bf16" and value is not None:
        value = flag(given, value)
    if name == "precision" and isinstance(value, bool):
        return "bf16" if value else None
    if given == "resume_from_checkpoint" and not (value is None or isinstance(value, bool)):
        raise TypeError("resume_from_checkpoint is True or False: brim goes on from the newest checkpoint of output")
    if given in ("eval_steps", "save_steps", "logging_steps") and isinstance(value, float) and 0 < value < 1:
        raise TypeError(f"{given} is a number of steps, not a share of them")
    return value


_STRATEGIES = {"eval_strategy": ("epoch", "steps", "no"), "evaluation_strategy": ("epoch", "steps", "no"), "save_strategy": ("epoch", "steps", "no", "best")}


def _strategy(given: str, value: Any) -> str:
    if value not in _STRATEGIES[given]:
        raise TypeError(f"{given}={value!r}: one of {', '.join(_STRATEGIES[given])}")
    return value


def _rhythm(out: dict[str, Any], said: dict[str, str]) -> None:
    """When to evaluate and to save, as Trainer means it: at the end of each epoch, or every so many steps, alone."""
    for when, every, steps in (("eval_when", "eval_every", "eval_steps"), ("save_when", "save_every", "save_steps")):
        if out.get(when) == "steps" and not out.get(every):
            raise TypeError(f'{said[when]}="steps" needs {every if said[when] == when else steps}')
        if out.get(when) in ("epoch", "no"):
            out.pop(every, None)
        if out.get(when) == "best":  # the best evaluation is saved in any case
            out.update({when: "steps"}), out.pop(every, None)


def _warmup(out: dict[str, Any], said: dict[str, str]) -> None:
    """warmup_steps below 1 is a share of all steps, as transformers has it; and of its name, its constant rate, which has no warm-up."""
    if said.get("schedule") == "lr_scheduler_type" and out.get("schedule") == "constant_with_warmup":
        out["schedule"] = "constant"
    elif said.get("schedule") == "lr_scheduler_type" and out.get("schedule") == "constant" and (out.get("warmup_steps") or out.get("warmup_ratio")):
        raise TypeError('lr_scheduler_type="constant" has no warm-up: give "constant_with_warmup", or leave out '
                        + ("warmup_steps" if out.get("warmup_steps") else "warmup_ratio"))
    steps = out.get("warmup_steps")
    if isinstance(steps, float) and 0 < steps < 1:
        if out.get("warmup_ratio"):
            raise TypeError("warmup_steps and warmup_ratio say the same: give one of them")
        out["warmup_ratio"] = out.pop("warmup_steps")
    elif isinstance(steps, float) and steps.is_integer():
        out["warmup_steps"] = int(steps)
    if out.get("warmup_steps") and out.get("warmup_ratio"):
        raise TypeError("warmup_steps and warmup_ratio say the same: give one of them")


_SMALL = {"loss", "rmse"}
_LARGE = {"accuracy", "f1", "matthews", "f1_micro", "f1_macro", "pearson", "spearman", "entity_precision", "entity_recall", "entity_f1"}


METRICS = _SMALL | _LARGE  #: of texts with labels


def _better(out: dict[str, Any], said: dict[str, str]) -> None:
    """Which way is better is for metrics of one's own; of brim's it must be what is so."""
    metric = str(out.get("best_metric", "")).rpartition("/")[2]
    metric = next((one for one in METRICS if metric.endswith("_" + one)), metric) if metric not in _LARGE else metric  # of a set, as Trainer names it
    small = out.get("best_is_small")
    if small is not None and not metric:
        raise TypeError(f"{said['best_is_small']} has no effect without best_metric: add it, or leave out {said['best_is_small']}")
    if small is None or "compute_metrics" in out:
        return
    if metric in METRICS and small != (metric in _SMALL):
        raise TypeError(f"greater_is_better={not small}: of {metric} the {'least' if metric in _SMALL else 'greatest'} is best")
    del out["best_is_small"]


def _unknown(name: str) -> TypeError:
    known = sorted(_KNOWN | set(_SAME) | {"bf16"})
    near = difflib.get_close_matches(name, known, 1, 0.75) or [k for k in known if k.startswith(name) or name in k.split("_")][:1]
    return TypeError(f'there is no option "{name}"' + (f"; did you mean {near[0]}?" if near else ": help(brim.train) lists them"))


def brims(name: str) -> str:
    """The name that brim has for an option of either side."""
    return "precision" if name == "bf16" else _SAME.get(name, name)


def canonical(options: dict[str, Any]) -> dict[str, Any]:
    """The options by brim's names; TypeError for a name that neither side has, or for two names of one thing."""
    out: dict[str, Any] = {}
    said: dict[str, str] = {}
    options = dict(options)
    parts = options.pop("gradient_accumulation_steps", None)
    if parts is not None and whole("gradient_accumulation_steps", parts, 1, MOST) != 1:  # there a step is so many batches; here it has batch_size rows, in parts
        rows = next((n for n in ("batch_size", "per_device_train_batch_size", "train_batch_size") if n in options), "batch_size")
        if "accumulate" in options:
            raise TypeError("accumulate and gradient_accumulation_steps say the same: give one of them")
        options |= {rows: options.get(rows, 16) * parts, "accumulate": parts}
    for given, value in options.items():
        name = brims(given)
        if given in _FIXED:
            fine, reason = _FIXED[given]
            if _of_enum(value) not in fine:
                raise TypeError(f"{given}={_of_enum(value)!r}: {reason}")
            continue
        if given in _IDLE:
            continue
        if given in _ELSEWHERE:
            raise TypeError(f"brim.train has no {given}: {_ELSEWHERE[given]}")
        if name not in _KNOWN:
            raise _unknown(given)
        if name in out:
            raise TypeError(f"{said[name]} and {given} are the same option: give one of them")
        out[name], said[name] = _value(name, given, value), given
    out = {name: value for name, value in out.items() if value is not None}
    _rhythm(out, said), _warmup(out, said), _better(out, said)
    within({name: value for name, value in out.items() if name != "max_length"})  # of which the model says the most
    return out


def within(options: dict[str, Any]) -> None:
    """Refuses a number outside of its range, as the program does: in the library 0 often means that nothing is given."""
    for name, value in options.items():
        least, most = _keywords.RANGES.get(name, (None, None))
        if least is not None and isinstance(value, numbers.Real) and not isinstance(value, bool) and not least <= value <= most:
            raise UsageError(f"{name} is {value}: it must be from {least} to {most}")


def of_answers(options: Mapping[str, Any]) -> None:
    """Refuses options that predictions have not, and numbers outside of their range."""
    known = _keywords.PredictOptions.__annotations__
    name = next((name for name in options if name not in known), None)
    if name is not None:
        near = _COLUMNS_OF_TEXTS if name in ("columns", "column") else next(iter(difflib.get_close_matches(name, known, 1, 0.75)), None)
        raise TypeError(f'there is no option "{name}"' + (f"; did you mean {near}?" if near else f": there are {', '.join(known)}"))
    within(dict(options))


_COLUMNS_OF_TEXTS = "text_column, or pair_column for the second text"


def _is_met(need: str, there: dict[str, Any]) -> bool:
    """One of the options that another needs: it says something, or has one of the values."""
    name, _, values = need.partition("=")
    value = there.get(name)
    if name == "task" and value is None:  # the library says which losses other tasks have
        return True
    return str(value) in values.split("|") if values else value not in (None, False, _keywords.NEEDS.get(name, (None,))[0])


def refuse_idle(asked: dict[str, str], there: dict[str, Any], of: Collection[str] | None = None) -> None:
    """Refuses what was asked for (the names as they were given, by brim's) and has no effect with the rest of what is there. of: options that
    the call has, where it has not all of them."""
    for name in _keywords.NEEDS.keys() & asked.keys() & there.keys():
        usual, needs = _keywords.NEEDS[name]
        says = there[name] not in (None, False, usual) and not (there[name] is True and name in _keywords.RANGES)  # which is no number
        ways = [need for need in needs.split() if of is None or need.partition("=")[0] in of]
        if says and not any(_is_met(need, there) for need in ways):
            wanted = " or ".join(need.replace("=", '="').replace("|", '" or "') + '"' if "=" in need else need for need in ways)
            raise UsageError(f"{asked[name]} has no effect without {wanted}: add it, or leave out {asked[name]}")


def of_batches(given: dict[str, Any]) -> dict[str, Any]:
    """Options of batches with their default; what has no effect without another is refused."""
    there = {"batching": "random", **{name: value for name, value in given.items() if value is not None}}
    refuse_idle({name: name for name in ("pad_to_multiple_of", "read_ahead")}, there, PLAN)
    return there


def first(given: Mapping[str, Any]) -> str | None:
    """The name of the first option that is given."""
    return next((name for name, value in given.items() if value is not None), None)


def is_bool(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")


def is_true_or_false(value: Any) -> bool:
    """0 and 1 are too."""
    return is_bool(value) or isinstance(value, int) and value in (0, 1)


def flag(name: str, value: Any) -> bool:
    """A truth value; a word is none, whatever it says."""
    if is_true_or_false(value):
        return bool(value)
    raise TypeError(f"{name}: True or False is needed, not {value!r}")


MOST = (1 << 31) - 1  #: of what the library counts in 32 bits


def whole(name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """A whole number, NumPy's too. A truth value is none, though Python says that True is 1, and neither is 2.0."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{name}: a whole number is needed, not {value!r:.60}")
    if least is not None and number < least:
        raise UsageError(f"{name} is {number}: a number from {least} on is needed")
    if least is None and most is not None and number < -most:
        raise UsageError(f"{name} is {number}: the smallest is {-most}")
    if most is not None and number > most:
        raise UsageError(f"{name} is {number}: the largest is {most}")
    return number


def seed(name: str, value: Any) -> int:
    return whole(name, value, 0, (1 << 64) - 1)


#: Options of reading that files alone have, and what says nothing.
_OF_FILES = {"format": "auto", "header": True, "where": None, "skip_damaged": False, "quote": None, "max_record": None, "delimiter": None, "cache": None}


def of_rows(how: dict[str, Any], *, with_files: bool = False, error: type[Exception] = UsageError) -> dict[str, Any]:
    """The options of reading that rows in memory have; another one is refused, where it says something. with_files: other sets are files, which have it,
    and only what chooses rows is refused."""
    given = next((name for name, usual in _OF_FILES.items() if how.get(name, usual) not in (usual, None) and (name == "where" or not with_files)), None)
    if given:
        raise error(f"{given} is for files (csv, tsv, jsonl, txt), and these rows are in memory" + (": choose them before" if given == "where" else ""))
    return {name: value for name, value in how.items() if name not in _OF_FILES and name != "progress"}


def that_read(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those that say how texts become rows, and say something; but for max_length, which may be what a model has at most."""
    usual = {**_OF_FILES, "min_chars": 0, "missing_label": "error", "special_tokens": True}
    return {name: value for name, value in options.items()
            if name not in ("max_length", "numbering", "runtime", "progress") and value is not None and value != usual.get(name) and value != {}}


def split_reading(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of predictions: what says how rows are read, and what says how they are computed."""
    names = _keywords.PredictOptions.__annotations__.keys() - _keywords.ComputeOptions.__annotations__
    return ({name: value for name, value in options.items() if name in names and value is not None}, {name: value for name, value in options.items() if name not in names})


def for_files(how: dict[str, Any]) -> dict[str, Any]:
    """Options of reading as the library names them."""
    names = {"header": "no_header", "missing_label": "skip_unlabelled"}
    values = {"header": lambda v: not v, "missing_label": lambda v: v == "skip"}
    return {names.get(n, n): values[n](v) if n in values else v for n, v in how.items() if n != "cache"}


def _class_named(labels: Any, key: Any) -> str:
    """The class of a key of class_weights: by its name, or by what rows have in its place; else by its id."""
    key = key.item() if hasattr(key, "item") else key
    try:
        return labels.names[labels.id(key)]
    except KeyError:
        is_id = isinstance(key, int) and not isinstance(key, bool) and not labels._keys and 0 <= key < len(labels.names)
        return labels.names[key] if is_id else str(key)


def class_weights(value: Any, labels: Any) -> str | None:
    """"balanced", {class: weight} or one weight a class, as the library takes them."""
    names = labels.names
    if value is None or isinstance(value, str):
        return value
    if names is None:
        raise TypeError("class_weights are of classes, and this is a regression")
    if hasattr(value, "items"):
        pairs = [(_class_named(labels, key), weight) for key, weight in value.items()]
    else:
        weights = list(value)
        if len(weights) != len(names):
            raise ValueError(f"class_weights has {len(weights)} weights for {len(names)} classes")
        pairs = list(zip(names, weights))
    return ",".join(f"{_quoted(name)}={float(weight)!r}" for name, weight in pairs)


def _quoted(name: str) -> str:
    """The name of a class as a field of csv, where a comma or a quote needs that."""
    return '"' + name.replace('"', '""') + '"' if "," in name or name.startswith('"') else name


def memory(value: Any) -> int | None:
    """Bytes: a number, or "2GB", "1500MB", "2GiB" as the program takes them."""
    if isinstance(value, numbers.Integral) and value < 1:
        raise UsageError(f"memory_limit is {value}: a size such as 2GB, or a number of bytes, is needed")
    if not isinstance(value, str):
        return value
    found = re_size.fullmatch(value.strip())
    units = {"": 1, "B": 1, "K": 2**10, "KB": 10**3, "KIB": 2**10, "M": 2**20, "MB": 10**6, "MIB": 2**20, "G": 2**30, "GB": 10**9,
             "GIB": 2**30, "TB": 10**12}
    if not found or found[2].upper() not in units:
        raise ValueError(f"memory_limit={value!r}: a size such as 2GB, 1500MB or 2GiB is needed")
    return int(float(found[1]) * units[found[2].upper()])
