"""The options of calls, for editors and type checkers. This file is made by tools/python_options; the options are described in cli/."""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from .blocks import Block
    from .callbacks import Predictions
    from .labels import Labels


class PlanOptions(TypedDict, total=False):
    """Options of a stream's batches."""

    batching: Literal["sequential", "random", "uniform", "sorted", "bucketed", "packed"]
    """Which rows go together. Default: random."""
    padding: Literal["none", "longest", "max_length"]
    """What is computed: only tokens, up to the batch's longest row, or up to max_length. Default: none."""
    batch_size: int | None
    """Rows of an optimizer step. Default: 16."""
    max_tokens: int | None
    """Most tokens (with padding: slots) computed at once; together with batch_size it only cuts a step into parts, which changes no result.
    Default: no limit."""
    max_rows: int | None
    """Most rows computed at once. Default: no limit."""
    seed: int
    """Decides the order of rows, dropout and new weights. Default: 42."""
    world_size: int
    """Number of processes that share each step."""
    drop_last: bool
    """Leave out the rows at the end that do not fill a step."""
    pad_to_multiple_of: int | None
    """Round widths up to a multiple of N. Default: 1."""
    read_ahead: int | None
    """Bucketed and packed: number of rows that are grouped at a time. Default: all."""
    accumulate: int | None
    """Gradient accumulation: compute each step in N parts; the batch size stays what batch_size says. With max_tokens alone, N batches make a
    step. Default: one a rank."""
    required_batch_size_multiple: int | None
    """Compute a multiple of N rows at once where possible. Default: 1."""
    oversize: Literal["error", "truncate", "alone"]
    """What to do with a row longer than max_tokens: stop, cut it, or compute it alone. Default: error."""
    tail: Literal["resplit", "fill", "drop"]
    """What to do when a step's batches do not divide evenly among the processes: cut them again, leave some processes idle, or drop the last step.
    Default: resplit."""


class BatchOptions(PlanOptions, total=False):
    """Options of batches."""

    max_length: int | None
    """Rows have so many tokens at most, special tokens included."""
    rank: int
    """This process, counted from 0."""
    rows_for: Callable[[int], int] | None
    """Rows that fit when the longest has so many tokens."""
    key: Sequence[int] | None
    """Another measure of the rows than their tokens, by which batches are composed."""


class EncodeOptions(TypedDict, total=False):
    """Options of how rows are encoded."""

    max_length: int | None
    """Rows have so many tokens at most, special tokens included."""
    task: str
    """Tokens: each row is a list of words with a label each (conll, or JSON lines with tokens); every word is encoded by itself. mlm: each window
    of a text is a row. embedding, rerank: rows of several texts, in columns as `brim train` finds them. Default: rows are texts."""
    min_chars: int
    """Leave out rows whose text has fewer characters, not counting spaces around it. Default: 0."""
    truncation_side: Literal["right", "left"] | None
    """Which end is cut. Default: the tokenizer's, else right."""
    windows: int | None
    """A text of more than max_length tokens becomes windows that overlap by STRIDE tokens; the row's answer is the mean of their logits, a word's
    is that of the window where it has most context; of masked words each is a row, and overlaps by 0 where nothing is said. Default: none."""
    max_windows: int | None
    """Windows of a text at most; what is beyond them is cut, and counted. Default: 16; of masked words 1024."""
    missing_label: Literal["error", "skip"]
    """What to do with a row without a label: stop, or skip it and report how many there were. Default: error."""
    truncation: Literal["longest_first", "only_first", "only_second"] | None
    """Which text of a pair is cut. Default: the tokenizer's, else longest_first."""
    special_tokens: bool
    most_texts: int | None
    numbering: str | None
    prompts: Sequence[str | None] | None


class FileOptions(EncodeOptions, total=False):
    """Options of files."""

    labels: Labels | Sequence[str] | None
    """With stream: the classes in the order of their ids; give it once for each. Default: found by a pass over train."""
    need_label: bool | None
    text_column: str | None
    """Column of the text. Default: text; 0 without a header; of words tokens."""
    pair_column: str | None
    """Column of the second text. Default: text_pair, if there."""
    label_column: str | None
    """Column of the label. Default: label; of words ner_tags, tags or labels."""
    header: bool
    where: dict[str, str] | None
    """Read only rows whose column has this value; if given several times, all must hold."""
    skip_damaged: bool
    """Leave out rows, or the rest of a file, that cannot be read, and report them instead of stopping."""
    quote: Literal["csv", "none", "backslash"] | None
    """Whether "..." encloses fields; backslash: a quote inside them may be \\". Default: csv: csv, tsv: none."""
    max_record: int | None
    """Refuse a longer record: usually a quote before it was never closed. Default: 1 GiB."""
    delimiter: str | None
    """Csv, tsv: the character between columns; the word tab is accepted. Default: a comma in csv, a tab in tsv."""
    cache: str | os.PathLike[str] | None
    """Folder that keeps encoded rows for the next time; rows of files that have changed are encoded again."""
    text_columns: Sequence[str] | None
    least_columns: int | None
    paired: bool
    blocks: Mapping[str, str | Block | tuple[Any, ...]] | None
    progress: Callable[[str, dict[str, Any]], Any] | None


class TextOptions(EncodeOptions, total=False):
    """Options of texts."""

    mapping: Labels | Sequence[str] | None
    blocks: Mapping[str, Any] | None


class ComputeOptions(TypedDict, total=False):
    """Options of predictions; none changes a result by more than rounding, but precision."""

    batching: Literal["sequential", "random", "uniform", "sorted", "bucketed", "packed"]
    """Which rows go together. Default: sorted."""
    padding: Literal["none", "longest", "max_length"]
    """What is computed: only tokens, up to the batch's longest row, or up to max_length. Default: none."""
    batch_size: int
    """Rows computed at once. Default: 32."""
    max_tokens: int
    """Most tokens (with padding: slots) computed at once; together with batch_size it only cuts a step into parts, which changes no result.
    Default: no limit."""
    precision: Literal["fp32", "bf16", "fp16", "int8"]
    """Int8 multiplies bytes in the layers: faster on processors with VNNI, and close to fp32, not equal. bf16 multiplies 16-bit values, as
    training with precision bf16 does: closer. Default: fp32."""


