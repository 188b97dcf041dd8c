/* plan.c: which rows go together. */
#include "core.h"

#include <string.h>

#define PARSER(name, type)                                                                                                       \
  bool core_parse_##name(const char *text, int *out) {                                                                           \
    brim_##type value;                                                                                                           \
    if (!brim_##type##_parse(text, &value))                                                                                      \
      return false;                                                                                                              \
    *out = (int)value;                                                                                                           \
    return true;                                                                                                                 \
  }
PARSER(batching, batching)
PARSER(padding, padding)
PARSER(oversize, oversize)
PARSER(tail, tail)

bool core_plan_options(PyObject *options, brim_plan_options *out) {
  static const core_field fields[] = {
      {"batching", CORE_ENUM, offsetof(brim_plan_options, batching), core_parse_batching,
       "sequential, random, uniform, sorted, bucketed or packed"},
      {"padding", CORE_ENUM, offsetof(brim_plan_options, padding), core_parse_padding, "none, longest or max_length"},
      {"oversize", CORE_ENUM, offsetof(brim_plan_options, oversize), core_parse_oversize, "error, truncate or alone"},
      {"tail", CORE_ENUM, offsetof(brim_plan_options, tail), core_parse_tail, "resplit, fill or drop"},
      CORE_FIELD(brim_plan_options, batch_size, CORE_I64),
      CORE_FIELD(brim_plan_options, max_tokens, CORE_I64),
      CORE_FIELD(brim_plan_options, max_rows, CORE_I64),
      CORE_FIELD(brim_plan_options, accumulate, CORE_I64),
      CORE_FIELD(brim_plan_options, max_length, CORE_I32),
      CORE_FIELD(brim_plan_options, pad_to_multiple_of, CORE_I32),
      CORE_FIELD(brim_plan_options, read_ahead, CORE_I64),
      CORE_FIELD(brim_plan_options, required_batch_size_multiple, CORE_I64),
      CORE_FIELD(brim_plan_options, drop_last, CORE_BOOL),
      CORE_FIELD(brim_plan_options, seed, CORE_U64),
      CORE_FIELD(brim_plan_options, world_size, CORE_I32),
      CORE_FIELD(brim_plan_options, slices, CORE_I32),
      {0}};
  return core_fields(options, fields, out);
}

typedef struct job {
  core_runtime *runtime;
  brim_lengths lengths;
  brim_plan_options options;
  uint64_t epoch;
  PyObject *rows_for; /* a function of the caller's */
  core_listener listener;
  brim_plan *plan;
} job;

static int64_t rows_of(PyObject *answer) {
  PyObject *number = PyNumber_Index(answer);
  if (!number) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "rows_for has to return a whole number, not %R", answer);
    return 1;
  }
  int64_t rows = PyLong_AsLongLong(number);
  if (!PyErr_Occurred() && rows < 1)
    PyErr_Format(PyExc_ValueError, "rows_for has to return at least 1, not %S", number);
  Py_DECREF(number);
  return rows;
}

/* The caller's limit; called from the thread of the work. What it raises first is kept. */
static int64_t ask_rows(void *context, int32_t longest) {
  job *j = context;
  PyThreadState *thread = core_enter_python(&j->listener);
  if (!thread)
    return 1;
  PyObject *answer = j->listener.type ? NULL : PyObject_CallFunction(j->rows_for, "i", (int)longest);
  const int64_t rows = answer ? rows_of(answer) : 1;
  Py_XDECREF(answer);
  return core_leave_python(&j->listener, thread) ? rows : 1;
}

static int plan_work(void *context, brim_error *error) {
  job *j = context;
  return brim_plan_new_of(j->runtime->runtime, &j->lengths, &j->options, j->epoch, &j->plan, error);
}

/* A dataset's own lengths, with those of its texts, or an array. *made is to be let go. */
static bool take_lengths(core_state *state, PyObject *module, PyObject *given, brim_lengths *out, core_array **made) {
  core_dataset *of = core_cast(state, given, CORE_DATASET);
  if (of) {
    *out = brim_lengths_of(of->dataset);
    return true;
  }
  PyErr_Clear();
  *made = core_array_from(state, module, given, 'i');
  if (*made)
    *out = (brim_lengths){.rows = (uint64_t)(*made)->shape[0], .lengths = (*made)->data};
  return *made != NULL;
}

