/* batch.c: what a batch holds: arrays that share its memory, and padded or 64-bit copies as torch wants them. */
#include "blocks.h"

#include <structmember.h>

#include <string.h>

static core_batch *new_batch(core_state *state, PyObject *module, PyObject *keep) {
  return core_new(state, module, CORE_BATCH, keep, NULL, NULL);
}

/* What a part that was planned from a key really takes. */
static void measure(brim_planned *part, const brim_dataset *dataset, int multiple) {
  const int32_t *lengths = brim_dataset_text_lengths(dataset);
  const uint64_t *firsts = brim_dataset_firsts(dataset);
  part->tokens = 0;
  part->texts = 0;
  part->cut = part->longest = 0;
  for (uint32_t i = 0; i < part->count && part->rows[i] < brim_dataset_rows(dataset); i++) {
    const uint64_t row = part->rows[i], end = firsts ? firsts[row + 1] : row + 1;
    for (uint64_t t = firsts ? firsts[row] : row; t < end; t++, part->texts++) {
      part->tokens += lengths[t];
      part->longest = lengths[t] > part->longest ? lengths[t] : part->longest;
    }
  }
  if (part->width)
    part->width = (part->longest + multiple - 1) / multiple * multiple;
  part->slots = part->width ? (int64_t)part->width * part->texts : part->tokens;
}

PyObject *core_batch_fill(core_plan *plan, core_dataset *dataset, int32_t rank, uint64_t index, int multiple) {
  core_batch *self = new_batch(plan->state, plan->module, (PyObject *)plan->runtime);
  if (!self)
    return NULL;
  brim_planned part;
  brim_error error;
  brim_plan_part(plan->plan, rank, index, &part);
  if (multiple > 0)
    measure(&part, dataset->dataset, multiple);
  int status = brim_batch_fill(&self->batch, core_use(plan->runtime), dataset->dataset, &part, &error);
  if (status == BRIM_OK)
    return (PyObject *)self;
  Py_DECREF((PyObject *)self);
  return core_fail(plan->state, status, &error);
}

/* A feed reuses its batch, so what Python gets is a copy. */
PyObject *core_batch_copy(core_state *state, PyObject *module, brim_runtime *runtime, const brim_batch *from) {
  core_batch *self = new_batch(state, module, NULL);
  brim_error error;
  if (!self)
    return NULL;
  const int status = brim_batch_copy(&self->batch, runtime, from, &error);
  if (status == BRIM_OK)
    return (PyObject *)self;
  Py_DECREF((PyObject *)self);
  return core_fail(state, status, &error);
}

static Py_ssize_t units_of(const brim_batch *batch, const brim_block_shape *shape) {
  return shape->per == BRIM_PER_ROW ? batch->row_count : shape->per == BRIM_PER_TEXT ? batch->count : (Py_ssize_t)batch->tokens;
}

/* ---- pickle ----------------------------------------------------------------------------------------------- */

typedef struct parts {
  core_array *ids, *types, *offsets, *labels, *rows, *places, *token_labels, *firsts; /* the last two may be NULL */
  int32_t label_width, width;
  int64_t slots;
  unsigned long long step, step_rows;
} parts;

static bool arrays_agree(const parts *p) {
  const int32_t *at = p->offsets->data, *firsts = p->firsts ? p->firsts->data : NULL;
  const Py_ssize_t n = p->offsets->shape[0] - 1, m = firsts ? p->firsts->shape[0] - 1 : n;
  bool fine = n >= 0 && at[0] == 0 && at[n] == p->ids->shape[0] && p->types->shape[0] == p->ids->shape[0] && p->label_width > 0 &&
              p->labels->shape[0] == m * p->label_width && p->rows->shape[0] == m && p->places->shape[0] == n && p->width >= 0 &&
              (!p->token_labels || p->token_labels->shape[0] == p->ids->shape[0]) && m >= 0 &&
              (!firsts || (firsts[0] == 0 && firsts[m] == n));
  for (Py_ssize_t i = 0; fine && i < n; i++)
    fine = at[i] <= at[i + 1] && (!p->width || at[i + 1] - at[i] <= p->width);
  for (Py_ssize_t i = 0; fine && firsts && i < m; i++)
    fine = firsts[i] < firsts[i + 1];
  if (!fine)
    PyErr_SetString(PyExc_ValueError, "these are no parts of a batch");
  return fine;
}