class PredictOptions(ComputeOptions, total=False):
    """Options of predictions, and of how the rows are read."""

    format: Literal["csv", "tsv", "jsonl", "txt", "conll"]
    """Format of the data. Default: by the file's name; standard input is txt."""
    delimiter: str
    """Csv, tsv: the character between columns; the word tab is accepted. Default: a comma in csv, a tab in tsv."""
    quote: Literal["csv", "none", "backslash"]
    """Whether "..." encloses fields; backslash: a quote inside them may be \\". Default: csv: csv, tsv: none."""
    where: Mapping[str, str]
    """Read only rows whose column has this value; if given several times, all must hold."""
    min_chars: int
    """Leave out rows whose text has fewer characters, not counting spaces around it. Default: 0."""
    skip_damaged: bool
    """Leave out rows, or the rest of a file, that cannot be read, and report them instead of stopping."""
    max_record: int
    """Refuse a longer record: usually a quote before it was never closed. Default: 1 GiB."""
    header: bool
    """Whether the first line of csv and tsv has the names of columns. Default: True."""


class AnswerOptions(PredictOptions, total=False):
    """Options of predictions, of how the rows are read, and of what is said of each."""

    file: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None
    max_length: int | None
    text_column: str | None
    pair_column: str | None
    threshold: float | None
    top_k: int | None
    progress: bool | Callable[[str, dict[str, Any]], Any] | None


