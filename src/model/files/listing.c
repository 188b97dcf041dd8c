/* listing.c: a schedule as tables for readers: what each operation computes and keeps, and the calls with the offsets that they
 * read and write. Layers that differ in nothing but weights and offsets are shown once. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/kind.h"
#include "model/kinds/kinds.h"
#include "model/run/model.h"

static const char *const row_names[BRIM_ROW_KINDS] = {[BRIM_ROW_TEXTS] = "texts",
                                                      [BRIM_ROW_CHOSEN] = "first tokens",
                                                      [BRIM_ROW_TOKENS] = "tokens",
                                                      [BRIM_ROW_DISTANCES] = "distances",
                                                      [BRIM_ROW_REACHED] = "reached distances"};

#define CALL_NAME(name, ...) #name,
static const char *const call_names[BRIM_OP_COUNT] = {BRIM_OPS_LIST(CALL_NAME)};

typedef struct listing {
  const brim_call_schedule *s;
  const brim_program *p;
  double rows[BRIM_ROW_KINDS];
  double length;
  brim_text *out;
} listing;

static double megabytes(uint64_t bytes) {
  return (double)bytes / 1e6;
}

/* ---- layers that are alike ---------------------------------------------------------------------------------- */

static int32_t section_end(const brim_program *p, size_t section) {
  return section + 1 < p->section_count ? p->sections[section + 1].first : (int32_t)p->operation_count;
}

/* The next call of this section and phase, from `from` on; the number of calls: there is none. */
static size_t next_call(const brim_call_schedule *s, size_t from, size_t section, bool backward) {
  const size_t end = backward ? s->call_count : (size_t)s->forward_count;
  while (from < end && s->calls[from].section != (int32_t)section)
    from++;
  return from < end ? from : s->call_count;
}

static bool same_calls(const brim_call_schedule *s, size_t a, size_t b, bool backward) {
  const size_t first = backward ? (size_t)s->forward_count : 0;
  size_t x = next_call(s, first, a, backward), y = next_call(s, first, b, backward);
  while (x < s->call_count && y < s->call_count) {
    if (s->calls[x].op != s->calls[y].op || s->calls[x].fill_count != s->calls[y].fill_count ||
        s->calls[x].phase != s->calls[y].phase)
      return false;
    x = next_call(s, x + 1, a, backward);
    y = next_call(s, y + 1, b, backward);
  }
  return x == y;
}

static bool same_values(const listing *l, size_t a, size_t b) {
  const brim_call_schedule *s = l->s;
  const int32_t from = l->p->sections[a].first, to = l->p->sections[b].first, count = section_end(l->p, a) - from;
  if (section_end(l->p, b) - to != count || s->sections[a].again != s->sections[b].again ||
      s->values[l->p->sections[a].input].keep != s->values[l->p->sections[b].input].keep)
    return false;
  for (size_t i = 0; i < l->p->value_count; i++) {
    const brim_value *v = &l->p->values[i];
    if (v->maker < from || v->maker >= from + count)
      continue;
    for (size_t k = 0; k < l->p->value_count; k++)
      if (l->p->values[k].maker == v->maker + (to - from) && strcmp(l->p->values[k].name, v->name) == 0 &&
          (s->values[k].rows != s->values[i].rows || s->values[k].keep != s->values[i].keep ||
           s->values[k].type != s->values[i].type))
        return false;
  }
  return true;
}

static bool alike(const listing *l, size_t a, size_t b) {
  return l->p->sections[a].layer && l->p->sections[b].layer && same_calls(l->s, a, b, false) && same_calls(l->s, a, b, true) &&
         same_values(l, a, b);
}

/* Says which of the sections after `section` are like it; returns the last of them. */
static size_t skip_alike(const listing *l, size_t section) {
  size_t last = section;
  while (last + 1 < l->p->section_count && alike(l, section, last + 1))
    last++;
  if (last > section + 1)
    brim_text_printf(l->out, "%s to %s: as %s\n", l->p->sections[section + 1].name, l->p->sections[last].name,
                     l->p->sections[section].name);
  else if (last > section)
    brim_text_printf(l->out, "%s: as %s\n", l->p->sections[last].name, l->p->sections[section].name);
  return last;
}

/* ---- operations --------------------------------------------------------------------------------------------- */

enum { NAMES_SIZE = 160 };

typedef struct names {
  char text[NAMES_SIZE];
  size_t length;
} names;

static void add_name(names *n, const char *name, const char *suffix) {
  const char *texts[] = {n->length ? ", " : "", name, suffix};
  for (int i = 0; i < 3; i++) {
    const size_t length = strlen(texts[i]);
    if (n->length + length >= NAMES_SIZE)
      return;
    memcpy(n->text + n->length, texts[i], length + 1);
    n->length += length;
  }
}

static const char SIXTEEN[] = " (16 bits)";

