/* call.c: long calls that give way to signals, and events for Python functions. */
#include "base/thread.h"
#include "core.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_FOR_SIGNALS 50000000L /* nanoseconds */

typedef struct core_call {
  struct core_call *next;
  brim_runtime *runtime;
  pid_t pid; /* a child of fork has the list, and not the threads */
  core_work work;
  void *context;
  brim_error error;
  int status;
  bool done;
  pthread_mutex_t mutex;
  pthread_cond_t finished;
} call;

/* ---- those that are under way ----------------------------------------------------------------------------- */

static bool begin_call(core_state *state, call *c, brim_runtime *runtime) {
  if (state->closing) {
    PyErr_SetString(PyExc_RuntimeError, "the interpreter ends: no call begins any more");
    return false;
  }
  c->runtime = runtime, c->pid = getpid(), c->next = state->calls;
  state->calls = c;
  return true;
}

static void end_call(core_state *state, const call *c) {
  for (call **at = &state->calls; *at; at = &(*at)->next)
    if (*at == c) {
      *at = c->next;
      return;
    }
}

/* How many of this process there are, all of which are asked to stop. */
static int cancel_calls(const core_state *state) {
  int count = 0;
  for (const call *c = state->calls; c; c = c->next)
    if (c->pid == getpid()) {
      brim_runtime_cancel(c->runtime);
      count++;
    }
  return count;
}

PyObject *core_end_calls(PyObject *module, PyObject *nothing) {
  static const struct timespec pause = {.tv_nsec = 5000000};
  core_state *state = core_of(module);
  (void)nothing;
  state->closing = true;
  while (cancel_calls(state) > 0) {
    Py_BEGIN_ALLOW_THREADS nanosleep(&pause, NULL);
    Py_END_ALLOW_THREADS if (PyErr_CheckSignals() < 0) return NULL;
  }
  Py_RETURN_NONE;
}

/* ---- one -------------------------------------------------------------------------------------------------- */

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

/* With the GIL, in a child of fork that has come back out of what Python was called for: the work's threads are the parent's. It
 * ends as errors.py says, by an exception that is set or without one. */
static _Noreturn void end_child(const core_state *state) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (type)
    PyErr_NormalizeException(&type, &value, &traceback);
  if (value && traceback)
    PyException_SetTraceback(value, traceback);
  PyObject_CallFunction(state->end_child, "O", value ? value : Py_None);
  _exit(1);
}

/* Returns true if a signal handler raised; the work has then been asked to stop. */
static bool wait_for(const core_state *state, call *c, brim_runtime *runtime) {
  bool raised = false;
  PyThreadState *saved = PyEval_SaveThread();
  while (!wait_a_little(c, raised)) {
    PyEval_RestoreThread(saved);
    raised = PyErr_CheckSignals() < 0;
    if (c->pid != getpid()) /* a handler forked */
      end_child(state);
    saved = PyEval_SaveThread();
    if (raised)
      brim_runtime_cancel(runtime);
  }
  PyEval_RestoreThread(saved);
  return raised;
}

/* In separate memory: the list of calls points to it. NULL with an exception. */
static call *open_call(core_state *state, brim_runtime *runtime, core_work work, void *context) {
  call *c = PyMem_Calloc(1, sizeof *c);
  if (!c) {
    PyErr_NoMemory();
    return NULL;
  }
  *c = (call){.work = work, .context = context, .error = {.byte = -1}};
  if (!begin_call(state, c, runtime)) {
    PyMem_Free(c);
    return NULL;
  }
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&c->mutex, NULL);
  pthread_cond_init(&c->finished, &clock);
  pthread_condattr_destroy(&clock);
  return c;
}

static void close_call(core_state *state, call *c) {
  pthread_cond_destroy(&c->finished);
  pthread_mutex_destroy(&c->mutex);
  if (brim_runtime_cancelled(c->runtime))
    brim_runtime_resume(c->runtime);
  end_call(state, c);
}

/* Its status; -1: an exception is set. */
static int outcome_of(core_state *state, const call *c, bool raised) {
  if (raised || c->status < 0)
    return -1;
  if (c->status == BRIM_OK || c->status == BRIM_END)
    return c->status;
  core_fail(state, c->status, &c->error);
  return -1;
}

