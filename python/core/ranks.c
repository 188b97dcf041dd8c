/* ranks.c: the processes of an MPI launcher. They are joined once, when this one first trains, until it ends. */
#include "core.h"

#include "brim/dist.h"

/* Of the process, as MPI is. */
static brim_ranks *ranks;
static brim_runtime *own_runtime;

static int open_ranks(double timeout, brim_error *error) {
  int status = brim_runtime_new(&(brim_runtime_options){.threads = 1}, &own_runtime, error);
  if (status == BRIM_OK)
    status = brim_ranks_open_process(own_runtime, timeout, &ranks, error);
  if (status != BRIM_OK && own_runtime)
    brim_runtime_free(own_runtime), own_runtime = NULL;
  return status;
}

brim_group core_group(void) {
  return ranks ? *brim_ranks_group(ranks) : brim_group_single();
}

/* ranks_launched() -> whether a launcher has started several processes */
PyObject *core_ranks_launched(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  const brim_launch launch = brim_launch_find();
  return PyBool_FromLong(launch.launcher && launch.world_size != 1);
}

/* ranks_join(seconds without a sign of life, 0: 20) -> (rank, number of ranks) */
PyObject *core_ranks_join(PyObject *module, PyObject *args) {
  double timeout;
  brim_error error;
  if (!PyArg_ParseTuple(args, "d", &timeout))
    return NULL;
  if (!ranks) {
    PyThreadState *saved = PyEval_SaveThread();
    const int status = open_ranks(timeout, &error);
    PyEval_RestoreThread(saved);
    if (status != BRIM_OK)
      return core_fail(core_of(module), status, &error);
  }
  return Py_BuildValue("(ii)", (int)core_group().rank, (int)core_group().world_size);
}

/* ranks_end(why this process fails, or None) -> False: it should end at once, another rank has failed */
PyObject *core_ranks_end(PyObject *module, PyObject *args) {
  const char *reason;
  brim_error error;
  bool speaks, whole = true;
  (void)module;
  if (!PyArg_ParseTuple(args, "z", &reason))
    return NULL;
  if (ranks) {
    int status = reason ? brim_error_set(&error, BRIM_E_INTERNAL, "%.500s", reason) : BRIM_OK;
    PyThreadState *saved = PyEval_SaveThread();
    status = brim_ranks_settle(ranks, status, &error, &speaks);
    if (!reason && status != BRIM_OK && speaks && core_group().rank > 0) /* rank 0 was lost: there is nobody else to say it */
      fprintf(stderr, "brim: %s\n", error.message);
    whole = brim_ranks_close(ranks) && status == BRIM_OK;
    PyEval_RestoreThread(saved);
    ranks = NULL;
  }
  return PyBool_FromLong(whole);
}