/* plan(runtime, a dataset or lengths, options, epoch, rows_for) */
PyObject *core_plan_make(PyObject *module, PyObject *args) {
  PyObject *runtime, *lengths, *options;
  unsigned long long epoch;
  job j = {0};
  if (!PyArg_ParseTuple(args, "OOOKO", &runtime, &lengths, &options, &epoch, &j.rows_for))
    return NULL;
  core_state *state = core_of(module);
  j.runtime = core_cast(state, runtime, CORE_RUNTIME);
  if (!j.runtime || !core_plan_options(options, &j.options) || !core_no_more(options))
    return NULL;
  core_array *array = NULL;
  if (!take_lengths(state, module, lengths, &j.lengths, &array))
    return NULL;
  j.epoch = epoch;
  j.listener = (core_listener){.state = state, .interpreter = PyInterpreterState_Get()};
  if (j.rows_for != Py_None) {
    j.options.rows_for = ask_rows;
    j.options.rows_context = &j;
  }
  const int status = core_listened(&j.listener, core_run(state, j.runtime, plan_work, &j));
  Py_XDECREF((PyObject *)array);
  core_plan *self = status == BRIM_OK ? core_new(state, module, CORE_PLAN, runtime, NULL, NULL) : NULL;
  if (!self) {
    brim_plan_free(j.plan);
    return NULL;
  }
  self->runtime = j.runtime;
  self->plan = j.plan;
  self->world_size = j.options.world_size > 1 ? j.options.world_size : 1;
  return (PyObject *)self;
}

/* ---- looking at it ---------------------------------------------------------------------------------------- */

static bool has_part(const core_plan *self, int rank, unsigned long long index) {
  if (rank >= 0 && rank < self->world_size && index < brim_plan_parts(self->plan))
    return true;
  PyErr_SetString(PyExc_IndexError, "there is no such batch");
  return false;
}

/* part(rank, index) -> {step, rank, rows, width, tokens, slots, step_rows} */
static PyObject *part(PyObject *object, PyObject *args) {
  core_plan *self = (core_plan *)object;
  brim_planned p;
  int rank;
  unsigned long long index;
  if (!PyArg_ParseTuple(args, "iK", &rank, &index) || !has_part(self, rank, index))
    return NULL;
  brim_plan_part(self->plan, rank, index, &p);
  PyObject *rows = (PyObject *)core_array_new(self->state, self->module, 'q', p.count, -1, (void *)p.rows, object, true);
  return Py_BuildValue("{sKsisNsisLsLsI}", "step", (unsigned long long)p.step, "rank", (int)p.rank, "rows", rows, "width",
                       (int)p.width, "tokens", (long long)p.tokens, "slots", (long long)p.slots, "step_rows",
                       (unsigned)p.step_rows);
}

static PyObject *ledger(PyObject *object, PyObject *nothing) {
  (void)nothing;
  brim_ledger l;
  brim_plan_ledger(((core_plan *)object)->plan, &l);
  PyObject *dropped = PyList_New(0);
  for (uint64_t i = 0; dropped && i < l.dropped; i++) {
    PyObject *item = Py_BuildValue("(Ks)", (unsigned long long)l.drops[i].row, l.drops[i].reason);
    if (!item || PyList_Append(dropped, item) < 0)
      Py_CLEAR(dropped);
    Py_XDECREF(item);
  }
  return Py_BuildValue("{sKsKsKsKsKsKsKsKsKsNsK}", "rows_read", (unsigned long long)l.rows_read, "rows_planned",
                       (unsigned long long)l.rows_planned, "rows_truncated", (unsigned long long)l.rows_truncated, "tokens",
                       (unsigned long long)l.tokens, "tokens_lost", (unsigned long long)l.tokens_lost, "tokens_repeated",
                       (unsigned long long)l.tokens_repeated, "slots", (unsigned long long)l.slots, "batches",
                       (unsigned long long)l.batches, "steps", (unsigned long long)l.steps, "dropped", dropped, "hash",
                       (unsigned long long)l.hash);
}

static PyObject *get_parts(PyObject *object, void *nothing) {
  (void)nothing;
  return PyLong_FromUnsignedLongLong(brim_plan_parts(((core_plan *)object)->plan));
}

static PyObject *get_steps(PyObject *object, void *nothing) {
  (void)nothing;
  return PyLong_FromUnsignedLongLong(brim_plan_steps(((core_plan *)object)->plan));
}

/* batch(dataset, rank, index, multiple) -> Batch. multiple > 0: the plan was made from a key, not from lengths; widths are
 * multiples of it. */
static PyObject *batch(PyObject *object, PyObject *args) {
  core_plan *self = (core_plan *)object;
  PyObject *dataset;
  int rank, multiple;
  unsigned long long index;
  if (!PyArg_ParseTuple(args, "OiKi", &dataset, &rank, &index, &multiple))
    return NULL;
  core_dataset *of = core_cast(self->state, dataset, CORE_DATASET);
  if (!of || !has_part(self, rank, index))
    return NULL;
  return core_batch_fill(self, of, rank, index, multiple);
}

static void destroy(PyObject *object) {
  brim_plan_free(((core_plan *)object)->plan);
  core_drop(object);
}

static PyMethodDef methods[] = {{"part", part, METH_VARARGS, NULL},
                                {"batch", batch, METH_VARARGS, NULL},
                                {"ledger", ledger, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyGetSetDef members[] = {
    {"parts", get_parts, NULL, NULL, NULL}, {"steps", get_steps, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot slots[] = {{Py_tp_dealloc, destroy}, {Py_tp_methods, methods}, {Py_tp_getset, members}, {0, NULL}};
PyType_Spec core_plan_spec = {.name = "brim._core.Plan",
                              .basicsize = sizeof(core_plan),
                              .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                              .slots = slots};
