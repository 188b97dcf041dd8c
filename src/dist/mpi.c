/* mpi.c: finds MPI when the program runs. */
#include "dist/mpi.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"

enum { REST = 100000 }; /* microseconds in which the last message has come to all */

static const char *const call_names[MPI_CALLS] = {
    [MPI_CALL_INIT_THREAD] = "MPI_Init_thread",
    [MPI_CALL_INITIALIZED] = "MPI_Initialized",
    [MPI_CALL_FINALIZED] = "MPI_Finalized",
    [MPI_CALL_QUERY_THREAD] = "MPI_Query_thread",
    [MPI_CALL_FINALIZE] = "MPI_Finalize",
    [MPI_CALL_COMM_DUP] = "MPI_Comm_dup",
    [MPI_CALL_COMM_FREE] = "MPI_Comm_free",
    [MPI_CALL_COMM_RANK] = "MPI_Comm_rank",
    [MPI_CALL_COMM_SIZE] = "MPI_Comm_size",
    [MPI_CALL_COMM_SET_ERRHANDLER] = "MPI_Comm_set_errhandler",
    [MPI_CALL_ISEND] = "MPI_Isend",
    [MPI_CALL_IRECV] = "MPI_Irecv",
    [MPI_CALL_TEST] = "MPI_Test",
    [MPI_CALL_VERSION] = "MPI_Get_library_version",
};

/* ---- where it is ------------------------------------------------------------------------------------------ */

/* By what the launcher is. The standard's interface comes first where there is a choice. */
static const char *const open_mpi_files[] = {"libmpi.so.40", NULL};
static const char *const mpich_files[] = {"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpich.so.12", "libmpi.so.12", NULL};
static const char *const any_files[] = {"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so.40",
                                        "libmpich.so.12",  "libmpi.so.12",    NULL};

static const char *const *files_of(const brim_launch *launch) {
  if (launch->launcher && strcmp(launch->launcher, "Open MPI") == 0)
    return open_mpi_files;
  return launch->launcher && strcmp(launch->launcher, "MPICH") == 0 ? mpich_files : any_files;
}

static void *open_library(const char *path, int flags) {
  return dlopen(path, RTLD_NOW | RTLD_GLOBAL | flags); /* parts of Open MPI look for its symbols among the global ones */
}

/* The program has it already: mpi4py, for example. */
static void *find_loaded(void) {
  void *library = NULL;
  for (int i = 0; any_files[i] && !library; i++)
    library = open_library(any_files[i], RTLD_NOLOAD);
  return library;
}

/* "/usr/lib/mpich/bin/hydra_pmi_proxy" is a launcher's: its library is in the same installation. */
static bool is_launcher(const char *program) {
  static const char *const names[] = {"mpirun", "mpiexec", "orterun", "orted", "prterun", "prted", "prte", "hydra_pmi_proxy"};
  const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(name, names[i], strlen(names[i])) == 0)
      return true;
  return false;
}

static pid_t parent_of(pid_t process) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
  FILE *file = fopen(path, "re");
  int parent = 0;
  if (!file)
    return 0;
  const char *end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL; /* the name may hold anything */
  if (!end || sscanf(end, ") %*c %d", &parent) != 1)
    parent = 0;
  fclose(file);
  return parent;
}