class TrainOptions(TypedDict, total=False):
    """Options of training.

    windows: int. A text of more than max_length tokens becomes windows that overlap by STRIDE tokens; the row's answer is the mean of their
        logits, a word's is that of the window where it has most context; of masked words each is a row, and overlaps by 0 where nothing is
        said. Default: none.
    max_windows: int. Windows of a text at most; what is beyond them is cut, and counted. Default: 16; of masked words 1024.
    epochs: float. Passes over the data; may be a fraction. Default: 1.
    max_steps: int. Optimizer steps, instead of epochs. Default: by epochs.
    resume: bool. Continue from the newest checkpoint in output, if there is one; a larger epochs or max_steps extends the run, even a
        finished one.
    resume_anyway: bool. Continue on a CPU with other instructions (AVX2 instead of AVX-512, say); rounding differs, so the result is not
        bit-identical.
    overwrite: bool. Replace what is in output.
    fold_column: str. Column with the fold, from 0, that holds out the row, instead of a random choice. Default: none.
    test: Any. Rows that all folds predict together; no labels needed.
    batching: Literal["sequential", "random", "uniform", "sorted", "bucketed", "packed"]. Which rows go together. Default: random.
    padding: Literal["none", "longest", "max_length"]. What is computed: only tokens, up to the batch's longest row, or up to max_length.
        Default: none.
    batch_size: int. Rows of an optimizer step. Default: 16.
    max_tokens: int. Most tokens (with padding: slots) computed at once; together with batch_size it only cuts a step into parts, which
        changes no result. Default: no limit.
    accumulate: int. Gradient accumulation: compute each step in N parts; the batch size stays what batch_size says. With max_tokens alone,
        N batches make a step. Default: one a rank.
    slices: int. Compute each step in N slices and add their sums in a fixed order: the weights have the same bits for any number of
        processes. Default: none.
    max_rows: int. Most rows computed at once. Default: no limit.
    read_ahead: int. Bucketed and packed: number of rows that are grouped at a time. Default: all.
    pad_to_multiple_of: int. Round widths up to a multiple of N. Default: 1.
    required_batch_size_multiple: int. Compute a multiple of N rows at once where possible. Default: 1.
    oversize: Literal["error", "truncate", "alone"]. What to do with a row longer than max_tokens: stop, cut it, or compute it alone.
        Default: error.
    tail: Literal["resplit", "fill", "drop"]. What to do when a step's batches do not divide evenly among the processes: cut them again,
        leave some processes idle, or drop the last step. Default: resplit.
    drop_last: bool. Leave out the rows at the end that do not fill a step.
    freeze: str | int | Sequence[str | int]. Do not train: embeddings; layers:N or N (the embeddings and the lowest N layers); encoder (all
        but the head); tensors by name, as '*.bias' (brim inspect model --tensors); or some of these: 2,'*.bias'. What is frozen needs no
        backward pass and no optimizer memory. Default: nothing.
    train_only: str | Sequence[str]. Train these tensors alone, by name, without those of freeze: '*.bias,classifier.*'. Default:
        everything.
    checkpoint_activations: bool. Keep only the input of each layer and compute the rest again in the backward pass: less memory, more time,
        the same result.
    stream: bool. Read the data again in every epoch instead of keeping it in memory: files come in a new order each epoch, rows are
        shuffled and planned a window at a time.
    shuffle_window: int. With stream: rows that are shuffled and planned together. Default: 100000.
    repeat: bool. With stream: a source that runs out begins again, so the shares always hold; training is one endless epoch.
    prefetch: int. With stream: number of windows prepared ahead. Default: 1.
    class_weights: str | Mapping[Any, float] | Sequence[float]. balanced, or NAME=X,NAME=Y (a name with a comma in quotes: "a, b"=2); the
        mean loss is divided by the weights of the step's rows. Multi-label: weights of the positive terms. Default: 1 each.
    label_smoothing: float. Share of the target that is spread over all classes. Default: 0.
    loss: Literal["in-batch", "cosent", "angle", "cosine", "contrastive", "online-contrastive", "triplet", "margin-mse", "distill-kl", "mse-
        vectors", "bce", "mse", "in-group", "list-net"]. Of embeddings: in-batch (pairs and triples: all other documents of the step are
        negatives), cosent, angle, cosine, contrastive or online-contrastive (pairs with a score), triplet, margin-mse, distill-kl, mse-vectors.
        Of rerankers: bce, mse, in-group, list-net, margin-mse. Default: by the rows.
    scale: float. Factor of cosines in in-batch and cosent, and of scores in in-group. Default: 20; in-group 10.
    distance: Literal["cosine", "euclidean", "manhattan"]. Of triplet and contrastive. Default: euclidean; contrastive cosine.
    margin: float. Of triplet and contrastive. Default: 5; contrastive 0.5.
    temperature: float. Of distill-kl. Default: 1.
    directions: str | Sequence[str]. In-batch: what is compared, with commas between: query-to-doc, doc-to-query, query-to-query, doc-to-
        doc. Default: query-to-doc.
    partition: Literal["joint", "per-direction"]. In-batch: one softmax of all directions, or the mean of one for each. Default: joint.
    similarity: Literal["cosine", "dot"]. In-batch: what is compared; dot has scale 1. Default: cosine.
    hardness: Literal["none", "in-batch", "own", "all"]. In-batch: negatives that weigh more the more alike they are. Default: none.
    hardness_strength: float. How much more. Default: 9 of in-batch, else 5.
    matryoshka: str | int | Sequence[int]. The sum of the loss of the first N numbers of each vector, so that these are good alone:
        384,256,128. Default: all numbers of a vector.
    matryoshka_weights: str | float | Sequence[float]. The weight of each of these losses. Default: 1 each.
    positive_weight: float. Bce: weight of relevant documents. Default: 1.
    mask_rate: str | float. Share of a text's tokens that are masked, at least one; 0.3:0.15 falls from the first step to the last. Default:
        0.15.
    optimizer: Literal["adamw", "bert_adam", "sgd", "madgrad"]. How a gradient changes the weights; each needs another learning rate.
        bert_adam is AdamW without bias correction. Default: adamw.
    lr: float. Peak learning rate. Default: 5e-5.
    schedule: Literal["linear", "cosine", "constant"]. How the learning rate falls after the warm-up: linear and cosine to 0 at the end,
        constant not at all. Default: linear.
    warmup_steps: int | float. Steps of linear warm-up from 0, before schedule. Default: 0.
    warmup_ratio: float. The same as a share of all steps. Default: 0.
    weight_decay: float. Weight decay: decoupled in AdamW, part of the gradient in the others; biases, layer norms and weights of layers
        have none. Default: 0.
    decay_towards: Literal["zero", "pretrained"]. What weight_decay draws the weights to: zero, or the weights that training starts from.
        New weights go to zero. Default: zero.
    mixout: float. In each step take a share P of each matrix's weights as they were at the start: dropout of what was learnt. Default: 0.
    clip: float. Largest norm of the gradient; larger ones are scaled down. 0: no limit. Default: 1.
    layer_lr_decay: float. The learning rate of each layer is that of the layer above times X; the head has lr. Default: 1.
    momentum: float. Momentum of optimizers that have no beta1. Default: 0.9.
    beta1: float. AdamW's first decay rate. Default: 0.9.
    beta2: float. AdamW's second decay rate. Default: 0.999.
    eps: float. Epsilon of AdamW and others, outside the root. Default: 1e-8.
    log_every: int. Write a line to log.jsonl. Default: 1.
    eval_every: int. Evaluate on eval. Default: at the end of each epoch.
    save_every: int. Write a checkpoint. Default: at the end of each epoch.
    keep_checkpoints: int. Number of newest checkpoints to keep besides the best; 0: all. Default: the newest and the best.
    swa_start: float. Average the weights from this share of the steps on (0.75, say) into the final model; 0: do not average. Default: 0.
    swa_every: int. Steps between two weights that are averaged. Default: about twenty times.
    best_metric: str. Metric that decides which checkpoint is best; of the first eval, or SET/NAME. f1 is that of the second of two classes,
        or the mean of more. Default: accuracy or rmse.
    keep: Literal["best", "last"]. The model at the end: that of the best evaluation, or that of the last step. Default: best, with patience
        or best_metric, else last.
    patience: int. Stop after N evaluations in a row without an improvement; 0: never. Default: 0.
    min_delta: float. An evaluation counts as an improvement only if it is better by more than X. Default: 0.
    eval_batch_size: int. Rows computed at once; changes no result. Default: what training's memory holds.
    eval_batching: Literal["sequential", "random", "uniform", "sorted", "bucketed", "packed"]. Which rows go together in an evaluation.
        Default: sorted.
    eval_padding: Literal["none", "longest", "max_length"]. What an evaluation computes. Default: none.
    memory_limit: int | str. Such as 2GB, 1500MB or 2GiB: cut steps into parts that fit, which changes no result; if none fit, say what
        would. Default: none.
    precision: Literal["fp32", "bf16", "fp16"]. bf16 multiplies 16-bit values in the layers; sums and master weights stay fp32. Activations
        need little more than half of the memory. It is faster on processors with instructions for it: 1.6 to 1.8 times with AVX512-BF16, 1.8 to
        2 with AMX, as `brim doctor` measures. fp16: the same with device cuda, with a scaled loss. Default: fp32.
    loss_scale: float. fp16: initial loss scale, a power of two; a gradient that is not finite halves it and changes no weight. Default:
        65536.
    loss_scale_steps: int. fp16: number of steps in a row with finite gradients after which the loss scale doubles. Default: 2000.
    format: Literal["csv", "tsv", "jsonl", "txt", "conll"]. Format of the data. Default: by the file's name; standard input is txt.
    quote: Literal["csv", "none", "backslash"]. Whether "..." encloses fields; backslash: a quote inside them may be \". Default: csv: csv,
        tsv: none.
    min_chars: int. Leave out rows whose text has fewer characters, not counting spaces around it. Default: 0.
    where: Mapping[str, str]. Read only rows whose column has this value; if given several times, all must hold.
    max_record: int. Refuse a longer record: usually a quote before it was never closed. Default: 1 GiB.
    skip_damaged: bool. Leave out rows, or the rest of a file, that cannot be read, and report them instead of stopping.
    cache: str | os.PathLike[str]. Folder that keeps encoded rows for the next time; rows of files that have changed are encoded again.
    profile: bool | str | os.PathLike[str]. Report where the time goes: a table on standard error, and a trace for chrome://tracing or
        ui.perfetto.dev in FILE; on a GPU also what the card did. Default: trace.json in output.
    cpu: Literal["auto", "plain", "avx2", "avx512", "amx"]. Instructions to use. Default: auto.

    Also known, as other programs call them: best_is_small, callbacks, compute_metrics, eval_max_tokens, eval_when, progress, report_to,
    save_when, truncation, truncation_side, validation_split, weights, activation_checkpointing, adam_beta1, adam_beta2, adam_epsilon,
    buffer_size, data_seed, dataloader_drop_last, early_stopping_patience, early_stopping_threshold, eval_dataset, eval_steps, eval_strategy,
    evaluation_strategy, gradient_checkpointing, label_smoothing_factor, learning_rate, logging_steps, max_grad_norm, max_seq_length,
    metric_for_best_model, num_epochs, num_train_epochs, optim, output_dir, overwrite_output_dir, per_device_eval_batch_size,
    per_device_train_batch_size, resume_from_checkpoint, save_steps, save_strategy, save_total_limit, train_batch_size, load_best_model_at_end,
    greater_is_better, disable_tqdm, lr_scheduler_type, train_sampling_strategy, args, train_dataset, processing_class,
    gradient_accumulation_steps, bf16, activation_checkpointing_kwargs, average_tokens_across_devices, bf16_full_eval, dataloader_in_order,
    dataloader_multiprocessing_context, dataloader_num_workers, dataloader_persistent_workers, dataloader_pin_memory,
    dataloader_prefetch_factor, ddp_backend, ddp_broadcast_buffers, ddp_bucket_cap_mb, ddp_find_unused_parameters, ddp_static_graph,
    ddp_timeout, do_eval, do_predict, do_train, enable_jit_checkpoint, eval_accumulation_steps, eval_do_concat_batches, eval_use_gather_object,
    fp16, fp16_full_eval, full_determinism, gradient_checkpointing_kwargs, group_by_length, hub_always_push, hub_model_id, hub_private_repo,
    hub_revision, hub_strategy, hub_token, include_num_input_tokens_seen, length_column_name, liger_kernel_config, local_rank, log_level,
    log_level_replica, log_on_each_node, logging_dir, logging_first_step, logging_nan_inf_filter, logging_strategy, no_cuda,
    prediction_loss_only, project, push_to_hub, remove_unused_columns, run_name, save_on_each_node, save_only_model, save_safetensors,
    skip_memory_metrics, torch_compile, torch_compile_backend, torch_compile_mode, torch_empty_cache_steps, trackio_bucket_id, trackio_space_id,
    trackio_static_space_id, use_cache, use_cpu, use_liger_kernel.
    """

    windows: int | None
    """A text of more than max_length tokens becomes windows that overlap by STRIDE tokens; the row's answer is the mean of their logits, a word's
    is that of the window where it has most context; of masked words each is a row, and overlaps by 0 where nothing is said. Default: none."""
    max_windows: int | None
    """Windows of a text at most; what is beyond them is cut, and counted. Default: 16; of masked words 1024."""
    epochs: float | None
    """Passes over the data; may be a fraction. Default: 1."""
    max_steps: int | None
    """Optimizer steps, instead of epochs. Default: by epochs."""
    resume: bool | None
    """Continue from the newest checkpoint in output, if there is one; a larger epochs or max_steps extends the run, even a finished one."""
    resume_anyway: bool | None
    """Continue on a CPU with other instructions (AVX2 instead of AVX-512, say); rounding differs, so the result is not bit-identical."""
    overwrite: bool | None
    """Replace what is in output."""
    fold_column: str | None
    """Column with the fold, from 0, that holds out the row, instead of a random choice. Default: none."""
    test: Any
    """Rows that all folds predict together; no labels needed."""
    batching: Literal["sequential", "random", "uniform", "sorted", "bucketed", "packed"] | None
    """Which rows go together. Default: random."""
    padding: Literal["none", "longest", "max_length"] | None
    """What is computed: only tokens, up to the batch's longest row, or up to max_length. Default: none."""
    batch_size: int | None
    """Rows of an optimizer step. Default: 16."""
    max_tokens: int | None
    """Most tokens (with padding: slots) computed at once; together with batch_size it only cuts a step into parts, which changes no result.
    Default: no limit."""
    accumulate: int | None
    """Gradient accumulation: compute each step in N parts; the batch size stays what batch_size says. With max_tokens alone, N batches make a
    step. Default: one a rank."""
    slices: int | None
    """Compute each step in N slices and add their sums in a fixed order: the weights have the same bits for any number of processes. Default:
    none."""
    max_rows: int | None
    """Most rows computed at once. Default: no limit."""
    read_ahead: int | None
    """Bucketed and packed: number of rows that are grouped at a time. Default: all."""
    pad_to_multiple_of: int | None
    """Round widths up to a multiple of N. Default: 1."""
    required_batch_size_multiple: int | None
    """Compute a multiple of N rows at once where possible. Default: 1."""
    oversize: Literal["error", "truncate", "alone"] | None
    """What to do with a row longer than max_tokens: stop, cut it, or compute it alone. Default: error."""
    tail: Literal["resplit", "fill", "drop"] | None
    """What to do when a step's batches do not divide evenly among the processes: cut them again, leave some processes idle, or drop the last step.
    Default: resplit."""
    drop_last: bool | None
    """Leave out the rows at the end that do not fill a step."""
    freeze: str | int | Sequence[str | int] | None
    """Do not train: embeddings; layers:N or N (the embeddings and the lowest N layers); encoder (all but the head); tensors by name, as '*.bias'
    (brim inspect model --tensors); or some of these: 2,'*.bias'. What is frozen needs no backward pass and no optimizer memory. Default:
    nothing."""
    train_only: str | Sequence[str] | None
    """Train these tensors alone, by name, without those of freeze: '*.bias,classifier.*'. Default: everything."""
    checkpoint_activations: bool | None
    """Keep only the input of each layer and compute the rest again in the backward pass: less memory, more time, the same result."""
    stream: bool | None
    """Read the data again in every epoch instead of keeping it in memory: files come in a new order each epoch, rows are shuffled and planned a
    window at a time."""
    shuffle_window: int | None
    """With stream: rows that are shuffled and planned together. Default: 100000."""
    repeat: bool | None
    """With stream: a source that runs out begins again, so the shares always hold; training is one endless epoch."""
    prefetch: int | None
    """With stream: number of windows prepared ahead. Default: 1."""
    class_weights: str | Mapping[Any, float] | Sequence[float] | None
    """balanced, or NAME=X,NAME=Y (a name with a comma in quotes: "a, b"=2); the mean loss is divided by the weights of the step's rows. Multi-
    label: weights of the positive terms. Default: 1 each."""
    label_smoothing: float | None
    """Share of the target that is spread over all classes. Default: 0."""
    loss: Literal["in-batch", "cosent", "angle", "cosine", "contrastive", "online-contrastive", "triplet", "margin-mse", "distill-kl", "mse-vectors", "bce", "mse", "in-group", "list-net"] | None
    """Of embeddings: in-batch (pairs and triples: all other documents of the step are negatives), cosent, angle, cosine, contrastive or online-
    contrastive (pairs with a score), triplet, margin-mse, distill-kl, mse-vectors. Of rerankers: bce, mse, in-group, list-net, margin-mse.
    Default: by the rows."""
    scale: float | None
    """Factor of cosines in in-batch and cosent, and of scores in in-group. Default: 20; in-group 10."""
    distance: Literal["cosine", "euclidean", "manhattan"] | None
    """Of triplet and contrastive. Default: euclidean; contrastive cosine."""
    margin: float | None
    """Of triplet and contrastive. Default: 5; contrastive 0.5."""
    temperature: float | None
    """Of distill-kl. Default: 1."""
    directions: str | Sequence[str] | None
    """In-batch: what is compared, with commas between: query-to-doc, doc-to-query, query-to-query, doc-to-doc. Default: query-to-doc."""
    partition: Literal["joint", "per-direction"] | None
    """In-batch: one softmax of all directions, or the mean of one for each. Default: joint."""
    similarity: Literal["cosine", "dot"] | None
    """In-batch: what is compared; dot has scale 1. Default: cosine."""
    hardness: Literal["none", "in-batch", "own", "all"] | None
    """In-batch: negatives that weigh more the more alike they are. Default: none."""
    hardness_strength: float | None
    """How much more. Default: 9 of in-batch, else 5."""
    matryoshka: str | int | Sequence[int] | None
    """The sum of the loss of the first N numbers of each vector, so that these are good alone: 384,256,128. Default: all numbers of a vector."""
    matryoshka_weights: str | float | Sequence[float] | None
    """The weight of each of these losses. Default: 1 each."""
    positive_weight: float | None
    """Bce: weight of relevant documents. Default: 1."""
    mask_rate: str | float | None
    """Share of a text's tokens that are masked, at least one; 0.3:0.15 falls from the first step to the last. Default: 0.15."""
    optimizer: Literal["adamw", "bert_adam", "sgd", "madgrad"] | None
    """How a gradient changes the weights; each needs another learning rate. bert_adam is AdamW without bias correction. Default: adamw."""
    lr: float | None
    """Peak learning rate. Default: 5e-5."""
    schedule: Literal["linear", "cosine", "constant"] | None
    """How the learning rate falls after the warm-up: linear and cosine to 0 at the end, constant not at all. Default: linear."""
    warmup_steps: int | float | None
    """Steps of linear warm-up from 0, before schedule. Default: 0."""
    warmup_ratio: float | None
    """The same as a share of all steps. Default: 0."""
    weight_decay: float | None
    """Weight decay: decoupled in AdamW, part of the gradient in the others; biases, layer norms and weights of layers have none. Default: 0."""
    decay_towards: Literal["zero", "pretrained"] | None
    """What weight_decay draws the weights to: zero, or the weights that training starts from. New weights go to zero. Default: zero."""
    mixout: float | None
    """In each step take a share P of each matrix's weights as they were at the start: dropout of what was learnt. Default: 0."""
    clip: float | None
    """Largest norm of the gradient; larger ones are scaled down. 0: no limit. Default: 1."""
    layer_lr_decay: float | None
    """The learning rate of each layer is that of the layer above times X; the head has lr. Default: 1."""
    momentum: float | None
    """Momentum of optimizers that have no beta1. Default: 0.9."""
    beta1: float | None
    """AdamW's first decay rate. Default: 0.9."""
    beta2: float | None
    """AdamW's second decay rate. Default: 0.999."""
    eps: float | None
    """Epsilon of AdamW and others, outside the root. Default: 1e-8."""
    log_every: int | None
    """Write a line to log.jsonl. Default: 1."""
    eval_every: int | None
    """Evaluate on eval. Default: at the end of each epoch."""
    save_every: int | None
    """Write a checkpoint. Default: at the end of each epoch."""
    keep_checkpoints: int | None
    """Number of newest checkpoints to keep besides the best; 0: all. Default: the newest and the best."""
    swa_start: float | None
    """Average the weights from this share of the steps on (0.75, say) into the final model; 0: do not average. Default: 0."""
    swa_every: int | None
    """Steps between two weights that are averaged. Default: about twenty times."""
    best_metric: str | None
    """Metric that decides which checkpoint is best; of the first eval, or SET/NAME. f1 is that of the second of two classes, or the mean of more.
    Default: accuracy or rmse."""
    keep: Literal["best", "last"] | None
    """The model at the end: that of the best evaluation, or that of the last step. Default: best, with patience or best_metric, else last."""
    patience: int | None
    """Stop after N evaluations in a row without an improvement; 0: never. Default: 0."""
    min_delta: float | None
    """An evaluation counts as an improvement only if it is better by more than X. Default: 0."""
    eval_batch_size: int | None
    """Rows computed at once; changes no result. Default: what training's memory holds."""
    eval_batching: Literal["sequential", "random", "uniform", "sorted", "bucketed", "packed"] | None
    """Which rows go together in an evaluation. Default: sorted."""
    eval_padding: Literal["none", "longest", "max_length"] | None
    """What an evaluation computes. Default: none."""
    memory_limit: int | str | None
    """Such as 2GB, 1500MB or 2GiB: cut steps into parts that fit, which changes no result; if none fit, say what would. Default: none."""
    precision: Literal["fp32", "bf16", "fp16"] | None
    """bf16 multiplies 16-bit values in the layers; sums and master weights stay fp32. Activations need little more than half of the memory. It is
    faster on processors with instructions for it: 1.6 to 1.8 times with AVX512-BF16, 1.8 to 2 with AMX, as `brim doctor` measures. fp16: the
    same with device cuda, with a scaled loss. Default: fp32."""
    loss_scale: float | None
    """fp16: initial loss scale, a power of two; a gradient that is not finite halves it and changes no weight. Default: 65536."""
    loss_scale_steps: int | None
    """fp16: number of steps in a row with finite gradients after which the loss scale doubles. Default: 2000."""
    format: Literal["csv", "tsv", "jsonl", "txt", "conll"] | None
    """Format of the data. Default: by the file's name; standard input is txt."""
    quote: Literal["csv", "none", "backslash"] | None
    """Whether "..." encloses fields; backslash: a quote inside them may be \\". Default: csv: csv, tsv: none."""
    min_chars: int | None
    """Leave out rows whose text has fewer characters, not counting spaces around it. Default: 0."""
    where: Mapping[str, str] | None
    """Read only rows whose column has this value; if given several times, all must hold."""
    max_record: int | None
    """Refuse a longer record: usually a quote before it was never closed. Default: 1 GiB."""
    skip_damaged: bool | None
    """Leave out rows, or the rest of a file, that cannot be read, and report them instead of stopping."""
    cache: str | os.PathLike[str] | None
    """Folder that keeps encoded rows for the next time; rows of files that have changed are encoded again."""
    profile: bool | str | os.PathLike[str] | None
    """Report where the time goes: a table on standard error, and a trace for chrome://tracing or ui.perfetto.dev in FILE; on a GPU also what the
    card did. Default: trace.json in output."""
    cpu: Literal["auto", "plain", "avx2", "avx512", "amx"] | None
    """Instructions to use. Default: auto."""
    best_is_small: bool | None
    """Of a best_metric of compute_metrics: less is better."""
    callbacks: Any
    """Functions that are called with each event's kind and fields, and may return brim.STOP, brim.EVALUATE, brim.SAVE."""
    compute_metrics: Callable[[Predictions], dict[str, Any]] | None
    """Metrics of one's own, of which best_metric may name one."""
    eval_max_tokens: int | None
    """Most tokens (with padding: slots) that an evaluation computes at once."""
    eval_when: Literal["epoch", "steps", "no"] | None
    """When to evaluate: at the end of each epoch and every eval_every steps, every eval_every steps alone, never."""
    progress: bool | None
    """A line that says how far the run is: True, False, or None: in notebooks and terminals."""
    report_to: Any
    """"tensorboard", "csv", "none", or functions as callbacks."""
    save_when: Literal["epoch", "steps", "no", "best"] | None
    """When to write checkpoints, likewise; best: those that are the best so far."""
    truncation: Literal["longest_first", "only_first", "only_second"] | None
    """Which text of a pair is cut."""
    truncation_side: Literal["right", "left"] | None
    """Which end is cut."""
    validation_split: float | None
    """This share of the rows is evaluated on, and not trained on; fold_seed draws them."""
    weights: Sequence[float] | None
    """With stream: every file is a source, and this is its share of the rows."""
    activation_checkpointing: bool | None
    """`checkpoint_activations` by the name of TrainingArguments."""
    adam_beta1: float | None
    """`beta1` by the name of TrainingArguments."""
    adam_beta2: float | None
    """`beta2` by the name of TrainingArguments."""
    adam_epsilon: float | None
    """`eps` by the name of TrainingArguments."""
    buffer_size: int | None
    """`shuffle_window` by the name of TrainingArguments."""
    data_seed: int | None
    """`seed` by the name of TrainingArguments."""
    dataloader_drop_last: bool | None
    """`drop_last` by the name of TrainingArguments."""
    early_stopping_patience: int | None
    """`patience` by the name of TrainingArguments."""
    early_stopping_threshold: float | None
    """`min_delta` by the name of TrainingArguments."""
    eval_dataset: Any
    """`eval` by the name of TrainingArguments."""
    eval_steps: int | None
    """`eval_every` by the name of TrainingArguments."""
    eval_strategy: Literal["epoch", "steps", "no"] | None
    """`eval_when` by the name of TrainingArguments."""
    evaluation_strategy: Literal["epoch", "steps", "no"] | None
    """`eval_when` by the name of TrainingArguments."""
    gradient_checkpointing: bool | None
    """`checkpoint_activations` by the name of TrainingArguments."""
    label_smoothing_factor: float | None
    """`label_smoothing` by the name of TrainingArguments."""
    learning_rate: float | None
    """`lr` by the name of TrainingArguments."""
    logging_steps: int | None
    """`log_every` by the name of TrainingArguments."""
    max_grad_norm: float | None
    """`clip` by the name of TrainingArguments."""
    max_seq_length: int | None
    """`max_length` by the name of TrainingArguments."""
    metric_for_best_model: str | None
    """`best_metric` by the name of TrainingArguments."""
    num_epochs: float | None
    """`epochs` by the name of TrainingArguments."""
    num_train_epochs: float | None
    """`epochs` by the name of TrainingArguments."""
    optim: Literal["adamw", "bert_adam", "sgd", "madgrad"] | None
    """`optimizer` by the name of TrainingArguments."""
    output_dir: str | os.PathLike[str] | None
    """`output` by the name of TrainingArguments."""
    overwrite_output_dir: bool | None
    """`overwrite` by the name of TrainingArguments."""
    per_device_eval_batch_size: int | None
    """`eval_batch_size` by the name of TrainingArguments."""
    per_device_train_batch_size: int | None
    """`batch_size` by the name of TrainingArguments."""
    resume_from_checkpoint: bool | None
    """`resume` by the name of TrainingArguments."""
    save_steps: int | None
    """`save_every` by the name of TrainingArguments."""
    save_strategy: Literal["epoch", "steps", "no", "best"] | None
    """`save_when` by the name of TrainingArguments."""
    save_total_limit: int | None
    """`keep_checkpoints` by the name of TrainingArguments."""
    train_batch_size: int | None
    """`batch_size` by the name of TrainingArguments."""
    load_best_model_at_end: bool | None
    """Keep="best" by the name of TrainingArguments."""
    greater_is_better: bool | None
    """Not best_is_small, by the name of TrainingArguments."""
    disable_tqdm: bool | None
    """Progress=False by the name of TrainingArguments."""
    lr_scheduler_type: Literal["linear", "cosine", "constant", "constant_with_warmup"] | None
    """`schedule` by the name of TrainingArguments, whose constant has no warm-up."""
    train_sampling_strategy: Literal["random", "sequential"] | None
    """`batching` by the name of TrainingArguments."""
    args: Any
    """A TrainingArguments of transformers; keywords come before it."""
    train_dataset: Any
    """`train` by the name that Trainer has for it."""
    processing_class: Any
    """`tokenizer` by the name that Trainer has for it."""
    gradient_accumulation_steps: int | None
    """A step has so many times the rows, computed in as many parts."""
    bf16: bool | None
    """Precision="bf16" by the name of TrainingArguments."""
    activation_checkpointing_kwargs: Any
    """As in TrainingArguments, as far as brim does it."""
    average_tokens_across_devices: Any
    """As in TrainingArguments, as far as brim does it."""
    bf16_full_eval: Any
    """As in TrainingArguments, as far as brim does it."""
    dataloader_in_order: Any
    """As in TrainingArguments, as far as brim does it."""
    dataloader_multiprocessing_context: Any
    """As in TrainingArguments, as far as brim does it."""
    dataloader_num_workers: Any
    """As in TrainingArguments, as far as brim does it."""
    dataloader_persistent_workers: Any
    """As in TrainingArguments, as far as brim does it."""
    dataloader_pin_memory: Any
    """As in TrainingArguments, as far as brim does it."""
    dataloader_prefetch_factor: Any
    """As in TrainingArguments, as far as brim does it."""
    ddp_backend: Any
    """As in TrainingArguments, as far as brim does it."""
    ddp_broadcast_buffers: Any
    """As in TrainingArguments, as far as brim does it."""
    ddp_bucket_cap_mb: Any
    """As in TrainingArguments, as far as brim does it."""
    ddp_find_unused_parameters: Any
    """As in TrainingArguments, as far as brim does it."""
    ddp_static_graph: Any
    """As in TrainingArguments, as far as brim does it."""
    ddp_timeout: Any
    """As in TrainingArguments, as far as brim does it."""
    do_eval: Any
    """As in TrainingArguments, as far as brim does it."""
    do_predict: Any
    """As in TrainingArguments, as far as brim does it."""
    do_train: Any
    """As in TrainingArguments, as far as brim does it."""
    enable_jit_checkpoint: Any
    """As in TrainingArguments, as far as brim does it."""
    eval_accumulation_steps: Any
    """As in TrainingArguments, as far as brim does it."""
    eval_do_concat_batches: Any
    """As in TrainingArguments, as far as brim does it."""
    eval_use_gather_object: Any
    """As in TrainingArguments, as far as brim does it."""
    fp16: Any
    """As in TrainingArguments, as far as brim does it."""
    fp16_full_eval: Any
    """As in TrainingArguments, as far as brim does it."""
    full_determinism: Any
    """As in TrainingArguments, as far as brim does it."""
    gradient_checkpointing_kwargs: Any
    """As in TrainingArguments, as far as brim does it."""
    group_by_length: Any
    """As in TrainingArguments, as far as brim does it."""
    hub_always_push: Any
    """As in TrainingArguments, as far as brim does it."""
    hub_model_id: Any
    """As in TrainingArguments, as far as brim does it."""
    hub_private_repo: Any
    """As in TrainingArguments, as far as brim does it."""
    hub_revision: Any
    """As in TrainingArguments, as far as brim does it."""
    hub_strategy: Any
    """As in TrainingArguments, as far as brim does it."""
    hub_token: Any
    """As in TrainingArguments, as far as brim does it."""
    include_num_input_tokens_seen: Any
    """As in TrainingArguments, as far as brim does it."""
    length_column_name: Any
    """As in TrainingArguments, as far as brim does it."""
    liger_kernel_config: Any
    """As in TrainingArguments, as far as brim does it."""
    local_rank: Any
    """As in TrainingArguments, as far as brim does it."""
    log_level: Any
    """As in TrainingArguments, as far as brim does it."""
    log_level_replica: Any
    """As in TrainingArguments, as far as brim does it."""
    log_on_each_node: Any
    """As in TrainingArguments, as far as brim does it."""
    logging_dir: Any
    """As in TrainingArguments, as far as brim does it."""
    logging_first_step: Any
    """As in TrainingArguments, as far as brim does it."""
    logging_nan_inf_filter: Any
    """As in TrainingArguments, as far as brim does it."""
    logging_strategy: Any
    """As in TrainingArguments, as far as brim does it."""
    no_cuda: Any
    """As in TrainingArguments, as far as brim does it."""
    prediction_loss_only: Any
    """As in TrainingArguments, as far as brim does it."""
    project: Any
    """As in TrainingArguments, as far as brim does it."""
    push_to_hub: Any
    """As in TrainingArguments, as far as brim does it."""
    remove_unused_columns: Any
    """As in TrainingArguments, as far as brim does it."""
    run_name: Any
    """As in TrainingArguments, as far as brim does it."""
    save_on_each_node: Any
    """As in TrainingArguments, as far as brim does it."""
    save_only_model: Any
    """As in TrainingArguments, as far as brim does it."""
    save_safetensors: Any
    """As in TrainingArguments, as far as brim does it."""
    skip_memory_metrics: Any
    """As in TrainingArguments, as far as brim does it."""
    torch_compile: Any
    """As in TrainingArguments, as far as brim does it."""
    torch_compile_backend: Any
    """As in TrainingArguments, as far as brim does it."""
    torch_compile_mode: Any
    """As in TrainingArguments, as far as brim does it."""
    torch_empty_cache_steps: Any
    """As in TrainingArguments, as far as brim does it."""
    trackio_bucket_id: Any
    """As in TrainingArguments, as far as brim does it."""
    trackio_space_id: Any
    """As in TrainingArguments, as far as brim does it."""
    trackio_static_space_id: Any
    """As in TrainingArguments, as far as brim does it."""
    use_cache: Any
    """As in TrainingArguments, as far as brim does it."""
    use_cpu: Any
    """As in TrainingArguments, as far as brim does it."""
    use_liger_kernel: Any
    """As in TrainingArguments, as far as brim does it."""


