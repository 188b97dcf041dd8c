"""brim: fine-tune BERT-class encoders without computing on padding.

    import brim

    result = brim.train("MiniLM", "train.csv", eval="test.csv", output="run", epochs=2)
    result.model.predict(["a fine film"])

``brim.data`` puts brim's tokenizers and batches in front of any other model, ``brim.torch`` has the pieces that fit into torch's loaders.
"""
# This file is made by tools/python_options.
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, overload

from . import data as data
from . import errors as errors
from . import hub as hub
from .callbacks import Predictions as Predictions
from .data import Batch as Batch
from .data import Batches as Batches
from .data import Dataset as Dataset
from .data import Labels as Labels
from .data import Plan as Plan
from .data import Stream as Stream
from .data import restore_order as restore_order
from .device import to as to
from .errors import EVALUATE as EVALUATE
from .errors import Error as Error
from .errors import SAVE as SAVE
from .errors import STOP as STOP
from .judged import Evaluation as Evaluation
from .model import Model as Model
from .model import TokenPrediction as TokenPrediction
from .prediction import Prediction as Prediction
from .prediction import Ranked as Ranked
from .result import Event as Event
from .result import Result as Result
from .runtime import Runtime as Runtime
from .runtime import set_threads as set_threads
from .study import Analysis as Analysis
from .study import Comparison as Comparison
from .study import FoldsResult as FoldsResult
from .study import analyze as analyze
from .tokenizer import Encoding as Encoding
from .tokenizer import Ragged as Ragged
from .tokenizer import Tokenizer as Tokenizer
from .training import compare as compare
from .training import train_events as train_events
from . import sklearn as sklearn, torch as torch

__version__: str

