/* Losses of vectors and scores with their gradients, and metrics, next to those of sentence-transformers in double
 * (tests/golden/tasks): every entry whose loss brim has. */
#include "base/json.h"
#include "brim/train.h"
#include "model_case.h"

/* Losses of the files that brim leaves out: nobody trains with them by default. */
static const char *const left_out[] = {"gist", "lambda", "rank-net", "list-mle", "plist-mle", "adr-mse"};

static bool is_left_out(const brim_json_value *loss) {
  for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
    if (brim_json_is_string(loss, left_out[i]))
      return true;
  return false;
}

static double apart(const brim_json_value *a, const brim_json_value *b);

/* Of the members of `b`, which `a` all has. */
static double objects_apart(const brim_json_value *a, const brim_json_value *b) {
  double worst = 0;
  for (const brim_json_value *k = brim_json_first(b); k; k = brim_json_after(b, k)) {
    char name[80];
    snprintf(name, sizeof name, "%.*s", (int)k->length, k->as.text);
    worst = fmax(worst, apart(brim_json_get(a, name), brim_json_member(k)));
  }
  return worst;
}

static bool is_number(const brim_json_value *v) {
  return v->kind == BRIM_JSON_INT || v->kind == BRIM_JSON_REAL;
}

/* The largest difference of numbers, relative above 1, of two values of one shape; huge where shapes or texts differ. */
static double apart(const brim_json_value *a, const brim_json_value *b) {
  double worst = 0;
  if (!a || !b || (is_number(a) ? !is_number(b) : a->kind != b->kind))
    return 1e9;
  if (b->kind == BRIM_JSON_OBJECT)
    return objects_apart(a, b);
  if (b->kind == BRIM_JSON_STRING)
    return a->length == b->length && memcmp(a->as.text, b->as.text, a->length) == 0 ? 0 : 1e9;
  if (a->kind != BRIM_JSON_ARRAY)
    return fabs(brim_json_number(a) - brim_json_number(b)) / fmax(1, fabs(brim_json_number(b)));
  if (a->length != b->length)
    return 1e9;
  const brim_json_value *y = brim_json_first(b);
  for (const brim_json_value *x = brim_json_first(a); x; x = brim_json_after(a, x), y = brim_json_after(b, y))
    worst = fmax(worst, apart(x, y));
  return worst;
}

static void check_line(const char *line, size_t length, const brim_json_value *entry) {
  const brim_json_value *expected = brim_json_get(entry, "expected"), *name = brim_json_get(entry, "name");
  brim_json_document *document;
  brim_error err = {0};
  if (brim_json_parse(case_runtime, line, length, "line", &document, &err))
    case_stop("line", &err);
  const brim_json_value *root = brim_json_root(document);
  if (is_left_out(brim_json_get(entry, "loss")))
    ok(brim_json_get(root, "unknown") != NULL, "%.*s is not one of brim's", (int)name->length, name->as.text);
  else {
    const double loss = apart(brim_json_get(root, "loss"), brim_json_get(expected, "loss"));
    const double gradient = apart(brim_json_get(root, "grad"), brim_json_get(expected, "grad"));
    ok(loss < 1e-12 && gradient < 1e-12, "%.*s: loss to %.1e, gradient to %.1e", (int)name->length, name->as.text, loss,
       gradient);
  }
  brim_json_free(document);
}

static void check_file(const char *name) {
  char path[600];
  brim_error err = {0};
  brim_json_document *document;
  brim_text out;
  snprintf(path, sizeof path, "%s/../tasks/losses/%s", case_golden(""), name);
  if (brim_json_load(case_runtime, path, 0, &document, &err))
    case_stop(path, &err);
  brim_text_init(&out, case_runtime);
  ok(brim_inspect_losses(case_runtime, path, &out, &err) == BRIM_E_UNSUPPORTED, "%s: %s", name, err.message);
  const char *line = out.data;
  const brim_json_value *list = brim_json_root(document);
  for (const brim_json_value *e = brim_json_first(list); e; e = brim_json_after(list, e)) {
    const char *end = memchr(line, '\n', (size_t)(out.data + out.length - line));
    if (!end)
      case_stop("a line is missing", &err);
    check_line(line, (size_t)(end - line), e);
    line = end + 1;
  }
  ok(line == out.data + out.length, "and no more lines");
  brim_text_free(&out);
  brim_json_free(document);
}

/* Lines from *at on with the entries of a list. */
static void check_metrics_of(const brim_json_value *list, const char **at) {
  for (const brim_json_value *e = list ? brim_json_first(list) : NULL; e; e = brim_json_after(list, e)) {
    const brim_json_value *name = brim_json_get(e, "name");
    const char *end = strchr(*at, '\n');
    brim_json_document *line;
    brim_error err = {0};
    if (!end || brim_json_parse(case_runtime, *at, (size_t)(end - *at), "line", &line, &err))
      case_stop("line", &err);
    const double worst = apart(brim_json_root(line), brim_json_get(e, "expected"));
    ok(worst < 1e-12, "%.*s: metrics to %.1e", (int)name->length, name->as.text, worst);
    brim_json_free(line);
    *at = end + 1;
  }
}

static void check_metrics(const char *kind) {
  char path[600];
  brim_error err = {0};
  brim_json_document *document;
  brim_text out;
  snprintf(path, sizeof path, "%s/../tasks/metrics/%s.json", case_golden(""), kind);
  brim_text_init(&out, case_runtime);
  if (brim_json_load(case_runtime, path, 0, &document, &err) || brim_inspect_metrics(case_runtime, kind, path, &out, &err))
    case_stop(path, &err);
  const brim_json_value *root = brim_json_root(document);
  const char *at = out.data;
  check_metrics_of(root->kind == BRIM_JSON_ARRAY ? root : brim_json_get(root, "pairs"), &at);
  check_metrics_of(brim_json_get(root, "triplets"), &at);
  ok(at == out.data + out.length, "%s: a line for each entry", kind);
  brim_text_free(&out);
  brim_json_free(document);
}

int main(void) {
  case_start(2);
  check_metrics("similarity");
  check_metrics("retrieval");
  check_metrics("reranking");
  check_file("embedding.json");
  check_file("ranking.json");
  brim_runtime_free(case_runtime);
  return tap_done();
}