#: The least and the most that a number may be.
RANGES: dict[str, tuple[float, float]] = {
    "max_length": (1, 1073741824),
    "windows": (0, 1073741824),
    "max_windows": (1, 1024),
    "epochs": (0, 1000000),
    "max_steps": (1, 1e+18),
    "batch_size": (1, 1e+18),
    "max_tokens": (1, 1e+18),
    "accumulate": (1, 1000000),
    "slices": (1, 256),
    "max_rows": (1, 1e+18),
    "read_ahead": (1, 1e+18),
    "pad_to_multiple_of": (1, 65536),
    "required_batch_size_multiple": (1, 65536),
    "dense": (1, 65536),
    "reinit_layers": (0, 1024),
    "shuffle_window": (1, 2000000000),
    "prefetch": (0, 1000),
    "label_smoothing": (0, 1),
    "scale": (1e-06, 1000000),
    "margin": (1e-06, 1000000),
    "temperature": (1e-06, 1000000),
    "hardness_strength": (1e-06, 1000000),
    "positive_weight": (1e-06, 1000000),
    "lr": (0, 1000),
    "warmup_steps": (0, 1e+18),
    "warmup_ratio": (0, 1),
    "weight_decay": (0, 1000),
    "mixout": (0, 1),
    "clip": (0, 1000000000),
    "layer_lr_decay": (0.001, 1),
    "momentum": (0, 1),
    "beta1": (0, 1),
    "beta2": (0, 1),
    "eps": (0, 1),
    "log_every": (1, 1e+18),
    "eval_every": (1, 1e+18),
    "save_every": (1, 1e+18),
    "keep_checkpoints": (0, 1000000),
    "swa_start": (0, 1),
    "swa_every": (1, 1e+18),
    "patience": (0, 1e+18),
    "min_delta": (0, 1000000000),
    "eval_batch_size": (1, 1000000000),
    "loss_scale": (1, 1099511627776),
    "loss_scale_steps": (1, 1e+18),
    "min_chars": (0, 1e+18),
    "max_record": (1, 1e+18),
}
#: What an option is where nothing is said, and of which others it needs one, or one with such a value, to have an effect.
NEEDS: dict[str, tuple[Any, str]] = {
    "resume_anyway": (False, "resume"),
    "read_ahead": (None, "batching=bucketed|packed"),
    "pad_to_multiple_of": (None, "padding=longest|max_length eval_padding=longest|max_length"),
    "oversize": ("error", "max_tokens"),
    "tail": ("resplit", "max_tokens tail=drop"),
    "dense": (None, "task=embedding"),
    "dense_activation": (None, "dense"),
    "loss": (None, "task=embedding|rerank"),
    "scale": (None, "task=embedding|rerank"),
    "distance": (None, "task=embedding"),
    "margin": (None, "task=embedding"),
    "temperature": (None, "task=embedding"),
    "directions": (None, "task=embedding"),
    "partition": (None, "directions"),
    "similarity": (None, "task=embedding"),
    "hardness": (None, "task=embedding"),
    "hardness_strength": (None, "hardness"),
    "matryoshka": (None, "task=embedding"),
    "matryoshka_weights": (None, "matryoshka"),
    "positive_weight": (None, "task=rerank"),
    "mask_rate": (None, "task=mlm"),
    "whole_words": (False, "task=mlm"),
    "swa_every": (None, "swa_start"),
    "min_delta": (0, "patience"),
    "loss_scale": (None, "precision=fp16"),
    "loss_scale_steps": (None, "precision=fp16"),
}
