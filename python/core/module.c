/* module.c: the module and its state, handles in general, exceptions. */
#include "core.h"

#include <string.h>

/* ---- handles ---------------------------------------------------------------------------------------------- */

void *core_new(core_state *state, PyObject *module, core_type type, PyObject *keep0, PyObject *keep1, PyObject *keep2) {
  PyTypeObject *of = state->types[type];
  core_object *object = (core_object *)((allocfunc)PyType_GetSlot(of, Py_tp_alloc))(of, 0);
  if (!object)
    return NULL;
  object->state = state;
  object->module = Py_NewRef(module);
  object->keep[0] = Py_XNewRef(keep0);
  object->keep[1] = Py_XNewRef(keep1);
  object->keep[2] = Py_XNewRef(keep2);
  return object;
}

void core_drop(void *object) {
  core_object *self = object;
  PyTypeObject *type = Py_TYPE((PyObject *)self);
  PyObject *module = self->module;
  for (int i = 0; i < 3; i++)
    Py_CLEAR(self->keep[i]);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
  Py_XDECREF(module);
}

void *core_cast(core_state *state, PyObject *object, core_type type) {
  if (Py_IS_TYPE(object, state->types[type]))
    return object;
  PyErr_Format(PyExc_TypeError, "expected a %S, not a %S", state->types[type], Py_TYPE(object));
  return NULL;
}

bool core_enter(void *object) {
  core_object *self = object;
  if (self->busy) {
    PyErr_SetString(PyExc_RuntimeError,
                    "this object is in use, by another thread or by what called this function: it serves one at a time");
    return false;
  }
  self->busy = true;
  Py_INCREF((PyObject *)self);
  return true;
}

void core_leave(void *object) {
  ((core_object *)object)->busy = false;
  Py_DECREF((PyObject *)object);
}

/* ---- exceptions ------------------------------------------------------------------------------------------- */

PyObject *core_fail(core_state *state, int code, const brim_error *error) {
  if (PyErr_Occurred())
    return NULL;
  char text[1200];
  brim_error_text(error, text, sizeof text);
  PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  PyObject *file = PyUnicode_DecodeFSDefault(error->file);
  PyObject *exception = message && file ? PyObject_CallFunction(state->raise, "iOOLL", code, message, file,
                                                                (long long)error->line, (long long)error->byte)
                                        : NULL;
  Py_XDECREF(message);
  Py_XDECREF(file);
  if (exception)
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
  Py_XDECREF(exception);
  return NULL;
}

bool core_fail_at(core_state *state, const char *what, Py_ssize_t number) {
  PyObject *type, *value, *traceback;
  if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError))
    return false;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject *message = what ? PyUnicode_FromFormat("%s %zd: %S", what, number, value) : PyObject_Str(value);
  PyObject *exception = message ? PyObject_CallFunction(state->raise, "iOsii", CORE_CELL, message, "", 0, -1) : NULL;
  if (exception)
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
  Py_XDECREF(exception);
  Py_XDECREF(message);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return false;
}

/* ---- the module ------------------------------------------------------------------------------------------- */

static PyObject *version(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  return PyUnicode_FromString(brim_version());
}