static void sort_names(const listing *l, const brim_list *list, names *kept, names *again) {
  for (int i = 0; i < list->count; i++) {
    const char *name = l->p->values[list->of[i]].name;
    const brim_value_plan *plan = &l->s->values[list->of[i]];
    switch (plan->keep) {
    case BRIM_KEEP_NOT:
      break;
    case BRIM_KEEP_AGAIN:
      add_name(again, name, "");
      break;
    case BRIM_KEEP_AS_IS:
      add_name(kept, name, plan->type == BRIM_AS_BF16 ? SIXTEEN : "");
      break;
    case BRIM_KEEP_HALF:
      add_name(kept, name, SIXTEEN);
      break;
    }
  }
}

/* Of versions that the forward of operations leaves in the region of what is kept. */
static uint64_t kept_bytes(const listing *l, int32_t first, int32_t end) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < l->s->version_count; i++) {
    const brim_value_version *v = &l->s->versions[i];
    const int32_t maker = v->value == BRIM_NONE ? BRIM_NONE : l->p->values[v->value].maker;
    if (v->region == BRIM_KEPT && maker >= first && maker < end && v->last >= l->s->forward_count &&
        v->first < l->s->forward_count)
      bytes += v->size;
  }
  return bytes;
}

static void list_rows(const listing *l, const brim_operation *o, char *text, size_t size) {
  const char *names_of[2] = {"", ""};
  int count = 0;
  for (int i = 0; i < o->out.count && count < 2; i++) {
    const char *name = row_names[l->s->values[o->out.of[i]].rows];
    if (count == 0 || strcmp(names_of[0], name) != 0)
      names_of[count++] = name;
  }
  snprintf(text, size, "%s%s%s", names_of[0], count > 1 ? "; " : "", names_of[1]);
}

static void list_operation(const listing *l, int32_t i) {
  const brim_operation *o = &l->p->operations[i];
  names kept = {0}, again = {0};
  char rows[40], line[400];
  sort_names(l, &o->inner, &kept, &again);
  sort_names(l, &o->out, &kept, &again);
  list_rows(l, o, rows, sizeof rows);
  const double flops = o->kind->flops ? o->kind->flops(l->s, o, l->rows, l->length) : 0;
  int used = snprintf(line, sizeof line, "  %-13s %-20s %8.2f %8.1f  %s%s%s", o->kind->name, rows, flops / 1e9,
                      megabytes(kept_bytes(l, i, i + 1)), kept.text, again.length ? (kept.length ? "; again: " : "again: ") : "",
                      again.text);
  while (used > 0 && line[used - 1] == ' ')
    line[--used] = 0;
  brim_text_printf(l->out, "%s\n", line);
}