/* The folder of the installation whose launcher is among the parents of this process. */
static bool find_launcher(char *folder, size_t size) {
  enum { MOST_PARENTS = 8 };
  char path[64], program[PATH_MAX];
  pid_t process = getppid();
  for (int i = 0; i < MOST_PARENTS && process > 1; i++, process = parent_of(process)) {
    snprintf(path, sizeof path, "/proc/%d/exe", (int)process);
    const ssize_t length = readlink(path, program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    if (length <= 0 || !is_launcher(program))
      continue;
    *strrchr(program, '/') = 0; /* bin */
    char *slash = strrchr(program, '/');
    if (!slash)
      return false;
    *slash = 0;
    return snprintf(folder, size, "%s", program) < (int)size;
  }
  return false;
}

static void *find_beside(const char *folder, const char *const *files) {
  static const char *const folders[] = {"lib", "lib64", "lib/release"};
  char path[PATH_MAX];
  void *library = NULL;
  for (int i = 0; files[i] && !library; i++)
    for (size_t k = 0; k < sizeof folders / sizeof *folders && !library; k++)
      if (snprintf(path, sizeof path, "%s/%s/%s", folder, folders[k], files[i]) < (int)sizeof path)
        library = open_library(path, 0);
  return library;
}

static int no_library(const brim_launch *launch, const char *const *files, brim_error *err) {
  char names[160] = "";
  size_t used = 0;
  for (int i = 0; files[i]; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", files[i]);
  return brim_error_set(err, BRIM_E_UNSUPPORTED,
                        "%s has started this process, but none of its libraries can be loaded (%s): set BRIM_MPI to the path of "
                        "the library, or to none to run alone",
                        launch->launcher ? launch->launcher : "a launcher", names);
}

static int find_library(const char *given, void **out, brim_error *err) {
  const brim_launch launch = brim_launch_find();
  const char *named = given ? given : getenv("BRIM_MPI"), *intel = getenv("I_MPI_ROOT");
  const char *const *files = files_of(&launch);
  char folder[PATH_MAX];
  if (named && *named && strcmp(named, "none") != 0) {
    *out = open_library(named, 0);
    return *out ? BRIM_OK : brim_error_set(err, BRIM_E_UNSUPPORTED, "BRIM_MPI: the MPI library cannot be loaded: %s", dlerror());
  }
  *out = find_loaded();
  if (!*out && find_launcher(folder, sizeof folder))
    *out = find_beside(folder, files);
  if (!*out && intel)
    *out = find_beside(intel, files);
  for (int i = 0; files[i] && !*out; i++)
    *out = open_library(files[i], 0);
  return *out ? BRIM_OK : no_library(&launch, files, err);
}

/* ---- what it is ------------------------------------------------------------------------------------------- */

/* Values of the headers: mpi.h of MPICH, and chapter 20 (tables of the ABI) of the standard, 5.0. */
static void set_mpich(brim_mpi *mpi) {
  mpi->kind = &brim_mpi_numbers;
  mpi->all.number = 0x44000000;
  mpi->byte.number = 0x4c00010d;
  mpi->errors_return.number = 0x54000001;
  mpi->status_ignore = (void *)(intptr_t)1;
  mpi->serialized = 2;
}

static void set_standard(brim_mpi *mpi) {
  mpi->kind = &brim_mpi_pointers;
  mpi->all.pointer = (void *)(intptr_t)0x101;
  mpi->byte.pointer = (void *)(intptr_t)0x247;
  mpi->errors_return.pointer = (void *)(intptr_t)0x143;
  mpi->serialized = 2048;
}

static bool set_open_mpi(brim_mpi *mpi) {
  mpi->kind = &brim_mpi_pointers;
  mpi->all.pointer = dlsym(mpi->library, "ompi_mpi_comm_world");
  mpi->byte.pointer = dlsym(mpi->library, "ompi_mpi_byte");
  mpi->errors_return.pointer = dlsym(mpi->library, "ompi_mpi_errors_return");
  mpi->serialized = 2;
  return mpi->all.pointer && mpi->byte.pointer && mpi->errors_return.pointer;
}

/* "Open MPI v4.1.4", without what follows, and where it is. */
static void set_name(brim_mpi *mpi, const char *path) {
  char version[8192] = "";
  int length = 0;
  mpi->kind->version(mpi, version, &length);
  version[strcspn(version, ",\n")] = 0;
  for (char *c = version; *c; c++)
    if (*c == '\t')
      *c = ' ';
  for (char *twice; (twice = strstr(version, "  "));)
    memmove(twice, twice + 1, strlen(twice));
  snprintf(mpi->name, sizeof mpi->name, "%.160s (%.400s)", version, path);
}

int brim_mpi_load(const char *given, brim_mpi *mpi, brim_error *err) {
  *mpi = (brim_mpi){0};
  BRIM_TRY(find_library(given, &mpi->library, err));
  for (int i = 0; i < MPI_CALLS; i++) {
    void *symbol = dlsym(mpi->library, call_names[i]);
    if (!symbol)
      return brim_error_set(err, BRIM_E_UNSUPPORTED, "the library has no %s: it is not an MPI library", call_names[i]);
    memcpy(&mpi->calls[i], &symbol, sizeof symbol);
  }
  Dl_info info = {0};
  void *symbol;
  memcpy(&symbol, &mpi->calls[MPI_CALL_INIT_THREAD], sizeof symbol);
  const char *path = dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : "";
  if (dlsym(mpi->library, "ompi_mpi_comm_world")) {
    if (!set_open_mpi(mpi))
      return brim_error_set(err, BRIM_E_UNSUPPORTED, "%s lacks symbols of Open MPI", path);
  } else if (strstr(path, "libmpi_abi")) {
    set_standard(mpi);
  } else {
    set_mpich(mpi);
  }
  set_name(mpi, path);
  return BRIM_OK;
}

bool brim_ranks_probe(char *text, size_t size) {
  brim_mpi mpi;
  brim_error err = {0};
  const bool found = brim_mpi_load(NULL, &mpi, &err) == BRIM_OK;
  snprintf(text, size, "%s", found ? mpi.name : err.message);
  return found;
}

/* ---- start and end ---------------------------------------------------------------------------------------- */

static int failed(const brim_mpi *mpi, const char *what, brim_error *err) {
  return brim_error_set(err, BRIM_E_IO, "%s failed; MPI is %s", what, mpi->name);
}

/* A library that does not belong to the launcher starts each process as a separate world. */
static int check_world(const brim_mpi *mpi, brim_error *err) {
  const brim_launch launch = brim_launch_find();
  if (!launch.launcher || launch.world_size == 0 || launch.world_size == mpi->size)
    return BRIM_OK;
  return brim_error_set(
      err, BRIM_E_UNSUPPORTED,
      "%s has started %d processes, but %s sees %d: they do not belong together; set BRIM_MPI to the path of the "
      "launcher's own library",
      launch.launcher, (int)launch.world_size, mpi->name, (int)mpi->size);
}

int brim_mpi_start(brim_mpi *mpi, brim_error *err) {
  bool ended = false;
  int provided = 0;
  if (mpi->kind->initialized(mpi, &mpi->begun, &ended))
    return failed(mpi, "MPI_Initialized", err);
  if (ended)
    return brim_error_set(err, BRIM_E_USAGE, "MPI was ended (MPI_Finalize) before brim was to use it");
  if (mpi->kind->init(mpi, &provided))
    return failed(mpi, "MPI_Init_thread", err);
  if (provided < mpi->serialized)
    return brim_error_set(err, BRIM_E_UNSUPPORTED,
                          "%s does not let several threads call it: brim needs MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE",
                          mpi->name);
  if (mpi->kind->join(mpi))
    return failed(mpi, "MPI_Comm_dup", err);
  return check_world(mpi, err);
}

/* MPICH over UCX waits for ever where it notices that another process has left before it leaves itself: from the last message on
 * nobody looks, until all have had theirs. */
void brim_mpi_end(brim_mpi *mpi) {
  if (mpi->kind->leave(mpi) != 0 || mpi->begun)
    return;
  usleep(REST);
  (void)mpi->kind->finalize(mpi);
}
