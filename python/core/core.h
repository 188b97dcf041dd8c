/* core.h: the extension module brim._core. Handles of the C library, one type a file, without opinions: names, defaults and
 * everything that a user sees are in the Python files beside it.
 *
 * Limited API of CPython 3.11. The module has no globals: types and exceptions are in its state, which every handle points to, so
 * each interpreter has its own. A handle keeps alive what it was made from. */
#ifndef BRIM_PYTHON_CORE_H
#define BRIM_PYTHON_CORE_H
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <brim/brim.h>

typedef enum core_type {
  CORE_RUNTIME,
  CORE_ARRAY,
  CORE_TOKENIZER,
  CORE_LABELS,
  CORE_DATASET,
  CORE_PLAN,
  CORE_BATCH,
  CORE_FEED,
  CORE_MODEL,
  CORE_JUDGED,
  CORE_EMBEDDER,
  CORE_TYPES
} core_type;

struct core_call;
typedef struct core_state {
  PyTypeObject *types[CORE_TYPES];
  PyObject *raise;         /* brim.errors.make(code, message, file, line, byte) -> exception */
  PyObject *request;       /* brim.errors.Request: what a function returns that wants the work to stop, or more of it */
  PyObject *end_child;     /* brim.errors.end_child(exception or None), which does not return */
  PyObject *loads;         /* json.loads */
  struct core_call *calls; /* that are under way, of all threads; with the GIL only */
  bool closing;            /* the interpreter ends: no further call begins */
} core_state;

static inline core_state *core_of(PyObject *module) {
  return PyModule_GetState(module);
}

/* ---- handles ---------------------------------------------------------------------------------------------- */

/* Every handle begins so. `busy` is held while a call on an object that serves one thread at a time runs without the GIL. */
#define CORE_HEAD                                                                                                                \
  PyObject_HEAD core_state *state;                                                                                               \
  PyObject *module;                                                                                                              \
  PyObject *keep[3];                                                                                                             \
  bool busy

typedef struct core_object {
  CORE_HEAD;
} core_object;

typedef struct core_runtime {
  CORE_HEAD;
  brim_runtime *runtime;
  long pid;
} core_runtime;

/* A block of numbers that others read in place: buffer protocol and DLPack. `data` belongs to keep[0], or to the array. With
 * `gpu` it is a card's memory: DLPack alone. */
typedef struct core_array {
  CORE_HEAD;
  void *data;
  bool owned, readonly;
  brim_gpu_memory *gpu; /* NULL: host memory */
  char format[2];       /* of the struct module: i q B f I */
  int dimensions;
  Py_ssize_t item, shape[2], strides[2];
} core_array;

typedef struct core_tokenizer {
  CORE_HEAD; /* busy: somebody has the batch encoder */
  core_runtime *runtime;
  brim_tokenizer *tokenizer;
  brim_scratch *scratch;       /* with the GIL only */
  brim_batch_encoder *encoder; /* made when first needed */
} core_tokenizer;
typedef struct core_labels {
  CORE_HEAD;
  brim_labels labels;
} core_labels;
typedef struct core_dataset {
  CORE_HEAD;
  core_runtime *runtime;
  brim_dataset *dataset;
} core_dataset;
typedef struct core_plan {
  CORE_HEAD;
  core_runtime *runtime;
  brim_plan *plan;
  int32_t world_size;
} core_plan;
typedef struct core_batch {
  CORE_HEAD;
  brim_batch batch;
} core_batch;
typedef struct core_feed {
  CORE_HEAD;
  core_runtime *runtime;
  brim_feed *feed;
  long pid;
} core_feed;
typedef struct core_model {
  CORE_HEAD;
  core_runtime *runtime;
  brim_model *model;
  float *values; /* the model's, or, of a device whose memory is not the host's, a copy that parameters() makes */
  bool copies;   /* it is one */
  bool telling;
} core_model;
typedef struct core_embedder {
  CORE_HEAD;
  core_runtime *runtime;
  core_model *model;
  brim_embedder *embedder; /* over the model: while it runs, the model is busy */
} core_embedder;
typedef struct core_judged {
  CORE_HEAD;
  core_runtime *runtime;
  brim_judged judged;
} core_judged;