/* The label's block, and those besides it. */
static bool add_blocks(brim_batch *batch, const core_blocks *blocks) {
  const bool of_tokens = batch->token_labels != NULL;
  batch->block_count = 1 + blocks->count;
  batch->shapes[0] = (brim_block_shape){.name = "label",
                                        .per = of_tokens ? BRIM_PER_TOKEN : BRIM_PER_ROW,
                                        .integers = of_tokens,
                                        .width = of_tokens ? 1 : batch->label_width};
  batch->blocks[0] = of_tokens ? (void *)batch->token_labels : (void *)batch->labels;
  for (int b = 1; b < batch->block_count; b++) {
    const brim_block_shape *shape = &batch->shapes[b];
    const core_array *values = blocks->values[b - 1];
    batch->shapes[b] = blocks->columns[b - 1].shape;
    if (!values || shape->width < 1 || values->shape[0] != units_of(batch, shape) * shape->width) {
      PyErr_SetString(PyExc_ValueError, "these are no parts of a batch");
      return false;
    }
    batch->blocks[b] = values->data;
  }
  return true;
}

/* batch(runtime, ids, type_ids, offsets, labels (flat), rows, places, token_labels or None, firsts or None, label_width, width,
 * slots, step, step_rows[, blocks: [(name, None, per, integers, width, numbers, [0, numbers])]]) */
PyObject *core_batch_load(PyObject *module, PyObject *args) {
  static const char formats[] = "iBifqiii";
  enum { ARRAYS = sizeof formats - 1, MAY_BE_NONE = 6 };
  PyObject *runtime, *given[ARRAYS], *more = NULL, *result = NULL;
  core_array *made[ARRAYS] = {0};
  core_blocks blocks = {0};
  parts p;
  long long slots;
  if (!PyArg_ParseTuple(args, "OOOOOOOOOiiLKK|O", &runtime, &given[0], &given[1], &given[2], &given[3], &given[4], &given[5],
                        &given[6], &given[7], &p.label_width, &p.width, &slots, &p.step, &p.step_rows, &more))
    return NULL;
  core_state *state = core_of(module);
  core_runtime *of = core_cast(state, runtime, CORE_RUNTIME);
  for (int i = 0; of && i < ARRAYS && !PyErr_Occurred(); i++)
    made[i] = given[i] == Py_None && i >= MAY_BE_NONE ? NULL : core_array_from(state, module, given[i], formats[i]);
  p.ids = made[0], p.types = made[1], p.offsets = made[2], p.labels = made[3], p.rows = made[4], p.places = made[5];
  p.token_labels = made[6], p.firsts = made[7];
  if (of && !PyErr_Occurred() && arrays_agree(&p) && (!more || core_blocks_read(state, module, more, &blocks))) {
    brim_batch from = {.count = (int32_t)(p.offsets->shape[0] - 1),
                       .row_count = (int32_t)p.rows->shape[0],
                       .firsts = p.firsts ? p.firsts->data : NULL,
                       .width = p.width,
                       .tokens = p.ids->shape[0],
                       .slots = slots,
                       .ids = p.ids->data,
                       .type_ids = p.types->data,
                       .offsets = p.offsets->data,
                       .label_width = p.label_width,
                       .labels = p.labels->data,
                       .token_labels = p.token_labels ? p.token_labels->data : NULL,
                       .rows = p.rows->data,
                       .places = p.places->data,
                       .step_rows = (uint32_t)p.step_rows,
                       .step = p.step};
    result = add_blocks(&from, &blocks) ? core_batch_copy(state, module, core_use(of), &from) : NULL;
    if (result)
      ((core_batch *)result)->keep[0] = Py_NewRef(runtime);
  }
  core_blocks_free(&blocks);
  for (int i = 0; i < ARRAYS; i++)
    Py_XDECREF((PyObject *)made[i]);
  return result;
}

/* ---- views ------------------------------------------------------------------------------------------------ */

/* An array of the batch, as Python sees it. */
typedef struct view {
  char format;    /* of an item, as in the struct module */
  size_t at;      /* where brim_batch has the pointer */
  bool of_tokens; /* an item a token; else one a text */
  bool of_rows;   /* or one a row */
  int more;       /* items besides these */
} view;

static PyObject *get_view(PyObject *object, void *closure) {
  core_batch *self = (core_batch *)object;
  const view *v = closure;
  const brim_batch *b = &self->batch;
  const Py_ssize_t length = (Py_ssize_t)(v->of_tokens ? b->tokens : v->of_rows ? b->row_count : b->count) + v->more;
  void *data = *(void **)((char *)&self->batch + v->at);
  return (PyObject *)core_array_new(self->state, self->module, v->format, length, -1, data, object, false);
}