static PyMethodDef functions[] = {{"version", version, METH_NOARGS, NULL},
                                  {"runtime", core_runtime_make, METH_VARARGS, NULL},
                                  {"tokenizer", core_tokenizer_make, METH_VARARGS, NULL},
                                  {"encode_batch", core_encode_batch, METH_VARARGS, NULL},
                                  {"labels", core_labels_make, METH_VARARGS, NULL},
                                  {"label_notes", core_label_notes, METH_O, NULL},
                                  {"task_shape", core_task_shape, METH_VARARGS, NULL},
                                  {"task_description", core_task_description, METH_O, NULL},
                                  {"text_columns", core_columns_find, METH_VARARGS, NULL},
                                  {"dataset_load", core_dataset_load, METH_VARARGS, NULL},
                                  {"dataset_texts", core_dataset_texts, METH_VARARGS, NULL},
                                  {"dataset_arrow", core_dataset_arrow, METH_VARARGS, NULL},
                                  {"dataset_encoded", core_dataset_encoded, METH_VARARGS, NULL},
                                  {"dataset_unpack", core_dataset_unpack, METH_VARARGS, NULL},
                                  {"ranks_launched", core_ranks_launched, METH_NOARGS, NULL},
                                  {"ranks_join", core_ranks_join, METH_VARARGS, NULL},
                                  {"ranks_end", core_ranks_end, METH_VARARGS, NULL},
                                  {"hub_find", core_hub_find, METH_VARARGS, NULL},
                                  {"check_outputs", core_check_outputs, METH_VARARGS, NULL},
                                  {"check_numbered", core_check_numbered, METH_VARARGS, NULL},
                                  {"array", core_array_load, METH_VARARGS, NULL},
                                  {"copied", core_array_copied, METH_VARARGS, NULL},
                                  {"batch", core_batch_load, METH_VARARGS, NULL},
                                  {"plan", core_plan_make, METH_VARARGS, NULL},
                                  {"feed", core_feed_make, METH_VARARGS, NULL},
                                  {"model", core_model_make, METH_VARARGS, NULL},
                                  {"describe", core_describe, METH_VARARGS, NULL},
                                  {"prompts", core_prompts_find, METH_VARARGS, NULL},
                                  {"embedder", core_embedder_make, METH_VARARGS, NULL},
                                  {"encoder_folder", core_encoder_folder, METH_VARARGS, NULL},
                                  {"train", core_train, METH_VARARGS, NULL},
                                  {"compare", core_compare, METH_VARARGS, NULL},
                                  {"analyze", core_analyze, METH_VARARGS, NULL},
                                  {"train_folds", core_train_folds, METH_VARARGS, NULL},
                                  {"page", core_page, METH_VARARGS, NULL},
                                  {"picked", core_picked, METH_VARARGS, NULL},
                                  {"kept", core_kept, METH_VARARGS, NULL},
                                  {"keep", core_keep, METH_VARARGS, NULL},
                                  {"report", core_report, METH_VARARGS, NULL},
                                  {"end_calls", core_end_calls, METH_NOARGS, NULL},
                                  {"labels_scan", core_labels_scan, METH_VARARGS, NULL},
                                  {"hold_out", core_hold_out, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

static int execute(PyObject *module) {
  static PyType_Spec *const specs[CORE_TYPES] = {&core_runtime_spec, &core_array_spec,  &core_tokenizer_spec, &core_labels_spec,
                                                 &core_dataset_spec, &core_plan_spec,   &core_batch_spec,     &core_feed_spec,
                                                 &core_model_spec,   &core_judged_spec, &core_embedder_spec};
  core_state *state = core_of(module);
  for (int i = 0; i < CORE_TYPES; i++) {
    state->types[i] = (PyTypeObject *)PyType_FromModuleAndSpec(module, specs[i], NULL);
    if (!state->types[i] || PyModule_AddType(module, state->types[i]) < 0)
      return -1;
  }
  PyObject *errors = PyImport_ImportModule("brim.errors");
  if (!errors)
    return -1;
  state->raise = PyObject_GetAttrString(errors, "make");
  state->request = state->raise ? PyObject_GetAttrString(errors, "Request") : NULL;
  state->end_child = state->request ? PyObject_GetAttrString(errors, "end_child") : NULL;
  Py_DECREF(errors);
  PyObject *json = state->end_child ? PyImport_ImportModule("json") : NULL;
  state->loads = json ? PyObject_GetAttrString(json, "loads") : NULL;
  Py_XDECREF(json);
  return state->loads ? 0 : -1;
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
  core_state *state = core_of(module);
  for (int i = 0; state && i < CORE_TYPES; i++)
    Py_VISIT(state->types[i]);
  if (state)
    Py_VISIT(state->raise);
  if (state)
    Py_VISIT(state->request);
  if (state)
    Py_VISIT(state->end_child);
  if (state)
    Py_VISIT(state->loads);
  return 0;
}

static int clear(PyObject *module) {
  core_state *state = core_of(module);
  for (int i = 0; state && i < CORE_TYPES; i++)
    Py_CLEAR(state->types[i]);
  if (state)
    Py_CLEAR(state->raise);
  if (state)
    Py_CLEAR(state->request);
  if (state)
    Py_CLEAR(state->end_child);
  if (state)
    Py_CLEAR(state->loads);
  return 0;
}

/* CPython from 3.12 on loads a module into another interpreter only if it says that it has nothing in common with its
 * copies; 3.11 refuses a slot that it does not know. These are Py_mod_multiple_interpreters and
 * Py_MOD_PER_INTERPRETER_GIL_SUPPORTED, which the limited API of 3.11 does not name. */
enum { MULTIPLE_INTERPRETERS = 3 };
static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}},
                        later_slots[] = {{Py_mod_exec, execute}, {MULTIPLE_INTERPRETERS, (void *)2}, {0, NULL}};
static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "brim._core",
    .m_doc = "Handles of the C library; see the package's other modules for what to use.",
    .m_size = sizeof(core_state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
  if (Py_Version >= 0x030C0000)
    definition.m_slots = later_slots;
  return PyModuleDef_Init(&definition);
}