static void list_operations(const listing *l) {
  brim_text_string(l->out, "\noperation       rows                   GFLOP  MB kept  kept for backward; made again\n");
  for (size_t section = 0; section < l->p->section_count; section++) {
    const brim_section_plan *plan = &l->s->sections[section];
    brim_text_printf(l->out, "%s%s\n", l->p->sections[section].name,
                     l->s->variant.training && !plan->trained ? ", frozen"
                     : plan->again                            ? ", computed again in backward"
                                                              : "");
    for (int32_t i = l->p->sections[section].first; i < section_end(l->p, section); i++)
      list_operation(l, i);
    section = skip_alike(l, section);
  }
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

/* "sum again (16 bits) k12.50": which version, in which region, and where, in MB. Values side by side are one version. */
static void list_version(const listing *l, const char *separator, int32_t version) {
  const brim_value_version *v = &l->s->versions[version];
  const char *first = v->role == BRIM_GRADIENT ? "gradient of " : "";
  const char *last = v->role == BRIM_AGAIN ? " again" : "", *type = v->type == BRIM_AS_BF16 ? SIXTEEN : "";
  const bool beside = v->value != BRIM_NONE && v->width > l->p->values[v->value].width;
  brim_text_printf(l->out, "%s%s%s%s%s%s%s %s%.2f", separator, first,
                   v->value == BRIM_NONE ? "scratch" : l->p->values[v->value].name, beside ? ", " : "",
                   beside ? l->p->values[v->value + 1].name : "", last, type, v->region == BRIM_KEPT ? "k" : "t",
                   megabytes(v->offset));
}

static bool adds_to_weights(const listing *l, const brim_call *call) {
  for (int32_t i = 0; i < call->fill_count; i++)
    if (l->s->fills[call->first_fill + i].source == BRIM_FROM_WEIGHT_GRADIENT)
      return true;
  return false;
}

static void list_access(const listing *l, const brim_call *call, brim_access access, const char *before) {
  int32_t seen = BRIM_NONE;
  const char *separator = before;
  for (int32_t i = 0; i < call->fill_count; i++) {
    const brim_fill_in *in = &l->s->fills[call->first_fill + i];
    if (in->source != BRIM_FROM_VERSION || in->access != access || in->index == seen)
      continue;
    list_version(l, separator, in->index);
    separator = ", ";
    seen = in->index;
  }
}

static void list_call(const listing *l, size_t i) {
  const brim_call *call = &l->s->calls[i];
  brim_text_printf(l->out, "%5d %s %-19s ", (int)i, call->phase == BRIM_FORWARD_AGAIN ? "again" : "     ", call_names[call->op]);
  list_access(l, call, BRIM_READS, "");
  list_access(l, call, BRIM_CHANGES, " -> changes ");
  list_access(l, call, BRIM_WRITES, " -> ");
  if (adds_to_weights(l, call))
    brim_text_string(l->out, " -> weights");
  brim_text_string(l->out, "\n");
}

static void list_section_calls(const listing *l, size_t section, bool backward) {
  size_t i = next_call(l->s, backward ? (size_t)l->s->forward_count : 0, section, backward);
  if (i == l->s->call_count)
    return;
  brim_text_printf(l->out, "%s, %s\n", l->p->sections[section].name, backward ? "backward" : "forward");
  for (; i < l->s->call_count; i = next_call(l->s, i + 1, section, backward))
    list_call(l, i);
}

static void list_calls(const listing *l) {
  brim_text_string(l->out,
                   "\ncalls of the device: what they read -> what they write; places in MB: t comes and goes, k is kept\n");
  for (size_t section = 0; section < l->p->section_count; section++) {
    list_section_calls(l, section, false);
    list_section_calls(l, section, true);
    section = skip_alike(l, section);
  }
}

/* ---- traffic ------------------------------------------------------------------------------------------------ */

/* Bytes of the values that a call reads, or writes; what it changes counts for both. */
static uint64_t moved_bytes(const listing *l, const brim_call *call, brim_access access) {
  uint64_t bytes = 0;
  int32_t seen = BRIM_NONE;
  for (int32_t i = 0; i < call->fill_count; i++) {
    const brim_fill_in *in = &l->s->fills[call->first_fill + i];
    if (in->source != BRIM_FROM_VERSION || !(in->access & access) || in->index == seen)
      continue;
    bytes += l->s->versions[in->index].size;
    seen = in->index;
  }
  return bytes;
}

/* Of the calls of one operation of the device, or of all. */
static void list_moved(const listing *l, const char *name, int op) {
  uint64_t reads = 0, writes = 0;
  int calls = 0;
  for (size_t i = 0; i < l->s->call_count; i++) {
    const brim_call *call = &l->s->calls[i];
    if (op >= 0 && call->op != op)
      continue;
    calls++;
    reads += moved_bytes(l, call, BRIM_READS);
    writes += moved_bytes(l, call, BRIM_WRITES);
  }
  if (calls > 0)
    brim_text_printf(l->out, "  %-23s %5d %9.1f %9.1f\n", name, calls, megabytes(reads), megabytes(writes));
}

static void list_traffic(const listing *l) {
  brim_text_string(l->out, "\nvalues moved            calls   MB read  MB written (weights and their gradients not counted)\n");
  for (size_t op = 0; op < sizeof call_names / sizeof *call_names; op++)
    list_moved(l, call_names[op], (int)op);
  list_moved(l, "all", -1);
}

/* ---- entry -------------------------------------------------------------------------------------------------- */

static void list_sizes(const listing *l) {
  brim_text_printf(l->out, "\n%d calls forward, %d backward; %.1f MB for what comes and goes, %.1f MB for what is kept\n",
                   (int)l->s->forward_count, (int)l->s->call_count - (int)l->s->forward_count,
                   megabytes(l->s->region_size[BRIM_TEMPORARY]), megabytes(l->s->region_size[BRIM_KEPT]));
}

static void list(const brim_model *m, const brim_model_limits *limits, const brim_call_schedule *s, brim_text *out) {
  const double tokens = (double)limits->max_slots, texts = limits->max_sequences;
  int32_t first;
  const listing l = {.s = s,
                     .p = s->program,
                     .rows = {[BRIM_ROW_TEXTS] = texts,
                              [BRIM_ROW_CHOSEN] = texts,
                              [BRIM_ROW_TOKENS] = tokens,
                              [BRIM_ROW_DISTANCES] = brim_program_limits(s->program).distances,
                              [BRIM_ROW_REACHED] = brim_distances_reached(s->program, limits->max_length, &first)},
                     .length = limits->max_length,
                     .out = out};
  const char *frozen = limits->training ? brim_model_frozen(m) : "", *only = limits->training ? brim_model_trained_only(m) : "";
  brim_text_printf(out, "%s, %s in %s%s%s%s%s; a part of %lld tokens in %d texts of %d\n", brim_model_type(m),
                   limits->training ? "training" : "prediction", brim_precision_name(limits->precision),
                   *only ? ", trained only: " : "", only, *frozen ? ", frozen: " : "", frozen, (long long)limits->max_slots,
                   (int)limits->max_sequences, (int)limits->max_length);
  list_operations(&l);
  list_calls(&l);
  list_traffic(&l);
  list_sizes(&l);
}

int brim_model_list_program(brim_model *model, const brim_model_limits *limits, brim_text *out, brim_error *err) {
  BRIM_GIVEN(err, model, limits, out);
  const brim_call_schedule *schedule;
  BRIM_TRY(brim_model_plan(model, limits, &schedule, err));
  list(model, limits, schedule, out);
  return brim_text_status(out, err);
}