/* [rows], or [rows, outputs] where a row has several. */
static PyObject *get_labels(PyObject *object, void *nothing) {
  core_batch *self = (core_batch *)object;
  (void)nothing;
  if (!self->batch.labels) { /* they are of tokens: no row has one */
    core_array *none = CORE_NEW_ARRAY(self, 'f', self->batch.row_count, -1);
    for (int32_t i = 0; none && i < self->batch.row_count; i++)
      ((float *)none->data)[i] = __builtin_nanf("");
    return (PyObject *)none;
  }
  return (PyObject *)core_array_new(self->state, self->module, 'f', self->batch.row_count,
                                    self->batch.label_width > 1 ? self->batch.label_width : -1, self->batch.labels, object,
                                    false);
}

/* [(name, per, integers, width, array, [units, width])] of the blocks besides the label */
static PyObject *get_blocks(PyObject *object, void *nothing) {
  core_batch *self = (core_batch *)object;
  const brim_batch *batch = &self->batch;
  PyObject *list = PyList_New(0);
  (void)nothing;
  for (int b = 1; list && b < batch->block_count; b++) {
    const brim_block_shape *shape = &batch->shapes[b];
    core_array *array = core_array_new(self->state, self->module, shape->integers ? 'i' : 'f', units_of(batch, shape),
                                       shape->width, batch->blocks[b], object, false);
    PyObject *item = Py_BuildValue("(siiiN)", shape->name, (int)shape->per, (int)shape->integers, (int)shape->width, array);
    if (!item || PyList_Append(list, item) < 0)
      Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

/* [rows + 1], or None where each row is one text. */
static PyObject *get_firsts(PyObject *object, void *nothing) {
  core_batch *self = (core_batch *)object;
  (void)nothing;
  if (!self->batch.firsts)
    Py_RETURN_NONE;
  return (PyObject *)core_array_new(self->state, self->module, 'i', (Py_ssize_t)self->batch.row_count + 1, -1, self->batch.firsts,
                                    object, false);
}

/* [tokens], or None where labels are of rows. */
static PyObject *get_token_labels(PyObject *object, void *nothing) {
  core_batch *self = (core_batch *)object;
  (void)nothing;
  if (!self->batch.token_labels)
    Py_RETURN_NONE;
  return (PyObject *)core_array_new(self->state, self->module, 'i', (Py_ssize_t)self->batch.tokens, -1, self->batch.token_labels,
                                    object, false);
}

/* ---- copies ----------------------------------------------------------------------------------------------- */

static int32_t longest(const brim_batch *b) {
  return b->count ? brim_batch_width(b) : 0;
}

/* padded(width, pad_id) -> (input_ids, attention_mask, token_type_ids), 64 bits, [count, width]; width 0: the batch's own */
static PyObject *padded(PyObject *object, PyObject *args) {
  core_batch *self = (core_batch *)object;
  const brim_batch *b = &self->batch;
  int width, pad_id;
  if (!PyArg_ParseTuple(args, "ii", &width, &pad_id))
    return NULL;
  if (width < longest(b)) {
    if (width != 0)
      return PyErr_Format(PyExc_ValueError, "the batch is %d tokens wide", (int)longest(b));
    width = longest(b);
  }
  core_array *ids = CORE_NEW_ARRAY(self, 'q', b->count, width), *mask = CORE_NEW_ARRAY(self, 'q', b->count, width),
             *types = CORE_NEW_ARRAY(self, 'q', b->count, width);
  for (int32_t r = 0; ids && mask && types && r < b->count; r++) {
    int64_t *id = (int64_t *)ids->data + (int64_t)r * width, *seen = (int64_t *)mask->data + (int64_t)r * width,
            *type = (int64_t *)types->data + (int64_t)r * width;
    const int32_t from = b->offsets[r], length = b->offsets[r + 1] - from;
    for (int32_t i = 0; i < width; i++) {
      bool real = i < length;
      id[i] = real ? b->ids[from + i] : pad_id;
      seen[i] = real;
      type[i] = real ? b->type_ids[from + i] : 0;
    }
  }
  return Py_BuildValue("(NNN)", ids, mask, types);
}

/* flat(pad_id) -> (input_ids, token_type_ids, position_ids), 64 bits, [1, tokens]. Positions begin at 0; pad_id >= 0: at pad_id +
 * 1, and that id, which has no place of its own, is at pad_id, as RoBERTa numbers them. */
static PyObject *flat(PyObject *object, PyObject *args) {
  core_batch *self = (core_batch *)object;
  const brim_batch *b = &self->batch;
  int pad_id;
  if (!PyArg_ParseTuple(args, "i", &pad_id))
    return NULL;
  core_array *ids = CORE_NEW_ARRAY(self, 'q', 1, b->tokens), *types = CORE_NEW_ARRAY(self, 'q', 1, b->tokens),
             *positions = CORE_NEW_ARRAY(self, 'q', 1, b->tokens);
  for (int32_t r = 0; ids && types && positions && r < b->count; r++) {
    int64_t next = pad_id < 0 ? 0 : pad_id + 1;
    for (int32_t i = b->offsets[r]; i < b->offsets[r + 1]; i++) {
      ((int64_t *)ids->data)[i] = b->ids[i];
      ((int64_t *)types->data)[i] = b->type_ids[i];
      ((int64_t *)positions->data)[i] = b->ids[i] == pad_id ? pad_id : next++;
    }
  }
  return Py_BuildValue("(NNN)", ids, types, positions);
}

/* classes() -> labels as 64-bit integers, -100 (which torch's losses pass over) where there is none */
static PyObject *classes(PyObject *object, PyObject *nothing) {
  core_batch *self = (core_batch *)object;
  (void)nothing;
  core_array *out = CORE_NEW_ARRAY(self, 'q', self->batch.row_count, -1);
  for (int32_t i = 0; out && i < self->batch.row_count; i++) {
    float label = self->batch.labels ? self->batch.labels[i] : __builtin_nanf("");
    ((int64_t *)out->data)[i] = label == label ? (int64_t)label : -100;
  }
  return (PyObject *)out;
}

/* token_classes(width) -> labels of tokens, 64 bits: [count, width], BRIM_NO_LABEL on padding; width -1: [1, tokens] */
static PyObject *token_classes(PyObject *object, PyObject *args) {
  core_batch *self = (core_batch *)object;
  const brim_batch *b = &self->batch;
  int width;
  if (!PyArg_ParseTuple(args, "i", &width))
    return NULL;
  const bool joined = width < 0;
  core_array *out = joined ? CORE_NEW_ARRAY(self, 'q', 1, b->tokens) : CORE_NEW_ARRAY(self, 'q', b->count, width);
  for (int32_t r = 0; out && r < b->count; r++) {
    const int32_t from = b->offsets[r], length = b->offsets[r + 1] - from;
    int64_t *row = (int64_t *)out->data + (joined ? (int64_t)from : (int64_t)r * width);
    for (int32_t i = 0; i < (joined ? length : width); i++)
      row[i] = i < length ? b->token_labels[from + i] : BRIM_NO_LABEL;
  }
  return (PyObject *)out;
}

static void destroy(PyObject *object) {
  brim_batch_free(&((core_batch *)object)->batch);
  core_drop(object);
}

static PyMethodDef methods[] = {{"padded", padded, METH_VARARGS, NULL},
                                {"flat", flat, METH_VARARGS, NULL},
                                {"classes", classes, METH_NOARGS, NULL},
                                {"token_classes", token_classes, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
#define VIEW(name, ...)                                                                                                          \
  {                                                                                                                              \
    #name, get_view, NULL, NULL, &(view) {                                                                                       \
      .at = offsetof(brim_batch, name), __VA_ARGS__                                                                              \
    }                                                                                                                            \
  }
static PyGetSetDef arrays[] = {VIEW(ids, .format = 'i', .of_tokens = true),
                               VIEW(type_ids, .format = 'B', .of_tokens = true),
                               VIEW(offsets, .format = 'i', .more = 1),
                               VIEW(rows, .format = 'q', .of_rows = true),
                               VIEW(places, .format = 'i'),
                               {"blocks", get_blocks, NULL, NULL, NULL},
                               {"firsts", get_firsts, NULL, NULL, NULL},
                               {"labels", get_labels, NULL, NULL, NULL},
                               {"token_labels", get_token_labels, NULL, NULL, NULL},
                               {NULL, NULL, NULL, NULL, NULL}};
#define NUMBER(name, type) {#name, type, offsetof(core_batch, batch.name), READONLY, NULL}
static PyMemberDef numbers[] = {NUMBER(count, T_INT),       NUMBER(width, T_INT),      NUMBER(tokens, T_LONGLONG),
                                NUMBER(slots, T_LONGLONG),  NUMBER(step, T_ULONGLONG), NUMBER(step_rows, T_UINT),
                                NUMBER(label_width, T_INT), NUMBER(row_count, T_INT),  {NULL, 0, 0, 0, NULL}};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, destroy}, {Py_tp_methods, methods}, {Py_tp_getset, arrays}, {Py_tp_members, numbers}, {0, NULL}};
PyType_Spec core_batch_spec = {.name = "brim._core.Batch",
                               .basicsize = sizeof(core_batch),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               .slots = slots};
