"""Options of training by the names that Hugging Face's TrainingArguments has for them."""
from __future__ import annotations

import difflib
import re
from typing import Any

re_size = re.compile(r"([\d.]+) *([A-Za-z]*)")

#: Names of brim, for "did you mean" and to tell the two kinds apart.
PLAN = {"batching", "padding", "batch_size", "max_tokens", "max_rows", "accumulate", "slices", "pad_to_multiple_of", "read_ahead", "drop_last",
        "required_batch_size_multiple", "oversize", "tail"}
TRAIN = {"epochs", "max_steps", "lr", "schedule", "warmup_steps", "warmup_ratio", "optimizer", "weight_decay", "decay_towards", "mixout", "momentum", "beta1", "beta2", "eps", "clip",
         "layer_lr_decay", "freeze", "checkpoint_activations", "precision", "class_weights", "label_smoothing", "loss_scale", "loss_scale_steps", "patience", "min_delta",
         "eval_batch_size", "eval_batching", "eval_padding", "eval_max_tokens", "log_every", "eval_every", "save_every", "keep_checkpoints",
         "best_metric", "memory_limit", "swa_start", "swa_every", "resume", "resume_anyway", "overwrite"}
CALL = {"eval", "output", "task", "labels", "max_length", "seed", "text_column", "pair_column", "label_column", "missing_label", "delimiter", "header", "keep_head", "pooling", "reinit_layers",
        "no_type_ids", "revision", "on_event", "device", "tf32"}

_SAME = {"learning_rate": "lr", "num_train_epochs": "epochs", "per_device_train_batch_size": "batch_size", "train_batch_size": "batch_size",
         "per_device_eval_batch_size": "eval_batch_size", "adam_beta1": "beta1", "adam_beta2": "beta2", "adam_epsilon": "eps",
         "max_grad_norm": "clip", "lr_scheduler_type": "schedule", "logging_steps": "log_every", "eval_steps": "eval_every",
         "save_steps": "save_every", "save_total_limit": "keep_checkpoints", "metric_for_best_model": "best_metric",
         "output_dir": "output", "overwrite_output_dir": "overwrite", "resume_from_checkpoint": "resume",
         "gradient_checkpointing": "checkpoint_activations", "label_smoothing_factor": "label_smoothing", "max_seq_length": "max_length",
         "dataloader_drop_last": "drop_last", "optim": "optimizer", "early_stopping_patience": "patience", "early_stopping_threshold": "min_delta",
         "eval_dataset": "eval", "num_epochs": "epochs", "data_seed": "seed"}

#: Names whose value says that brim's own way is what is wanted; any other value is refused with the reason.
_FIXED = {
    "eval_strategy": (("epoch", "steps", "no"), "brim evaluates after each epoch, and every eval_every steps where that is given"),
    "evaluation_strategy": (("epoch", "steps", "no"), "brim evaluates after each epoch, and every eval_every steps where that is given"),
    "save_strategy": (("epoch", "steps", "no"), "brim saves after each epoch where output is given, and every save_every steps"),
    "logging_strategy": (("epoch", "steps", "no"), "on_event is called with each step's numbers; log_every says how often"),
    "fp16": ((False,), 'precision="bf16" multiplies 16-bit values; fp16 needs a device that has it'),
    "fp16_full_eval": ((False,), "evaluations are fp32"),
    "bf16_full_eval": ((False,), "evaluations are fp32"),
    "push_to_hub": ((False,), "brim writes a folder; huggingface_hub's upload_folder sends it"),
    "load_best_model_at_end": ((False,), "the best checkpoint is the folder checkpoints/best of the run: brim.Model(output + '/checkpoints/best')"),
    "greater_is_better": ((True, None), "brim knows of each metric which way is better"),
    "group_by_length": ((False,), 'batching="uniform" puts rows of like length together; without padding, which is the default, it saves nothing'),
}
#: Names that change nothing here, whatever they are.
_IDLE = {"do_train", "do_eval", "do_predict", "report_to", "logging_dir", "disable_tqdm", "remove_unused_columns", "dataloader_num_workers",
         "dataloader_pin_memory", "dataloader_prefetch_factor", "dataloader_persistent_workers", "run_name", "use_cpu", "no_cuda", "log_level",
         "save_safetensors", "save_only_model", "logging_first_step"}

#: What else a Trainer is given, and how brim has it.
_ELSEWHERE = {
    "threads": "brim.set_threads(n), or BRIM_THREADS, is for all that follows; results do not depend on it",
    "compute_metrics": "brim counts accuracy, F1, Matthews' or Pearson's and Spearman's by itself; any other: from model.evaluate(rows).rows or model.logits(rows)",
    "data_collator": "brim makes its batches itself, without padding; brim.torch.Collator is for other training loops",
    "callbacks": "on_event=function is called with every event",
    "optimizers": "optimizer names one of brim's own; lr, weight_decay, momentum, beta1, beta2, eps and schedule are its numbers",
    "compute_loss_func": "the loss follows from the task; class_weights and label_smoothing change it",
    "model_init": "each run begins with the folder's weights, and with a head drawn by seed",
    "preprocess_logits_for_metrics": "model.logits(rows) gives the logits",
    "peft_config": "brim trains all weights, or those that freeze leaves",
    "loss": "the loss follows from the task: labels that are classes, lists or values",
}
#: Defaults of TrainingArguments, which an object of it means where it does not say otherwise.
_ARGUMENTS = ("num_train_epochs", "per_device_train_batch_size", "learning_rate", "weight_decay", "max_grad_norm", "seed")


