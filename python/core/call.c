/* call.c: long calls that give way to signals, and events for Python functions. */
#include "core.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#define LOOK_FOR_SIGNALS 50000000L /* nanoseconds */

typedef struct call {
  core_work work;
  void *context;
  brim_error error;
  int status;
  bool done;
  pthread_mutex_t mutex;
  pthread_cond_t finished;
} call;

static void *run_call(void *argument) {
  call *c = argument;
  int status = c->work(c->context, &c->error);
  pthread_mutex_lock(&c->mutex);
  c->status = status;
  c->done = true;
  pthread_cond_signal(&c->finished);
  pthread_mutex_unlock(&c->mutex);
  return NULL;
}

/* Without the GIL. True when the work is done, false when it is time to look for signals. */
static bool wait_a_little(call *c, bool forever) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += LOOK_FOR_SIGNALS;
  until.tv_sec += until.tv_nsec / 1000000000L;
  until.tv_nsec %= 1000000000L;
  int status = 0;
  pthread_mutex_lock(&c->mutex);
  while (!c->done && status == 0)
    status = forever ? pthread_cond_wait(&c->finished, &c->mutex) : pthread_cond_timedwait(&c->finished, &c->mutex, &until);
  bool done = c->done;
  pthread_mutex_unlock(&c->mutex);
  return done;
}

/* Returns true if a signal handler raised; the work has then been asked to stop. */
static bool wait_for(call *c, brim_runtime *runtime) {
  bool raised = false;
  PyThreadState *saved = PyEval_SaveThread();
  while (!wait_a_little(c, raised)) {
    PyEval_RestoreThread(saved);
    raised = PyErr_CheckSignals() < 0;
    saved = PyEval_SaveThread();
    if (raised)
      brim_runtime_cancel(runtime);
  }
  PyEval_RestoreThread(saved);
  return raised;
}

static void open_call(call *c, core_work work, void *context) {
  *c = (call){.work = work, .context = context, .error = {.byte = -1}};
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&c->mutex, NULL);
  pthread_cond_init(&c->finished, &clock);
  pthread_condattr_destroy(&clock);
}

int core_run(core_state *state, core_runtime *handle, core_work work, void *context) {
  brim_runtime *runtime = core_use(handle);
  call c;
  open_call(&c, work, context);
  pthread_t thread;
  bool raised = false;
  if (pthread_create(&thread, NULL, run_call, &c) != 0) {
    PyErr_SetString(PyExc_RuntimeError, "no thread can be started");
    c.status = -1;
  } else {
    raised = wait_for(&c, runtime);
    pthread_join(thread, NULL);
  }
  pthread_cond_destroy(&c.finished);
  pthread_mutex_destroy(&c.mutex);
  if (brim_runtime_cancelled(runtime))
    brim_runtime_resume(runtime);
  if (raised || c.status < 0)
    return -1;
  if (c.status == BRIM_OK || c.status == BRIM_END)
    return c.status;
  core_fail(state, c.status, &c.error);
  return -1;
}

/* ---- events ----------------------------------------------------------------------------------------------- */

static PyObject *value_of(const brim_field *field) {
  switch (field->kind) {
  case BRIM_VALUE_INT:
    return PyLong_FromLongLong(field->integer);
  case BRIM_VALUE_REAL:
    return PyFloat_FromDouble(field->real);
  case BRIM_VALUE_BOOL:
    return PyBool_FromLong(field->integer != 0);
  default:
    if (!field->text)
      Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(field->text, (Py_ssize_t)strlen(field->text), "replace");
  }
}

static PyObject *fields_of(const brim_event *event) {
  PyObject *fields = PyDict_New();
  for (int i = 0; fields && i < event->field_count; i++) {
    PyObject *value = value_of(&event->fields[i]);
    if (!value || PyDict_SetItemString(fields, event->fields[i].name, value) < 0)
      Py_CLEAR(fields);
    Py_XDECREF(value);
  }
  return fields;
}

int core_event(void *context, const brim_event *event) {
  core_listener *listener = context;
  if (!listener->function)
    return BRIM_OK;
  PyThreadState *state = PyThreadState_New(listener->interpreter);
  PyEval_RestoreThread(state);
  int status = BRIM_OK;
  bool unused, *telling = listener->telling ? listener->telling : &unused;
  PyObject *fields = fields_of(event);
  *telling = true;
  PyObject *result = fields ? PyObject_CallFunction(listener->function, "sO", event->kind, fields) : NULL;
  const bool failed = !result, stop = failed || result == listener->state->stop;
  Py_XDECREF(result);
  Py_XDECREF(fields);
  *telling = false;
  if (failed && !listener->type)
    PyErr_Fetch(&listener->type, &listener->value, &listener->traceback);
  else
    PyErr_Clear();
  if (stop)
    status = BRIM_E_CANCELLED;
  PyThreadState_Clear(state);
  PyEval_SaveThread();
  PyThreadState_Delete(state);
  return status;
}

int core_listened(core_listener *listener, int status) {
  if (!listener->type)
    return status;
  PyErr_Clear();
  PyErr_Restore(listener->type, listener->value, listener->traceback);
  *listener = (core_listener){0};
  return -1;
}
