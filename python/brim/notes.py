"""What the program prints as notes, for ``logging.getLogger("brim")``: INFO what was done, WARNING what may not have been meant."""
from __future__ import annotations

import logging
import math
import pathlib
from collections.abc import Collection
from typing import Any

from . import _core, files as _files, layout as _layout, rows as _rows
from .errors import _calm
from .progress import numbers

log = logging.getLogger("brim")


def _calmed(record: logging.LogRecord) -> bool:
    record.msg, record.args = _calm(record.getMessage()), ()
    return True


log.addFilter(_calmed)


def of_left_out(dataset, name: str, damaged: bool) -> None:
    """Rows that were left out (damaged: also those that cannot be read)."""
    excluded, rows = dataset.excluded, dataset._facts["records"]
    if excluded:
        file, line, _, reason = excluded[0]
        log.log(logging.WARNING if damaged else logging.INFO, "%s: %s of %s rows are left out, the first at %s %s: %s", _files.shown(file or name), f"{len(excluded):,}", f"{len(excluded) + rows:,}",
                    "line" if line else "row", f"{line or excluded[0][2]:,}", reason)


def of_rows(dataset, name: str, max_length: int, damaged: bool) -> None:
    """Rows that were left out, and rows that were cut."""
    of_left_out(dataset, name, damaged)
    rows = dataset._facts["records"]  # of masked words each window is a row
    if dataset.truncated and dataset._core.windows() and not dataset._facts["has_pairs"]:  # which are cut
        log.warning("%s: %s of %s rows (%.1f %%) were longer than their windows, %s tokens lost; max_windows changes it", name, f"{dataset.truncated:,}",
                    f"{rows:,}", 100 * dataset.truncated / rows, f"{dataset.lost:,}")
    elif dataset.truncated:
        log.warning("%s: %s of %s rows (%.1f %%) were cut at %d tokens, %s tokens lost; max_length changes it", name, f"{dataset.truncated:,}",
                    f"{rows:,}", 100 * dataset.truncated / rows, max_length, f"{dataset.lost:,}")


def of_words(dataset, name: str) -> None:
    """Labels of words in rows of one word, as a table with a word a row has them."""
    if len(dataset) > 1 and all((words := dataset._words(row)) is not None and len(words[0]) <= 1 for row in range(len(dataset))):
        log.warning("%s: each of the %s rows has one word, which the model sees without the others of its sentence: a row is a sentence, with a list of its words and one of "
                    "their labels", name, f"{len(dataset):,}")


def of_spaces(dataset) -> None:
    """Texts in the place of words."""
    if all(words is not None and words[0] and all(len(word.split()) > 1 for word in words[0]) for words in map(dataset._words, range(len(dataset)))):
        log.warning("all words of the %s rows hold white space: a row is a text, which is split there, or a list of its words", f"{len(dataset):,}")


def _lasts(rows: Any, items: int) -> list[str]:
    """The last of each row's items; []: there is another row."""
    rows = _rows.list_of(rows) if _rows.is_bare(rows) else []
    found = [row[-1] for row in rows if isinstance(row, (tuple, list)) and len(row) == items and isinstance(row[-1], str)]
    return found if len(found) == len(rows) else []