int core_run(core_state *state, core_runtime *handle, core_work work, void *context) {
  brim_runtime *runtime = core_use(handle);
  call *c = open_call(state, runtime, work, context);
  pthread_t thread;
  bool raised = false;
  if (!c)
    return -1;
  if (brim_thread_create(&thread, run_call, c) != 0) {
    PyErr_SetString(PyExc_RuntimeError, "no thread can be started");
    c->status = -1;
  } else {
    raised = wait_for(state, c, runtime);
    pthread_join(thread, NULL);
  }
  close_call(state, c);
  const int status = outcome_of(state, c, raised);
  PyMem_Free(c);
  return status;
}

/* ---- events ----------------------------------------------------------------------------------------------- */

static PyObject *value_of(const core_state *state, const brim_field *field) {
  switch (field->kind) {
  case BRIM_VALUE_JSON:
    return PyObject_CallFunction(state->loads, "s", field->text);
  case BRIM_VALUE_INT:
    return PyLong_FromLongLong(field->integer);
  case BRIM_VALUE_UNSIGNED:
    return PyLong_FromUnsignedLongLong((unsigned long long)field->integer);
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

static PyObject *fields_of(const core_state *state, const brim_event *event) {
  PyObject *fields = PyDict_New();
  for (int i = 0; fields && i < event->field_count; i++) {
    PyObject *value = value_of(state, &event->fields[i]);
    if (!value || PyDict_SetItemString(fields, event->fields[i].name, value) < 0)
      Py_CLEAR(fields);
    Py_XDECREF(value);
  }
  return fields;
}

PyThreadState *core_enter_python(core_listener *listener) {
  PyThreadState *thread = PyThreadState_New(listener->interpreter);
  if (!thread) {
    listener->lacking = true;
    return NULL;
  }
  PyEval_RestoreThread(thread);
  listener->pid = (long)getpid();
  if (listener->telling)
    *listener->telling = true;
  return thread;
}

bool core_leave_python(core_listener *listener, PyThreadState *thread) {
  if (listener->pid != (long)getpid())
    end_child(listener->state);
  const bool failed = PyErr_Occurred() != NULL;
  if (listener->telling)
    *listener->telling = false;
  if (failed && !listener->type)
    PyErr_Fetch(&listener->type, &listener->value, &listener->traceback);
  else
    PyErr_Clear();
  PyThreadState_Clear(thread);
  PyEval_SaveThread();
  PyThreadState_Delete(thread);
  return !failed;
}

/* What a function's result asks for, as errors.py numbers it. */
static int request_of(const core_listener *listener, PyObject *result) {
  enum { STOP = 1, EVALUATE = 2, SAVE = 4 };
  if (!result || PyObject_IsInstance(result, listener->state->request) != 1)
    return BRIM_OK;
  PyObject *number = PyObject_GetAttrString(result, "flags");
  const long flags = number ? PyLong_AsLong(number) : 0;
  Py_XDECREF(number);
  if (flags & STOP)
    return BRIM_E_CANCELLED;
  return !listener->trains ? BRIM_OK : (flags & EVALUATE ? BRIM_DO_EVALUATE : 0) | (flags & SAVE ? BRIM_DO_SAVE : 0);
}

int core_event(void *context, const brim_event *event) {
  core_listener *listener = context;
  if (!listener->function)
    return BRIM_OK;
  PyThreadState *thread = core_enter_python(listener);
  if (!thread)
    return BRIM_E_CANCELLED;
  PyObject *fields = fields_of(listener->state, event);
  PyObject *result = fields ? PyObject_CallFunction(listener->function, "sO", event->kind, fields) : NULL;
  const int status = request_of(listener, result);
  Py_XDECREF(result);
  Py_XDECREF(fields);
  return core_leave_python(listener, thread) ? status : BRIM_E_CANCELLED;
}

int core_listened(core_listener *listener, int status) {
  if (!listener->type && !listener->lacking)
    return status;
  PyErr_Clear();
  if (!listener->type) {
    PyErr_NoMemory();
    return -1;
  }
  PyErr_Restore(listener->type, listener->value, listener->traceback);
  *listener = (core_listener){0};
  return -1;
}