/* A zeroed object of the type, which holds references to the module and to up to three others (NULL where there is none). */
void *core_new(core_state *state, PyObject *module, core_type type, PyObject *keep0, PyObject *keep1, PyObject *keep2);
/* Gives back the references and the object: the end of every tp_dealloc. */
void core_drop(void *object);
/* The object as a handle of this type, or NULL with TypeError. */
void *core_cast(core_state *state, PyObject *object, core_type type);

/* The runtime of a handle, fit for use in this process (a child of fork has no pool threads). */
brim_runtime *core_use(core_runtime *runtime);
/* Sets busy; false with RuntimeError if another thread is inside. */
bool core_enter(void *object);
void core_leave(void *object);

/* ---- calls ------------------------------------------------------------------------------------------------ */

/* Raises what a failed call said; returns NULL. */
PyObject *core_fail(core_state *state, int code, const brim_error *error);
enum { CORE_CELL = 0 }; /* no status of a failure: a value of a type that has no place there */
/* Puts the number of a row or item before what was wrong with it ("row 3: ..."): brim.errors.CellError in place of a TypeError or
 * ValueError that is set, and what else is set stays. what NULL: nothing is put before. Always false. */
bool core_fail_at(core_state *state, const char *what, Py_ssize_t number);

/* Runs work(context) without the GIL in a thread of its own, while this one looks for signals: an exception of a signal handler
 * (KeyboardInterrupt) cancels the work and is raised when it has stopped. Returns a status; -1: an exception is set. BRIM_END and
 * BRIM_OK set none. `context` may call back into Python through core_callback. */
typedef int (*core_work)(void *context, brim_error *error);
int core_run(core_state *state, core_runtime *runtime, core_work work, void *context);
/* end_calls(): cancels what is under way and waits for it: to be called at the interpreter's end, before threads that still run
 * could call into what is gone. */
PyObject *core_end_calls(PyObject *module, PyObject *nothing);

/* An event for a Python function, from inside core_run: function(kind, {name: value}). An exception stops the work and is what
 * core_run raises; so does brim.STOP as a result, as a cancellation; of training brim.EVALUATE and brim.SAVE ask for what they
 * say. Any other result means nothing. */
typedef struct core_listener {
  core_state *state;
  PyObject *function; /* NULL: none */
  bool trains;
  PyInterpreterState *interpreter;
  bool *telling;                      /* if not NULL: true while the function runs, and so the work waits */
  PyObject *type, *value, *traceback; /* of an exception */
  bool lacking;                       /* memory, to call it */
  long pid;                           /* of the process that called it */
} core_listener;
int core_event(void *listener, const brim_event *event);
/* The same for any other call of Python from inside core_run: between the two the thread has the GIL; an exception that is set
 * then is kept for core_listened, and core_leave_python returns false. A child of a fork between the two ends in it. NULL: memory
 * is lacking, as core_listened says then. */
PyThreadState *core_enter_python(core_listener *listener);
bool core_leave_python(core_listener *listener, PyThreadState *thread);
/* Calls a function with the logits and labels of an evaluation of the model, and takes its metrics. */
int core_own_metrics(core_listener *listener, core_model *model, PyObject *function, const brim_evaluation *evaluation,
                     brim_own_metric *metrics, int *count, brim_error *error);
/* After core_run: the status, or -1 with the listener's exception raised. */
int core_listened(core_listener *listener, int status);

/* ---- arguments -------------------------------------------------------------------------------------------- */

/* One field of an options struct. */
typedef enum core_kind { CORE_I32, CORE_I64, CORE_U64, CORE_REAL, CORE_BOOL, CORE_TEXT, CORE_PATH, CORE_ENUM } core_kind;
typedef struct core_field {
  const char *name;
  core_kind kind;
  size_t offset;
  bool (*parse)(const char *name, int *out); /* ENUM: its value, an int; false: no such name */
  const char *names;                         /* ENUM: those that there are, for its message; NULL: too many */
} core_field;
#define CORE_FIELD(type, member, field_kind) {.name = #member, .kind = field_kind, .offset = offsetof(type, member)}
/* Sets the fields that `options` (a dict) names and removes them from it; None leaves a field as it is. False with an exception.
 */
bool core_fields(PyObject *options, const core_field *fields, void *out);
/* False with TypeError if anything is left. */
bool core_no_more(PyObject *options);
/* Borrowed; NULL: there is none of this name, or an exception is set. */
PyObject *core_option(PyObject *options, const char *name);
/* For O& of PyArg_ParseTuple: a name of a file, a pointer into the str or bytes (of os.fsencode). */
int core_path(PyObject *value, void *at);
/* The strings of a list, names or paths: pointers into it, in memory to be freed with PyMem_Free. None gives NULL and 0. */
const char **core_strings(PyObject *sequence, Py_ssize_t *count);
bool core_text_columns(PyObject *options, brim_source_options *out, PyObject **held);