def are_few(different: Collection[Any], rows: int) -> bool:
    """Different values that are as few as the names of classes are."""
    return 2 <= len(different) <= min(rows // 4, 50)


def of_names(rows: Any, names: Collection[str] | None = None) -> None:
    """Second texts that are the names of classes, or look like them, where no labels are read."""
    seconds = _lasts(rows, 2)
    different = set(seconds)
    if seconds and (different <= set(names) if names else are_few(different, len(seconds))):
        log.warning("the second of two texts is one of %d in all %s rows, as the names of classes are, and no labels are read here: it is read as a text of a pair",
                    len(different), f"{len(seconds):,}")
    of_pairs(rows, {3: "third of three"})


def of_pairs(rows: Any, items: dict[int, str] = {2: "second of two", 3: "third of three"}) -> None:
    """Labels that look like texts."""
    for count, which in items.items():
        lasts = _lasts(rows, count)
        if len(lasts) > 3 and len(set(lasts)) > len(lasts) // 2:
            log.warning("the %s is its row's label, and they are of %d kinds in %s rows: pairs of texts are dicts with text and text_pair", which, len(set(lasts)), f"{len(lasts):,}")


def of_scores(column: str | None, classes: list[str] | None) -> None:
    """Numbers of two classes that are taken as scores."""
    if classes:
        log.warning('the column "%s" is of classes: texts of "%s" (1) are taken to fit, and those of "%s" (0) not', column, classes[1], classes[0])


def of_task(labels, task: str) -> None:
    """What is learned, and why."""
    what, why = _core.task_description(labels._core)
    if what:
        log.info("task: %s%s", what, f", {why}; task= changes it" if why and task == "auto" else "")
    alike, _, odd = _core.label_notes(labels._core)
    if alike:
        log.warning('the classes "%.80s" and "%.80s" look alike (they differ in spaces, capitals, signs that are not seen, or how the same is '
                    "written) and are two: correct the data if they are one", *alike)
    if odd:
        log.warning('the class "%.80s" looks like %s', *odd)
    if labels.names and all(len(name) > 1 and name[0] == name[-1] == '"' for name in labels.names):
        log.warning('the names of all classes are in quotes, which belong to them; quote="csv" reads a file as csv does, without')
    of_entities(labels)


def of_entities(labels) -> None:
    """Labels of words that seem to be meant as entities, and are none."""
    if _core.label_notes(labels._core)[1]:
        log.warning("the labels are not all O, B-X, I-X, E-X or S-X: there are no metrics of whole entities")


def of_model(facts: dict[str, Any], checkpoints: pathlib.Path | None) -> None:
    """Tensors that are new (not where a checkpoint has them all) or not used, and classes that were named otherwise."""
    kept = checkpoints is not None and any(checkpoints.glob("step-*/state.json"))
    for what, names in (("tensors of the file are not used", facts["unused"]), ("tensors are new", () if kept else facts["new"])):
        if names:
            log.info("%d %s: %s%s", len(names), what, ", ".join(names[:3]), ", ..." if len(names) > 3 else "")
    former, now = facts["former"], facts["labels"]
    if len(former) > 1:
        log.warning("the model's classes were %s%s and are now %s%s, in this order: its classifier is kept", ", ".join(former[:2]),
                    ", ..." if len(former) > 2 else "", ", ".join(now[:2]), ", ..." if len(now) > 2 else "")


def of_event(kind: str, fields: dict[str, Any], swa_start: float = 0) -> None:
    """Steps and memory, evaluations, a run that resumes, ways that cannot take turns."""
    if kind == "start":
        if fields["trained_parameters"] < fields["parameters"]:
            log.info("trained: %s of %s parameters (%d tensors)", f"{fields['trained_parameters']:,}", f"{fields['parameters']:,}", fields["trained_tensors"])
        log.info("steps: %s; memory: at most %.1f MB, %.1f MB of it for training (up to %s tokens at once)", f"{fields['total_steps']:,}",
                 fields["memory_planned"] / 1e6, fields["memory_training"] / 1e6, f"{fields['slots_at_once']:,}")
        if fields.get("empty_texts"):
            log.warning("%s row%s an empty text, from which there is nothing to learn; min_chars=1 leaves out rows without a text, and with pair_column those without a second one",
                        f"{fields['empty_texts']:,}", " has" if fields["empty_texts"] == 1 else "s have")
        if fields.get("loss"):
            log.info("loss: %s", fields["loss"])
        if fields.get("equal_pairs"):
            log.warning("in %d row%s the second text is the first: there is little to learn from them", fields["equal_pairs"], "" if fields["equal_pairs"] == 1 else "s")
        if fields.get("ignored_labels"):
            log.warning("%d row%s a score or label other than 1, which the loss %s does not look at: their texts are taken to belong together",
                        fields["ignored_labels"], " has" if fields["ignored_labels"] == 1 else "s have", fields["loss"])
        if fields.get("equal_labels"):
            log.warning("all scores are equal, and the loss %s learns from rows whose scores differ: there is nothing to learn", fields["loss"])
        if fields["warmup_steps"] >= fields["total_steps"] > 0:
            log.warning("the warm-up takes %s steps, and the run has %s: the learning rate does not reach lr", f"{fields['warmup_steps']:,}", f"{fields['total_steps']:,}")
    elif kind == "step" and fields["step"] == 1 and fields.get("negatives") is not None and fields.get("rows"):
        _of_negatives(fields["rows"], fields["negatives"], fields["equal_texts"])
    elif kind == "eval":
        log.info("step %d, %s: %s", fields["step"], fields["name"], numbers(fields))
    elif kind == "resume":
        log.info("the run continues after step %d of %d", fields["step"], fields["total_steps"])
        if fields["log_lost"]:
            log.warning("log.jsonl does not have all of the %d steps that were done: its curves begin again here", fields["step"])
        if fields["former_steps"] is not None:
            log.info("the run becomes longer: %d steps in place of %d; the learning rate of step %d is %.4g by the longer run's schedule, in place of %.4g",
                     fields["total_steps"], fields["former_steps"], fields["step"] + 1, fields["lr"], fields["former_lr"])
            _of_average(swa_start, fields["step"], fields["former_steps"], fields["total_steps"])
        if fields["former_kernels"] is not None:
            log.warning("the run was begun with %s and continues with %s: the last bits of the weights differ from those of a run without this change",
                        fields["former_kernels"], fields["kernels"])
    elif kind == "folder":
        if fields["kept"]:
            log.warning("the run's folder keeps what is not the run's: %s", fields["names"])
        of_saved(fields["links"], fields["link"], fields["own_readme"])
    elif kind == "rounds" and not fields["fits"]:
        log.warning("one way after another, so speeds cannot be compared: there is no memory for the weights and moments of %d that wait", fields["modes"])
    elif kind == "fold":
        log.info("fold %d of 0 to %d", fields["fold"], fields["count"] - 1)


def _of_average(share: float, step: int, former: int, total: int) -> None:
    """Steps are not taken out of an average: a run that becomes only a little longer keeps some that come before its own share."""
    first, before = (math.ceil(share * steps - 1e-9) for steps in (total, former))
    if share and before < first < step:
        log.warning("the average keeps steps from %s on, as the shorter run had them; from the beginning, a run of %s steps averages from %s on", f"{max(before, 1):,}", f"{total:,}",
                    f"{first:,}")


def of_saved(links: int, link: str, own_readme: bool) -> None:
    """What was found where a model is written."""
    if links:
        log.warning("%s%s in the folder: the model's own file takes the place of a link, and what it points at stays", link, f" and {links - 1} more" if links > 1 else "")
    if own_readme:
        log.warning("README.md in the folder is not brim's and stays: how transformers computes this model is not said there")


def of_prompts(home: str, trained: Collection[str]) -> None:
    """Prompts that rows of texts are measured without. trained: the names of those that a training had."""
    listed = _layout.read_json(_layout.home_of(home), "config_sentence_transformers.json").get("prompts")
    names = {*trained, *(name for name, text in listed.items() if text)} if isinstance(listed, dict) else {*trained}
    if names:
        log.warning("rows are measured without the model's prompts (%s), also where the training's own evaluations had them: "
                    "brim.Dataset.of(rows, model.tokenizer, text_columns=[..], prompts=[..]) has prompts", ", ".join(sorted(names)))


def of_readme(folder: str | None) -> None:
    """A README.md of brim's in a folder that a model was written to: it is there where transformers computes something else."""
    if folder is None:
        return
    path = pathlib.Path(folder, "README.md")
    try:
        ours = path.read_bytes().startswith(b"<!-- written by brim -->")
    except OSError:  # none
        return
    if ours:
        log.warning("transformers opens this model, but computes other numbers: %s has lines that compute these", path)


def _of_negatives(rows: int, negatives: int, equal: int) -> None:
    """In-batch: what the rows of the first step were compared with."""
    if negatives:
        log.info("negatives: each row of the first step has %.4g (%d equal texts were left out)", negatives / rows, equal)
    else:
        log.warning("the first step's rows have no negatives, from which in-batch learns (%d equal texts were left out): take a larger batch_size", equal)


def of_result(result, swa_start: float) -> None:
    """Which step's model it is, and who reads its folder."""
    of_readme(result.output)
    if swa_start and not result.averaged:
        log.warning("the run ended before averaging began (swa_start=%g): the model has its last weights, not their mean", swa_start)
    if result.stopped_early:
        log.info("stopped early: patience is at its end")
    if result.best_step:
        log.info("the model is that of step %d of %d%s", result.model_step, result.steps,
                 ", the best" if result.model_step == result.best_step else f"; the best was step {result.best_step}: keep=\"best\" takes it")
