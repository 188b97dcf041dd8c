"""A TrainingArguments that is handed over means what its fields mean as keywords: taken with effect, or refused with the same line. Skipped without transformers."""
import contextlib
import dataclasses
import hashlib
import io
import json
import pathlib
import shutil
import sys
import tempfile
import unittest
import warnings

import case

try:
    import accelerate  # noqa: F401 - without which there is no TrainingArguments
    import transformers
except ImportError:
    print("1..0 # SKIP transformers and accelerate are not installed")
    sys.exit(0)

import brim
import swept
from brim import options as names_of

transformers.logging.set_verbosity_error()
HERE = case.folder()
MODEL = HERE / "model"
ROWS = [("a good film", "pos"), ("a bad film", "neg"), ("great fun", "pos"), ("dull", "neg"), ("the story of it", "pos"), ("a plot", "neg")] * 3
PAIRS = [(f"a {word}", f"the {word}") for word in ("film", "story", "plot", "end", "cast", "score")]

#: What a field is, other than its default; those that are no bool and not named here have a value of their default's kind.
VALUES = {"lr_scheduler_type": ["cosine", "constant", "constant_with_warmup", "polynomial"], "optim": ["sgd", "adamw_torch", "adafactor"], "max_steps": [2], "num_train_epochs": [2.0],
          "per_device_train_batch_size": [6], "per_device_eval_batch_size": [3], "warmup_steps": [2, 0.5], "warmup_ratio": [0.5], "learning_rate": [3e-3], "weight_decay": [0.5], "adam_beta1": [0.5],
          "adam_beta2": [0.5], "adam_epsilon": [1e-3], "max_grad_norm": [0.01], "gradient_accumulation_steps": [2], "label_smoothing_factor": [0.3], "seed": [7], "data_seed": [42, 7],
          "logging_strategy": ["epoch", "no"], "logging_steps": [2], "eval_strategy": ["epoch", "no"], "eval_steps": [2], "eval_delay": [2], "save_strategy": ["epoch", "no", "best"],
          "save_steps": [2], "save_total_limit": [1, 2, 5], "metric_for_best_model": ["loss", "f1"], "greater_is_better": [True], "report_to": [["tensorboard"]], "log_level": ["error"],
          "log_level_replica": ["error"], "include_num_input_tokens_seen": ["all"], "hub_strategy": ["end"], "train_sampling_strategy": ["sequential", "group_by_length"],
          "debug": ["underflow_overflow"], "include_for_metrics": [["loss"]], "label_names": [["y"]], "lr_scheduler_kwargs": [{"num_cycles": 2}], "optim_args": ["a=1"],
          "optim_target_modules": ["all-linear"], "neftune_noise_alpha": [5.0], "accelerator_config": [{"split_batches": True}], "liger_kernel_config": [{"rope": True}],
          "resume_from_checkpoint": ["there"], "torch_empty_cache_steps": [2], "eval_accumulation_steps": [2], "activation_checkpointing": [True], "gradient_checkpointing": [True],
          "activation_checkpointing_kwargs": [{"use_reentrant": False}], "gradient_checkpointing_kwargs": [{"use_reentrant": False}], "disable_tqdm": [True],
          "prompts": ["query: ", {"anchor": "query: "}], "batch_sampler": ["no_duplicates"], "multi_dataset_batch_sampler": ["round_robin"], "router_mapping": [{"anchor": "query"}],
          "learning_rate_mapping": [{"encoder": 1e-3}]}
#: What changes how long a run takes, how much memory it needs and what is shown, or is what is so without it.
UNSEEN = {"output_dir", "gradient_checkpointing", "activation_checkpointing", "disable_tqdm", "report_to", "per_device_eval_batch_size", "metric_for_best_model", "logging_strategy",
          "resume_from_checkpoint", "tf32"}
#: Which no small machine has, or which need more than a value: not looked at.
NOT_HERE = {"parallelism_config", "fsdp", "fsdp_config", "deepspeed", "ddp_backend", "load_best_model_at_end", "output_dir"}


def values_of(field, usual):
    if field.name in VALUES:
        return VALUES[field.name]
    value = getattr(usual, field.name)
    if isinstance(value, bool) or "bool" in str(field.type):
        return [not value]
    return [value + 3] if isinstance(value, (int, float)) else ["something"]