/* Keeps pointers into a Python string or bytes. */
typedef struct core_bytes {
  const char *data;
  Py_ssize_t size;
  bool list;         /* a label that is several: bytes, a NUL after each item */
  const char *forms; /* of a label: a brim_label_form for it, or for each item; NULL: BRIM_FORM_TEXT */
} core_bytes;
void core_explain_unicode(PyObject *item);         /* an exception of what is no UTF-8, in words */
bool core_text(PyObject *object, core_bytes *out); /* str (UTF-8; lone surrogates are U+FFFD's business: refused) or bytes */

/* ---- arrays ----------------------------------------------------------------------------------------------- */

/* [rows] or [rows, columns] (columns < 0: one dimension). With an owner the data is its, else it is copied if there is any, or
 * left uninitialised. */
core_array *core_array_new(core_state *state, PyObject *module, char format, Py_ssize_t rows, Py_ssize_t columns, void *data,
                           PyObject *owner, bool readonly);
/* Of a card's memory, which is its own from now on (after a failure it is given back); the runtime is kept for it. */
core_array *core_array_on_gpu(core_state *state, PyObject *module, char format, Py_ssize_t rows, Py_ssize_t columns,
                              brim_gpu_memory *gpu, PyObject *runtime);
#define CORE_NEW_ARRAY(from, format, rows, columns)                                                                              \
  core_array_new((from)->state, (from)->module, format, rows, columns, NULL, NULL, false)
/* A one-dimensional contiguous buffer of this item format, or any sequence of integers copied into one: an array, a new
 * reference. */
core_array *core_array_from(core_state *state, PyObject *module, PyObject *object, char format);

/* ---- what the files add to the module --------------------------------------------------------------------- */

extern PyType_Spec core_runtime_spec, core_array_spec, core_tokenizer_spec, core_labels_spec, core_dataset_spec, core_plan_spec,
    core_batch_spec, core_feed_spec, core_model_spec, core_judged_spec, core_embedder_spec;

PyObject *core_runtime_make(PyObject *module, PyObject *args);
PyObject *core_ranks_launched(PyObject *module, PyObject *nothing);
PyObject *core_ranks_join(PyObject *module, PyObject *args);
PyObject *core_ranks_end(PyObject *module, PyObject *args);
/* The joined ranks, or this process alone. */
brim_group core_group(void);
PyObject *core_tokenizer_make(PyObject *module, PyObject *args);
PyObject *core_encode_batch(PyObject *module, PyObject *args);
PyObject *core_labels_make(PyObject *module, PyObject *args);
PyObject *core_label_notes(PyObject *module, PyObject *labels);
PyObject *core_columns_find(PyObject *module, PyObject *args);
PyObject *core_dataset_load(PyObject *module, PyObject *args);
PyObject *core_dataset_texts(PyObject *module, PyObject *args);
PyObject *core_dataset_arrow(PyObject *module, PyObject *args);
PyObject *core_dataset_encoded(PyObject *module, PyObject *args);
PyObject *core_dataset_unpack(PyObject *module, PyObject *args);
PyObject *core_hold_out(PyObject *module, PyObject *args);
PyObject *core_hub_find(PyObject *module, PyObject *args);
PyObject *core_check_outputs(PyObject *module, PyObject *args);
PyObject *core_check_numbered(PyObject *module, PyObject *args);
PyObject *core_array_load(PyObject *module, PyObject *args);
PyObject *core_array_copied(PyObject *module, PyObject *args);
PyObject *core_batch_load(PyObject *module, PyObject *args);
PyObject *core_plan_make(PyObject *module, PyObject *args);
PyObject *core_feed_make(PyObject *module, PyObject *args);
PyObject *core_labels_scan(PyObject *module, PyObject *args);
PyObject *core_model_make(PyObject *module, PyObject *args);
PyObject *core_describe(PyObject *module, PyObject *args);
PyObject *core_prompts_find(PyObject *module, PyObject *args);
PyObject *core_embedder_make(PyObject *module, PyObject *args);
PyObject *core_encoder_folder(PyObject *module, PyObject *args);
PyObject *core_train(PyObject *module, PyObject *args);
PyObject *core_compare(PyObject *module, PyObject *args);
PyObject *core_analyze(PyObject *module, PyObject *args);
PyObject *core_train_folds(PyObject *module, PyObject *args);
PyObject *core_page(PyObject *module, PyObject *args);
PyObject *core_picked(PyObject *module, PyObject *args);
PyObject *core_kept(PyObject *module, PyObject *args);
PyObject *core_keep(PyObject *module, PyObject *args);
PyObject *core_report(PyObject *module, PyObject *args);