@overload
def train(
    model: Model | str | os.PathLike[str],
    train: Any = None,
    *,
    eval: Any = None,
    output: str | os.PathLike[str] | None = None,
    task: str = 'auto',
    labels: Labels | Sequence[Any] | dict[Any, str] | None = None,
    max_length: int | None = None,
    seed: int = 42,
    text_column: str | None = None,
    pair_column: str | None = None,
    label_column: str | None = None,
    columns: str | Sequence[str] | None = None,
    prompts: dict[str, Any] | str | None = None,
    teacher_column: str | None = None,
    missing_label: str = 'error',
    delimiter: str | None = None,
    header: bool = True,
    keep_head: bool = False,
    whole_words: bool = False,
    pooling: str | None = None,
    layers: str | None = None,
    dense: int | None = None,
    dense_activation: str | None = None,
    reinit_layers: int = 0,
    no_type_ids: bool = False,
    device: str = 'cpu',
    tf32: bool = False,
    tokenizer: Tokenizer | None = None,
    revision: str | None = None,
    folds: None = None,
    fold_seed: int = 42,
    stratify: bool = False,
    on_event: Callable[[str, dict[str, Any]], Any] | None = None,
    runtime: Any = None,
    windows: int | None = None,
    max_windows: int | None = None,
    epochs: float | None = 1,
    max_steps: int | None = None,
    resume: bool | None = False,
    resume_anyway: bool | None = False,
    overwrite: bool | None = False,
    fold_column: str | None = None,
    test: Any = None,
    batching: Literal["sequential", "random", "uniform", "sorted", "bucketed", "packed"] | None = "random",
    padding: Literal["none", "longest", "max_length"] | None = "none",
    batch_size: int | None = 16,
    max_tokens: int | None = None,
    accumulate: int | None = None,
    slices: int | None = None,
    max_rows: int | None = None,
    read_ahead: int | None = None,
    pad_to_multiple_of: int | None = None,
    required_batch_size_multiple: int | None = None,
    oversize: Literal["error", "truncate", "alone"] | None = "error",
    tail: Literal["resplit", "fill", "drop"] | None = "resplit",
    drop_last: bool | None = False,
    freeze: str | int | Sequence[str | int] | None = None,
    train_only: str | Sequence[str] | None = None,
    checkpoint_activations: bool | None = False,
    stream: bool | None = False,
    shuffle_window: int | None = 100000,
    repeat: bool | None = False,
    prefetch: int | None = 1,
    class_weights: str | Mapping[Any, float] | Sequence[float] | None = None,
    label_smoothing: float | None = 0,
    loss: Literal["in-batch", "cosent", "angle", "cosine", "contrastive", "online-contrastive", "triplet", "margin-mse", "distill-kl", "mse-vectors", "bce", "mse", "in-group", "list-net"] | None = None,
    scale: float | None = None,
    distance: Literal["cosine", "euclidean", "manhattan"] | None = None,
    margin: float | None = None,
    temperature: float | None = None,
    directions: str | Sequence[str] | None = None,
    partition: Literal["joint", "per-direction"] | None = None,
    similarity: Literal["cosine", "dot"] | None = None,
    hardness: Literal["none", "in-batch", "own", "all"] | None = None,
    hardness_strength: float | None = None,
    matryoshka: str | int | Sequence[int] | None = None,
    matryoshka_weights: str | float | Sequence[float] | None = None,
    positive_weight: float | None = None,
    mask_rate: str | float | None = None,
    optimizer: Literal["adamw", "bert_adam", "sgd", "madgrad"] | None = "adamw",
    lr: float | None = 5e-5,
    schedule: Literal["linear", "cosine", "constant"] | None = "linear",
    warmup_steps: int | float | None = 0,
    warmup_ratio: float | None = 0,
    weight_decay: float | None = 0,
    decay_towards: Literal["zero", "pretrained"] | None = "zero",
    mixout: float | None = 0,
    clip: float | None = 1,
    layer_lr_decay: float | None = 1,
    momentum: float | None = 0.9,
    beta1: float | None = 0.9,
    beta2: float | None = 0.999,
    eps: float | None = 1e-8,
    log_every: int | None = 1,
    eval_every: int | None = None,
    save_every: int | None = None,
    keep_checkpoints: int | None = None,
    swa_start: float | None = 0,
    swa_every: int | None = None,
    best_metric: str | None = None,
    keep: Literal["best", "last"] | None = None,
    patience: int | None = 0,
    min_delta: float | None = 0,
    eval_batch_size: int | None = None,
    eval_batching: Literal["sequential", "random", "uniform", "sorted", "bucketed", "packed"] | None = "sorted",
    eval_padding: Literal["none", "longest", "max_length"] | None = "none",
    memory_limit: int | str | None = None,
    precision: Literal["fp32", "bf16", "fp16"] | None = "fp32",
    loss_scale: float | None = None,
    loss_scale_steps: int | None = None,
    format: Literal["csv", "tsv", "jsonl", "txt", "conll"] | None = None,
    quote: Literal["csv", "none", "backslash"] | None = None,
    min_chars: int | None = 0,
    where: Mapping[str, str] | None = None,
    max_record: int | None = None,
    skip_damaged: bool | None = False,
    cache: str | os.PathLike[str] | None = None,
    profile: bool | str | os.PathLike[str] | None = None,
    cpu: Literal["auto", "plain", "avx2", "avx512", "amx"] | None = "auto",
    best_is_small: bool | None = None,
    callbacks: Any = None,
    compute_metrics: Callable[[Predictions], dict[str, Any]] | None = None,
    eval_max_tokens: int | None = None,
    eval_when: Literal["epoch", "steps", "no"] | None = None,
    progress: bool | None = None,
    report_to: Any = None,
    save_when: Literal["epoch", "steps", "no", "best"] | None = None,
    truncation: Literal["longest_first", "only_first", "only_second"] | None = None,
    truncation_side: Literal["right", "left"] | None = None,
    validation_split: float | None = None,
    weights: Sequence[float] | None = None,
    activation_checkpointing: bool | None = None,
    adam_beta1: float | None = None,
    adam_beta2: float | None = None,
    adam_epsilon: float | None = None,
    buffer_size: int | None = None,
    data_seed: int | None = None,
    dataloader_drop_last: bool | None = None,
    early_stopping_patience: int | None = None,
    early_stopping_threshold: float | None = None,
    eval_dataset: Any = None,
    eval_steps: int | None = None,
    eval_strategy: Literal["epoch", "steps", "no"] | None = None,
    evaluation_strategy: Literal["epoch", "steps", "no"] | None = None,
    gradient_checkpointing: bool | None = None,
    label_smoothing_factor: float | None = None,
    learning_rate: float | None = None,
    logging_steps: int | None = None,
    max_grad_norm: float | None = None,
    max_seq_length: int | None = None,
    metric_for_best_model: str | None = None,
    num_epochs: float | None = None,
    num_train_epochs: float | None = None,
    optim: Literal["adamw", "bert_adam", "sgd", "madgrad"] | None = None,
    output_dir: str | os.PathLike[str] | None = None,
    overwrite_output_dir: bool | None = None,
    per_device_eval_batch_size: int | None = None,
    per_device_train_batch_size: int | None = None,
    resume_from_checkpoint: bool | None = None,
    save_steps: int | None = None,
    save_strategy: Literal["epoch", "steps", "no", "best"] | None = None,
    save_total_limit: int | None = None,
    train_batch_size: int | None = None,
    load_best_model_at_end: bool | None = None,
    greater_is_better: bool | None = None,
    disable_tqdm: bool | None = None,
    lr_scheduler_type: Literal["linear", "cosine", "constant", "constant_with_warmup"] | None = None,
    train_sampling_strategy: Literal["random", "sequential"] | None = None,
    args: Any = None,
    train_dataset: Any = None,
    processing_class: Any = None,
    gradient_accumulation_steps: int | None = None,
    bf16: bool | None = None,
    activation_checkpointing_kwargs: Any = None,
    average_tokens_across_devices: Any = None,
    bf16_full_eval: Any = None,
    dataloader_in_order: Any = None,
    dataloader_multiprocessing_context: Any = None,
    dataloader_num_workers: Any = None,
    dataloader_persistent_workers: Any = None,
    dataloader_pin_memory: Any = None,
    dataloader_prefetch_factor: Any = None,
    ddp_backend: Any = None,
    ddp_broadcast_buffers: Any = None,
    ddp_bucket_cap_mb: Any = None,
    ddp_find_unused_parameters: Any = None,
    ddp_static_graph: Any = None,
    ddp_timeout: Any = None,
    do_eval: Any = None,
    do_predict: Any = None,
    do_train: Any = None,
    enable_jit_checkpoint: Any = None,
    eval_accumulation_steps: Any = None,
    eval_do_concat_batches: Any = None,
    eval_use_gather_object: Any = None,
    fp16: Any = None,
    fp16_full_eval: Any = None,
    full_determinism: Any = None,
    gradient_checkpointing_kwargs: Any = None,
    group_by_length: Any = None,
    hub_always_push: Any = None,
    hub_model_id: Any = None,
    hub_private_repo: Any = None,
    hub_revision: Any = None,
    hub_strategy: Any = None,
    hub_token: Any = None,
    include_num_input_tokens_seen: Any = None,
    length_column_name: Any = None,
    liger_kernel_config: Any = None,
    local_rank: Any = None,
    log_level: Any = None,
    log_level_replica: Any = None,
    log_on_each_node: Any = None,
    logging_dir: Any = None,
    logging_first_step: Any = None,
    logging_nan_inf_filter: Any = None,
    logging_strategy: Any = None,
    no_cuda: Any = None,
    prediction_loss_only: Any = None,
    project: Any = None,
    push_to_hub: Any = None,
    remove_unused_columns: Any = None,
    run_name: Any = None,
    save_on_each_node: Any = None,
    save_only_model: Any = None,
    save_safetensors: Any = None,
    skip_memory_metrics: Any = None,
    torch_compile: Any = None,
    torch_compile_backend: Any = None,
    torch_compile_mode: Any = None,
    torch_empty_cache_steps: Any = None,
    trackio_bucket_id: Any = None,
    trackio_space_id: Any = None,
    trackio_static_space_id: Any = None,
    use_cache: Any = None,
    use_cpu: Any = None,
    use_liger_kernel: Any = None,
) -> Result:
    """Fine-tunes a model.

    model: a ``Model`` (trained in place), a folder, or a name of the hub ("bert-base-uncased"). train: labelled rows: files; a table of
    datasets, pandas, polars or pyarrow; a dict of columns; a list of dicts, of (text, label) or of (text, pair, label); a ``Dataset``; a
    DatasetDict, whose "train" it is, and whose validation or test is evaluated where eval is not given; a ``brim.data.stream``. eval: the
    same, or {name: that}, or "10%" or 0.1: this share of the rows, drawn by fold_seed, which is then not trained on (so does validation_split=0.1).
    labels: the classes in the order of their ids, or what they are called, {0: "neg", 1: "pos"}; None: those of the model or of the rows.
    missing_label="skip" leaves out rows without a
    label; keep_head=True keeps the classes and the classifier of a fine-tuned folder, also where the rows lack some of them; delimiter is the
    character between the columns of csv and tsv files; header=False reads files without a head line, whose columns are "0", "1", ...
    task="mlm": texts without labels, some of whose tokens are masked and are to be found (mask_rate: 0.15, or "0.3:0.15" for the first and the
    last step; whole_words=True masks all tokens of a word); training then continues from the folder with any other task.
    task="embedding": vectors of texts; task="rerank": a score of a query and a document. Their rows are two texts or more: columns named as data
    sets of sentence-transformers name them (anchor, positive, negative; sentence1, sentence2, score; query, document, label), or columns=["question",
    "answer"] in this order; or tuples (text, text, ..), whose last item may be a score. loss, scale, matryoshka and so on say what is learnt from them;
    where loss is not given, the rows do. prompts={"query": "query: ", "document": "passage: "}: what the first text of each row begins with, and its others
    (True: the model's own prompt of this name), which the run's folder keeps; or {"question": ..} of the texts of columns. teacher_column: a column of lists of numbers by another model, the vector that each text of
    the row is to have, or a score of each document. ``Result.model`` then embeds (``Model.embed``), or scores pairs (``Model.predict``).
    device: "cpu", or "cuda" for an NVIDIA GPU, tf32=True: as for ``Model``; a ``Model`` stays where it is, as it is.
    output: the run's folder (log.jsonl, evaluation.jsonl, report.html, checkpoints, TensorBoard's files, the final model), None: nothing is written. on_event: called
    with a kind and its fields; ``brim.STOP`` as its result stops the run, after a checkpoint, ``brim.EVALUATE`` and ``brim.SAVE`` ask for
    what they say, after the step of the event; any other result means nothing. While it runs the model is in use: ``parameters()`` may be read, and written with ``written()``, and all
    else is refused. The rows were read when the training began, and nobody looks whether they change.

    The model at the end: that of the best evaluation where there is one and patience or best_metric is given, or with keep="best"
    (load_best_model_at_end=True), also without output; else, or with keep="last", that of the last step. ``Result.model_step`` says which.

    Options: epochs or max_steps, lr, schedule ("linear", "cosine", "constant"), warmup_steps (below 1: a share), warmup_ratio, weight_decay, beta1, beta2,
    eps, clip, layer_lr_decay, freeze ("embeddings", 2, "encoder", ["embeddings", "*.bias"]), train_only (["*.bias", "classifier.*"]),
    checkpoint_activations, precision ("bf16"), class_weights
    ("balanced", {class: weight}, or one a class), label_smoothing, patience, min_delta, eval_batch_size, log_every, eval_every,
    save_every, eval_strategy ("epoch", "steps", "no"), save_strategy (also "best"), keep_checkpoints, best_metric, memory_limit ("2GB"),
    swa_start, swa_every, resume, resume_anyway, overwrite, and of batches batch_size
    (16), max_tokens, batching ("random"), padding ("none"), accumulate, and so on. The names of transformers' TrainingArguments
    (learning_rate, num_train_epochs, per_device_train_batch_size, output_dir, ...) are understood too, and so is an object of it as args.
    compute_metrics: a function of ``brim.Predictions`` that returns {name: number}; best_metric may name one of them (greater_is_better
    says which way). callbacks: functions as on_event. report_to: "tensorboard", "csv", "none", or functions likewise. progress: True
    shows a line, False none, None: in notebooks and terminals. profile: a file for a trace, or True: trace.json in output.
    Of files: format, quote, where ({column: value}), min_chars, skip_damaged, max_record, cache (a folder), truncation, truncation_side. They say how those sets are
    read that are files; where is refused with rows in memory, of which it chooses none.
    stream=True reads them again in every epoch (data larger than memory): shuffle_window, prefetch, weights (a share for each file),
    repeat. cpu: instructions to use ("avx2").
    folds: every row is held out once, and what comes back is a ``FoldsResult``: a number of folds, drawn by fold_seed (stratify: each like
    the whole), or the fold of each row, also by fold_column, or pairs of rows as scikit-learn's split() gives them; test: rows that all folds predict together; their labels are not looked at. The model then keeps its weights;
    output has a run for each fold, predictions.jsonl and folds.json.
    Started by an MPI launcher (mpirun -n 4 python train.py) all processes train together: every one calls it with the same arguments; the
    first has the events and evaluations and writes, all get the same model. slices=24 has the same bits for any number of them.
    Ctrl-C writes a checkpoint first; resume=True continues from it, bit for bit. With more epochs or max_steps than before, a run, finished or
    not, becomes longer: the "resume" event says both learning rates. resume_anyway=True continues with other kernels too (another processor).

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
    quote: Literal["csv", "none", "backslash"]. Whether "..." encloses fields; backslash: a quote inside them may be \\". Default: csv: csv,
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
    ...
@overload
def train(
    model: Model | str | os.PathLike[str],
    train: Any = None,
    *,
    eval: Any = None,
    output: str | os.PathLike[str] | None = None,
    task: str = 'auto',
    labels: Labels | Sequence[Any] | dict[Any, str] | None = None,
    max_length: int | None = None,
    seed: int = 42,
    text_column: str | None = None,
    pair_column: str | None = None,
    label_column: str | None = None,
    columns: str | Sequence[str] | None = None,
    prompts: dict[str, Any] | str | None = None,
    teacher_column: str | None = None,
    missing_label: str = 'error',
    delimiter: str | None = None,
    header: bool = True,
    keep_head: bool = False,
    whole_words: bool = False,
    pooling: str | None = None,
    layers: str | None = None,
    dense: int | None = None,
    dense_activation: str | None = None,
    reinit_layers: int = 0,
    no_type_ids: bool = False,
    device: str = 'cpu',
    tf32: bool = False,
    tokenizer: Tokenizer | None = None,
    revision: str | None = None,
    folds: int | Sequence[int] | Any,
    fold_seed: int = 42,
    stratify: bool = False,
    on_event: Callable[[str, dict[str, Any]], Any] | None = None,
    runtime: Any = None,
    windows: int | None = None,
    max_windows: int | None = None,
    epochs: float | None = 1,
    max_steps: int | None = None,
    resume: bool | None = False,
    resume_anyway: bool | None = False,
    overwrite: bool | None = False,
    fold_column: str | None = None,
    test: Any = None,
    batching: Literal["sequential", "random", "uniform", "sorted", "bucketed", "packed"] | None = "random",
    padding: Literal["none", "longest", "max_length"] | None = "none",
    batch_size: int | None = 16,
    max_tokens: int | None = None,
    accumulate: int | None = None,
    slices: int | None = None,
    max_rows: int | None = None,
    read_ahead: int | None = None,
    pad_to_multiple_of: int | None = None,
    required_batch_size_multiple: int | None = None,
    oversize: Literal["error", "truncate", "alone"] | None = "error",
    tail: Literal["resplit", "fill", "drop"] | None = "resplit",
    drop_last: bool | None = False,
    freeze: str | int | Sequence[str | int] | None = None,
    train_only: str | Sequence[str] | None = None,
    checkpoint_activations: bool | None = False,
    stream: bool | None = False,
    shuffle_window: int | None = 100000,
    repeat: bool | None = False,
    prefetch: int | None = 1,
    class_weights: str | Mapping[Any, float] | Sequence[float] | None = None,
    label_smoothing: float | None = 0,
    loss: Literal["in-batch", "cosent", "angle", "cosine", "contrastive", "online-contrastive", "triplet", "margin-mse", "distill-kl", "mse-vectors", "bce", "mse", "in-group", "list-net"] | None = None,
    scale: float | None = None,
    distance: Literal["cosine", "euclidean", "manhattan"] | None = None,
    margin: float | None = None,
    temperature: float | None = None,
    directions: str | Sequence[str] | None = None,
    partition: Literal["joint", "per-direction"] | None = None,
    similarity: Literal["cosine", "dot"] | None = None,
    hardness: Literal["none", "in-batch", "own", "all"] | None = None,
    hardness_strength: float | None = None,
    matryoshka: str | int | Sequence[int] | None = None,
    matryoshka_weights: str | float | Sequence[float] | None = None,
    positive_weight: float | None = None,
    mask_rate: str | float | None = None,
    optimizer: Literal["adamw", "bert_adam", "sgd", "madgrad"] | None = "adamw",
    lr: float | None = 5e-5,
    schedule: Literal["linear", "cosine", "constant"] | None = "linear",
    warmup_steps: int | float | None = 0,
    warmup_ratio: float | None = 0,
    weight_decay: float | None = 0,
    decay_towards: Literal["zero", "pretrained"] | None = "zero",
    mixout: float | None = 0,
    clip: float | None = 1,
    layer_lr_decay: float | None = 1,
    momentum: float | None = 0.9,
    beta1: float | None = 0.9,
    beta2: float | None = 0.999,
    eps: float | None = 1e-8,
    log_every: int | None = 1,
    eval_every: int | None = None,
    save_every: int | None = None,
    keep_checkpoints: int | None = None,
    swa_start: float | None = 0,
    swa_every: int | None = None,
    best_metric: str | None = None,
    keep: Literal["best", "last"] | None = None,
    patience: int | None = 0,
    min_delta: float | None = 0,
    eval_batch_size: int | None = None,
    eval_batching: Literal["sequential", "random", "uniform", "sorted", "bucketed", "packed"] | None = "sorted",
    eval_padding: Literal["none", "longest", "max_length"] | None = "none",
    memory_limit: int | str | None = None,
    precision: Literal["fp32", "bf16", "fp16"] | None = "fp32",
    loss_scale: float | None = None,
    loss_scale_steps: int | None = None,
    format: Literal["csv", "tsv", "jsonl", "txt", "conll"] | None = None,
    quote: Literal["csv", "none", "backslash"] | None = None,
    min_chars: int | None = 0,
    where: Mapping[str, str] | None = None,
    max_record: int | None = None,
    skip_damaged: bool | None = False,
    cache: str | os.PathLike[str] | None = None,
    profile: bool | str | os.PathLike[str] | None = None,
    cpu: Literal["auto", "plain", "avx2", "avx512", "amx"] | None = "auto",
    best_is_small: bool | None = None,
    callbacks: Any = None,
    compute_metrics: Callable[[Predictions], dict[str, Any]] | None = None,
    eval_max_tokens: int | None = None,
    eval_when: Literal["epoch", "steps", "no"] | None = None,
    progress: bool | None = None,
    report_to: Any = None,
    save_when: Literal["epoch", "steps", "no", "best"] | None = None,
    truncation: Literal["longest_first", "only_first", "only_second"] | None = None,
    truncation_side: Literal["right", "left"] | None = None,
    validation_split: float | None = None,
    weights: Sequence[float] | None = None,
    activation_checkpointing: bool | None = None,
    adam_beta1: float | None = None,
    adam_beta2: float | None = None,
    adam_epsilon: float | None = None,
    buffer_size: int | None = None,
    data_seed: int | None = None,
    dataloader_drop_last: bool | None = None,
    early_stopping_patience: int | None = None,
    early_stopping_threshold: float | None = None,
    eval_dataset: Any = None,
    eval_steps: int | None = None,
    eval_strategy: Literal["epoch", "steps", "no"] | None = None,
    evaluation_strategy: Literal["epoch", "steps", "no"] | None = None,
    gradient_checkpointing: bool | None = None,
    label_smoothing_factor: float | None = None,
    learning_rate: float | None = None,
    logging_steps: int | None = None,
    max_grad_norm: float | None = None,
    max_seq_length: int | None = None,
    metric_for_best_model: str | None = None,
    num_epochs: float | None = None,
    num_train_epochs: float | None = None,
    optim: Literal["adamw", "bert_adam", "sgd", "madgrad"] | None = None,
    output_dir: str | os.PathLike[str] | None = None,
    overwrite_output_dir: bool | None = None,
    per_device_eval_batch_size: int | None = None,
    per_device_train_batch_size: int | None = None,
    resume_from_checkpoint: bool | None = None,
    save_steps: int | None = None,
    save_strategy: Literal["epoch", "steps", "no", "best"] | None = None,
    save_total_limit: int | None = None,
    train_batch_size: int | None = None,
    load_best_model_at_end: bool | None = None,
    greater_is_better: bool | None = None,
    disable_tqdm: bool | None = None,
    lr_scheduler_type: Literal["linear", "cosine", "constant", "constant_with_warmup"] | None = None,
    train_sampling_strategy: Literal["random", "sequential"] | None = None,
    args: Any = None,
    train_dataset: Any = None,
    processing_class: Any = None,
    gradient_accumulation_steps: int | None = None,
    bf16: bool | None = None,
    activation_checkpointing_kwargs: Any = None,
    average_tokens_across_devices: Any = None,
    bf16_full_eval: Any = None,
    dataloader_in_order: Any = None,
    dataloader_multiprocessing_context: Any = None,
    dataloader_num_workers: Any = None,
    dataloader_persistent_workers: Any = None,
    dataloader_pin_memory: Any = None,
    dataloader_prefetch_factor: Any = None,
    ddp_backend: Any = None,
    ddp_broadcast_buffers: Any = None,
    ddp_bucket_cap_mb: Any = None,
    ddp_find_unused_parameters: Any = None,
    ddp_static_graph: Any = None,
    ddp_timeout: Any = None,
    do_eval: Any = None,
    do_predict: Any = None,
    do_train: Any = None,
    enable_jit_checkpoint: Any = None,
    eval_accumulation_steps: Any = None,
    eval_do_concat_batches: Any = None,
    eval_use_gather_object: Any = None,
    fp16: Any = None,
    fp16_full_eval: Any = None,
    full_determinism: Any = None,
    gradient_checkpointing_kwargs: Any = None,
    group_by_length: Any = None,
    hub_always_push: Any = None,
    hub_model_id: Any = None,
    hub_private_repo: Any = None,
    hub_revision: Any = None,
    hub_strategy: Any = None,
    hub_token: Any = None,
    include_num_input_tokens_seen: Any = None,
    length_column_name: Any = None,
    liger_kernel_config: Any = None,
    local_rank: Any = None,
    log_level: Any = None,
    log_level_replica: Any = None,
    log_on_each_node: Any = None,
    logging_dir: Any = None,
    logging_first_step: Any = None,
    logging_nan_inf_filter: Any = None,
    logging_strategy: Any = None,
    no_cuda: Any = None,
    prediction_loss_only: Any = None,
    project: Any = None,
    push_to_hub: Any = None,
    remove_unused_columns: Any = None,
    run_name: Any = None,
    save_on_each_node: Any = None,
    save_only_model: Any = None,
    save_safetensors: Any = None,
    skip_memory_metrics: Any = None,
    torch_compile: Any = None,
    torch_compile_backend: Any = None,
    torch_compile_mode: Any = None,
    torch_empty_cache_steps: Any = None,
    trackio_bucket_id: Any = None,
    trackio_space_id: Any = None,
    trackio_static_space_id: Any = None,
    use_cache: Any = None,
    use_cpu: Any = None,
    use_liger_kernel: Any = None,
) -> FoldsResult: ...