class Arguments(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        self.enterContext(contextlib.redirect_stderr(io.StringIO()))

    def outcome(self, rows, *args, **more):
        """A line that refuses, or all that there is at the end of a run."""
        shutil.rmtree(self.place / "out", ignore_errors=True)
        seen = []
        try:
            result = brim.train(MODEL, *args, train_dataset=rows, on_event=lambda kind, fields: seen.append((kind, fields.get("step"), fields.get("loss"))), **more)
        except (brim.Error, TypeError, ValueError) as error:
            self.assertTrue(swept.is_line(error), error)
            return str(error)
        files = sorted(str(path.relative_to(self.place)) for path in self.place.rglob("checkpoints/*"))
        told = [{name: value for name, value in one.items() if name not in ("seconds", "rows_per_s") and "second" not in name} for one in result.evaluations]
        return {"steps": seen, "evaluations": json.dumps(told, default=str), "files": files, "metric": str(getattr(result, "metric", None)),
                "weights": hashlib.sha256(b"".join(case.weights(result.model).values())).hexdigest()}

    def same(self, kind, rows, base, **more):
        """Each field of a kind of arguments, in the object and by its name."""
        out = {"output_dir": str(self.place / "out")}
        known = {name: value for name, value in names_of.of_arguments(kind(**out, **base)).items() if name != "output_dir"} | base
        plain = self.outcome(rows, **out, **known, **more)
        self.assertIsInstance(plain, dict, plain)
        self.assertEqual(self.outcome(rows, kind(**out, **base), **more), plain)
        effects, usual = {}, kind(**out)
        for field in dataclasses.fields(kind):
            for value in values_of(field, kind(**out, **base)) if field.init and field.name not in NOT_HERE else ():
                with self.subTest(field.name, value=value):
                    try:
                        arguments = kind(**out, **{**base, field.name: value})
                    except (ImportError, RuntimeError, ValueError):  # which this version, or this machine, has not
                        continue
                    if value in (getattr(usual, field.name), base.get(field.name)):
                        continue
                    left = {"num_train_epochs"} if field.name == "max_steps" else ()  # by their names they contradict each other, and an object always has both
                    by_name = self.outcome(rows, **out, **{**{k: v for k, v in known.items() if k not in left}, field.name: value}, **more)
                    by_object = self.outcome(rows, arguments, **more)
                    self.assertIs(type(by_object), type(by_name), f"{by_object!r:.200}, {by_name!r:.200}")
                    if isinstance(by_name, str):
                        for line in (by_name, by_object):
                            self.assertRegex(line, rf"\b({field.name}|{names_of.brims(field.name)})\b")
                    else:
                        self.assertEqual(by_object, by_name)
                    effects.setdefault(field.name, []).append(by_name != plain)
        for name, seen in effects.items():
            with self.subTest(name):
                self.assertTrue(name in UNSEEN or any(seen) != (name in names_of._IDLE), f"{name}: what has an effect, and what has none, is named in options.py")
        self.assertGreater(len(effects), 80)

    def test_classifier(self):
        base = {"num_train_epochs": 1.0, "per_device_train_batch_size": 4, "learning_rate": 1e-3, "report_to": "none", "use_cpu": True, "save_strategy": "steps", "save_steps": 3,
                "eval_strategy": "steps", "eval_steps": 4}
        self.same(transformers.TrainingArguments, ROWS, base, eval_dataset=ROWS[:3], progress=False)

    def test_sentences(self):
        sentences = case.module("sentence_transformers")
        base = {"num_train_epochs": 2.0, "per_device_train_batch_size": 4, "learning_rate": 1e-3, "report_to": "none", "use_cpu": True, "save_strategy": "steps", "save_steps": 3,
                "eval_strategy": "steps", "eval_steps": 4}
        rows = [{"anchor": one, "positive": other} for one, other in PAIRS]
        self.same(sentences.SentenceTransformerTrainingArguments, rows, base, task="embedding", eval_dataset=rows[:3], progress=False)

    def said(self, **given):
        return names_of.of_arguments(transformers.TrainingArguments(output_dir=str(self.place / "out"), report_to="none", use_cpu=True, **given))

    def test_what_follows(self):
        """What a version of transformers sets by itself is no option, and one thing is said once."""
        self.assertEqual({name for name in self.said(bf16=True) if names_of.brims(name) == "precision" or "mixed" in name}, {"bf16"})
        for name in ("gradient_checkpointing", "activation_checkpointing"):
            options = names_of.canonical(self.said(**{name: True}))
            self.assertIs(options["checkpoint_activations"], True)
        arguments = transformers.TrainingArguments(output_dir=str(self.place / "out"), report_to="none", use_cpu=True, num_train_epochs=1)
        arguments.of_a_later_version = "derived"
        self.assertEqual(brim.train(MODEL, arguments, train_dataset=ROWS, progress=False).steps, 3)
        self.assertEqual(brim.train(MODEL, arguments, train_dataset=ROWS, batch_size=9, epochs=2, lr=1e-4, overwrite=True, progress=False).steps, 4)  # keywords come before it

    def test_schedules(self):
        train = lambda **given: case.weights(brim.train(MODEL, ROWS, max_steps=3, progress=False, **given).model)
        self.assertEqual(train(lr_scheduler_type="constant_with_warmup", warmup_steps=2), train(schedule="constant", warmup_steps=2))
        for given in ({"warmup_steps": 2}, {"warmup_steps": 0.5}, {"warmup_ratio": 0.5}):
            with self.assertRaisesRegex(TypeError, 'has no warm-up: give "constant_with_warmup", or leave out warmup_'):
                train(lr_scheduler_type="constant", **given)
        self.assertEqual(names_of.canonical(self.said(lr_scheduler_type="constant_with_warmup", warmup_steps=2))["schedule"], "constant")
        with self.assertRaisesRegex(TypeError, "has no warm-up"):
            names_of.canonical(self.said(lr_scheduler_type="constant", warmup_steps=2))


if __name__ == "__main__":
    case.main()