/* Shared between files. */
bool core_plan_options(PyObject *options, brim_plan_options *out);
bool core_encode_options(PyObject *options, brim_encode_options *out);
bool core_source_options(PyObject *options, brim_source_options *out);
/* (column, value) pairs as conditions, in memory to be freed with PyMem_Free; NULL and 0: there are none, or an exception is set.
 */
brim_where *core_conditions(PyObject *list, int *count);
bool core_train_options(PyObject *options, brim_train_options *out);
PyObject *core_metrics_dict(const brim_metrics *metrics);
bool core_parse_precision(const char *name, int *out);
/* Outcomes of a data set: one a row, or one a labelled token. */
uint64_t core_outcome_count(const brim_dataset *dataset);
/* Methods of a model. */
PyObject *core_model_predict(PyObject *object, PyObject *args);
PyObject *core_model_evaluate(PyObject *object, PyObject *args);
/* Parts of a page (study_page.c). */
bool core_put_comparison(brim_page *page, PyObject *item, core_state *state);
bool core_put_analysis(brim_page *page, PyObject *item, core_state *state, PyObject *module);
/* What a run keeps of itself, of work inside core_run. */
typedef struct core_viewer {
  brim_runtime *runtime;
  brim_views *views;
  bool keeps;        /* in a folder */
  bool quiet;        /* without files for TensorBoard */
  brim_judged *sets; /* after its end, of a run without a folder; in memory of its own */
  int count;
  char said[1600]; /* what could not be kept, a line each */
} core_viewer;
int core_viewer_open(core_viewer *viewer, brim_runtime *runtime, const char *folder, brim_error *error);
void core_viewer_close(core_viewer *viewer, bool ran);
/* Handles that take over what the judged sets hold, which are then empty. */
PyObject *core_judged_take(core_state *state, PyObject *module, PyObject *runtime, brim_judged *judged);
PyObject *core_judged_list(core_state *state, PyObject *module, PyObject *runtime, brim_judged *sets, int count);
/* [(name, dataset)], in memory to be freed with PyMem_Free. */
brim_named_dataset *core_named_sets(core_state *state, PyObject *list, int *count);
/* The place of `name` in a list that NULL ends; false if it is not there. */
bool core_named(const char *const *names, const char *name, int *out);
/* The mapping that `object` holds: a Labels or a Dataset (one without labels gives NULL); None leaves `out` as it is. False with
 * TypeError. */
bool core_known_labels(core_state *state, PyObject *object, const brim_labels **out);
bool core_parse_batching(const char *name, int *out);
bool core_parse_padding(const char *name, int *out);
bool core_parse_oversize(const char *name, int *out);
bool core_parse_tail(const char *name, int *out);
#define CORE_TASKS_BEFORE "classification, regression, multi_label, tokens, embedding"
#define CORE_TASKS        CORE_TASKS_BEFORE " or rerank" /* of rows; all: with what labels are made for */
#define CORE_ALL_TASKS    CORE_TASKS_BEFORE ", rerank or mlm"
bool core_parse_task(const char *name, int *out);
PyObject *core_no_task(const char *name); /* ValueError; returns NULL */
enum { CORE_TASK_NAME = 32 };
const char *core_task_word(brim_task task, char name[CORE_TASK_NAME]);
#define core_task_name(task) core_task_word(task, (char[CORE_TASK_NAME]){0})
PyObject *core_task_shape(PyObject *module, PyObject *args);
PyObject *core_task_description(PyObject *module, PyObject *object);
PyObject *core_label_names(const brim_labels *labels);
PyObject *core_batch_copy(core_state *state, PyObject *module, brim_runtime *runtime, const brim_batch *batch);
PyObject *core_batch_fill(core_plan *plan, core_dataset *dataset, int32_t rank, uint64_t index, int multiple);

#endif
