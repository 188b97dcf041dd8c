/* ops.c: the cases of operations. `ops NAME` runs a group: on the reference in float, and on levels of the processor, against
 * this one. With the cases in double (unit_ops_double) first on the reference in double precision, with gradients against central
 * differences; then the reference in float is compared with that.
 *
 * `ops list` calls everything once. Each operation of ops/list.h must then have been called on every table of levels.h that has
 * it and, in double, each ..._backward must have had its gradients compared: an operation without a case fails here. */
#include "ops_case.h"
#undef tap_ok

#define OPERATION(name, ...) #name,
static const char *const operations[] = {BRIM_OPS_LIST(OPERATION)};
#define FEATURE(name, operands, feature, ...) feature,
static const uint32_t features[] = {BRIM_OPS_LIST(FEATURE)};
enum { OPERATIONS = sizeof operations / sizeof *operations, ALL_OPS = 8, CASES_OF_A_GROUP = 512 };

static struct {
  const char *ops_of;
  bool called[OPERATIONS];
} all_ops[ALL_OPS];
static bool now[OPERATIONS], compared[OPERATIONS], only_calls;
static struct {
  char name[192];
  record of;
} kept[CASES_OF_A_GROUP];
static int kept_count;

bool ops_ok(bool pass, const char *file, int line, const char *format, ...) {
  char name[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(name, sizeof name, format, args);
  va_end(args);
  return (only_calls && pass) || tap_ok(pass, file, line, "%s", name);
}

void ops_keep(const char *name, const record *r) {
  if (kept_count == CASES_OF_A_GROUP)
    abort();
  if (ops_kept(name))
    ops_ok(false, __FILE__, __LINE__, "two cases have the name \"%s\"", name);
  snprintf(kept[kept_count].name, sizeof kept->name, "%s", name);
  kept[kept_count++].of = *r;
}

const record *ops_kept(const char *name) {
  for (int i = 0; i < kept_count; i++)
    if (strcmp(kept[i].name, name) == 0)
      return &kept[i].of;
  return NULL;
}

void ops_begin_case(void) {
  memset(now, 0, sizeof now);
}

static bool *called_by(const char *ops_of) {
  int t = 0;
  while (t < ALL_OPS && all_ops[t].ops_of && strcmp(all_ops[t].ops_of, ops_of) != 0)
    t++;
  if (t == ALL_OPS)
    abort();
  all_ops[t].ops_of = ops_of;
  return all_ops[t].called;
}

void ops_called(const char *ops_of, int operation) {
  called_by(ops_of)[operation] = now[operation] = true;
}

void ops_compared(bool half) {
  for (int i = 0; i < OPERATIONS; i++)
    compared[i] = compared[i] || (now[i] && (features[i] == BRIM_FEATURE_BF16) == half);
}

bool ops_only_calls(void) {
  return only_calls;
}

/* ---- groups */

#define GROUP_OF_FLOAT(name) {#name, NULL, ops_cases_##name},
#ifdef OPS_WITH_DOUBLE
#define GROUP_OF_BOTH(name) {#name, ops_cases64_##name, ops_cases_##name},
enum { HAS_DOUBLE = true };
#else
#define GROUP_OF_BOTH(name) GROUP_OF_FLOAT(name)
enum { HAS_DOUBLE = false };
#endif
static const struct {
  const char *name;
  void (*in_double)(void);
  void (*in_float)(void);
} groups[] = {OPS_GROUPS(GROUP_OF_BOTH, GROUP_OF_FLOAT)};

bool ops_has_double(void) {
  return HAS_DOUBLE;
}

static void run_group(size_t i) {
  if (groups[i].in_double)
    groups[i].in_double();
  groups[i].in_float();
  while (kept_count > 0)
    record_free(&kept[--kept_count].of);
}

static bool is_backward(const char *name) {
  const char *end = strstr(name, "_backward");
  return end && strcmp(end, "_backward") == 0;
}

#define HAS(name, ...) ops->name != NULL,
static void check_ops(const brim_ops *ops, const char *name) {
  const bool has[] = {BRIM_OPS_LIST(HAS)};
  const bool *called = called_by(name);
  for (int i = 0; i < OPERATIONS; i++)
    tap_ok(!has[i] || called[i], __FILE__, __LINE__, "%s: a case calls %s", name, operations[i]);
}

/* Products of bytes are the same integers in any precision: their oracle is in ops_int8.c. */
static void check_list(void) {
  const bool *wide = called_by("ref64");
  for (int i = 0; i < OPERATIONS && HAS_DOUBLE; i++) {
    if (is_backward(operations[i]))
      tap_ok(compared[i], __FILE__, __LINE__, "gradients of %s are compared", operations[i]);
    if (features[i] != BRIM_FEATURE_INT8)
      tap_ok(wide[i], __FILE__, __LINE__, "ref64: a case calls %s", operations[i]);
  }
  check_ops(brim_ops_ref(), brim_ops_ref()->name);
  for (int level = level_after(LEVEL_REF); level < LEVEL_END; level = level_after(level))
    check_ops(brim_ops_cpu((brim_cpu_level)level), brim_ops_cpu((brim_cpu_level)level)->name);
}

int main(int argc, char **argv) {
  const char *name = argc == 2 ? argv[1] : "";
  only_calls = strcmp(name, "list") == 0;
  bool found = only_calls;
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
    if (only_calls || strcmp(groups[i].name, name) == 0) {
      run_group(i);
      found = true;
    }
  if (only_calls)
    check_list();
  if (found && tap_count == 0)
    tap_skip(name, "the seed takes none of its cases, or BRIM_TEST_LEVELS has none of its levels");
  if (!found)
    fprintf(stderr, "usage: ops list | GROUP\n");
  return found ? tap_done() : 2;
}