def of_arguments(args: Any) -> dict[str, Any]:
    """A TrainingArguments as options: what it says, and of the rest the defaults that change a result."""
    usual = type(args)(output_dir=args.output_dir)
    said = {name: getattr(args, name) for name in vars(usual) if not name.startswith("_") and getattr(args, name) != getattr(usual, name, None)}
    rest = {name: getattr(args, name) for name in (*_ARGUMENTS, "output_dir") if getattr(args, name, None) is not None}
    return {**{n: v for n, v in said.items() if n not in _DERIVED}, **rest}


#: What TrainingArguments sets by itself.
_DERIVED = {"hub_token", "deepspeed_plugin", "distributed_state", "local_rank", "eval_do_concat_batches", "eval_delay", "logging_dir"}


def _plain(value):
    """A string of an enum of transformers."""
    return getattr(value, "value", value) if not isinstance(value, (str, int, float, bool, type(None))) else value


def _value(name: str, given: str, value: Any) -> Any:
    value = _plain(value)
    if name == "best_metric" and isinstance(value, str):
        return value.removeprefix("eval_")
    if name == "max_steps" and not isinstance(value, str) and value is not None and value <= 0:  # -1 of TrainingArguments: by the epochs
        return None
    if name == "precision" and isinstance(value, bool):
        return "bf16" if value else None
    if given == "resume_from_checkpoint" and not (value is None or isinstance(value, bool)):
        raise TypeError("resume_from_checkpoint is True or False: brim goes on from the newest checkpoint of output")
    if given in ("eval_steps", "save_steps", "logging_steps") and isinstance(value, float) and 0 < value < 1:
        raise TypeError(f"{given} is a number of steps, not a share of them")
    return value


def _unknown(name: str) -> TypeError:
    known = sorted(PLAN | TRAIN | CALL | set(_SAME) | {"bf16"})
    near = difflib.get_close_matches(name, known, 1, 0.6) or [k for k in known if name in k or k in name][:1]
    return TypeError(f'there is no option "{name}"' + (f"; did you mean {near[0]}?" if near else ": help(brim.train) lists them"))


def canonical(options: dict[str, Any]) -> dict[str, Any]:
    """The options by brim's names; TypeError for a name that neither side has, or for two names of one thing."""
    out: dict[str, Any] = {}
    said: dict[str, str] = {}
    options = dict(options)
    parts = options.pop("gradient_accumulation_steps", None)
    if parts is not None and parts != 1:  # there a step is so many batches; here it has batch_size rows, in parts
        rows = next((n for n in ("batch_size", "per_device_train_batch_size", "train_batch_size") if n in options), "batch_size")
        if "accumulate" in options:
            raise TypeError("accumulate and gradient_accumulation_steps say the same: give one of them")
        options |= {rows: options.get(rows, 16) * parts, "accumulate": parts}
    for given, value in options.items():
        name = "precision" if given == "bf16" else _SAME.get(given, given)
        if given in _FIXED:
            fine, reason = _FIXED[given]
            if _plain(value) not in fine:
                raise TypeError(f"{given}={_plain(value)!r}: {reason}")
            continue
        if given in _IDLE:
            continue
        if given in _ELSEWHERE:
            raise TypeError(f"brim.train has no {given}: {_ELSEWHERE[given]}")
        if name not in PLAN | TRAIN | CALL:
            raise _unknown(given)
        if name in out:
            raise TypeError(f"{said[name]} and {given} are the same option: give one of them")
        out[name], said[name] = _value(name, given, value), given
    return {name: value for name, value in out.items() if value is not None}


def class_weights(value: Any, names: list[str] | None) -> str | None:
    """"balanced", {class: weight} or one weight a class, as the library takes them."""
    if value is None or isinstance(value, str):
        return value
    if names is None:
        raise TypeError("class_weights are of classes, and this is a regression")
    if hasattr(value, "items"):
        pairs = [(names[key] if isinstance(key, int) and str(key) not in names and 0 <= key < len(names) else str(key), weight)
                 for key, weight in value.items()]
    else:
        weights = list(value)
        if len(weights) != len(names):
            raise ValueError(f"class_weights has {len(weights)} weights for {len(names)} classes")
        pairs = list(zip(names, weights))
    for name, _ in pairs:
        if "," in name or "=" in name:
            raise ValueError(f"class_weights: the class {name!r} has a comma or = in its name, which this option cannot say")
    return ",".join(f"{name}={float(weight)!r}" for name, weight in pairs)


def memory(value: Any) -> int | None:
    """Bytes: a number, or "2GB", "1500MB", "2GiB" as the program takes them."""
    if not isinstance(value, str):
        return value
    found = re_size.fullmatch(value.strip())
    units = {"": 1, "B": 1, "K": 2**10, "KB": 10**3, "KIB": 2**10, "M": 2**20, "MB": 10**6, "MIB": 2**20, "G": 2**30, "GB": 10**9,
             "GIB": 2**30, "TB": 10**12}
    if not found or found[2].upper() not in units:
        raise ValueError(f"memory_limit={value!r}: a size such as 2GB, 1500MB or 2GiB is needed")
    return int(float(found[1]) * units[found[2].upper()])
