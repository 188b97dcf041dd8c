/* case_faults.h: each fault that was put into the kernels (mutants.py), that a case reaches, and that no case saw yet, is tried
 * in a process of its own, which is made after the case went well without one. BRIM_CASE_FAULTS names a file with a byte for each
 * fault, which all programs share; without it nothing is tried. */
#ifndef BRIM_TESTS_CASE_FAULTS_H
#define BRIM_TESTS_CASE_FAULTS_H
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_cuda.h"

enum { FAULT_NOT_REACHED = '0', FAULT_NOT_SEEN, FAULT_SEEN, FAULT_SECONDS = 60 };

static char *case_faults(void) {
  static char *faults;
  const char *path = getenv("BRIM_CASE_FAULTS");
  if (faults || !path)
    return faults;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  void *at = file < 0 ? MAP_FAILED : mmap(NULL, (size_t)fake_cuda_faults() + 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) {
    printf("Bail out! %s cannot be used\n", path);
    exit(99);
  }
  close(file);
  return faults = at;
}

/* True in the process that has the fault, which says so on no output and ends after FAULT_SECONDS of a processor. */
static bool case_forks(int fault, bool *seen) {
  int status = 1;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    setrlimit(RLIMIT_CPU, &(struct rlimit){FAULT_SECONDS, FAULT_SECONDS});
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
      _exit(0);
    tap_failed = 0;
    fake_cuda_fault(fault);
    return true;
  }
  if (child < 0 || waitpid(child, &status, 0) != child) {
    printf("Bail out! a process could not be made\n");
    exit(99);
  }
  *seen = status != 0;
  return false;
}

/* False once all faults are tried; true in the process of each, which ends with case_fault_ends. To be called after a case, in
 * the state that the case begins with. */
static bool case_has_fault(void) {
  char *faults = case_faults();
  for (int n = 1; faults && n <= fake_cuda_faults(); n++) {
    bool seen = false;
    if (!fake_cuda_reached(n) || faults[n] == FAULT_SEEN)
      continue;
    if (case_forks(n, &seen))
      return true;
    faults[n] = seen ? FAULT_SEEN : FAULT_NOT_SEEN;
  }
  fake_cuda_fault(0);
  return false;
}

static void case_fault_ends(bool seen) {
  _exit(seen || tap_failed);
}
#endif
