/* pattern.c: a small backtracking matcher. A quantified atom is one character wide or a group without quantifiers, so a match
 * costs at most a power of the text's length that the pattern fixes, never an exponential; and no more steps than are allowed. */
#include "text/pattern.h"
#include "base/arena.h"
#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include "text/unicode.h"
#include <string.h>

enum { MAX_ELEMENTS = 4096, MAX_GROUPS = 16, MAX_REPEATS = 4, UNLIMITED = 1 << 30 };
enum { STEPS = 10000000, STEPS_A_CHARACTER = 500, STEPS_UNHEARD = 1 << 20 }; /* the last: between two looks for a cancellation */
#define ALL_CATEGORIES 0x3FFFFFFFu                                           /* one bit a brim_category */
#define DIGITS         (1u << BRIM_ND)

/* A set of characters. */
typedef struct set {
  bool negated, ignore_case;
  bool white, not_white, word, not_word;
  uint32_t categories; /* one bit a brim_category */
  uint32_t (*ranges)[2];
  uint32_t range_count;
} set;

typedef struct element {
  enum { ELEMENT_SET, ELEMENT_GROUP, ELEMENT_AHEAD, ELEMENT_NOT_AHEAD } kind;
  bool possessive;
  uint32_t least, most;
  set set;
  struct group *group;
} element;

typedef struct sequence {
  element *elements;
  uint32_t count;
} sequence;

typedef struct group {
  sequence *choices;
  uint32_t count;
  bool plain; /* no quantifiers inside */
} group;

struct brim_pattern {
  brim_runtime *runtime;
  brim_arena arena;
  group *root;
  char *text;
  size_t length;
  bool regex;
};

/* ---- compiling -------------------------------------------------------------------------------------------- */

typedef struct compiler {
  brim_pattern *pattern;
  uint32_t *code; /* the pattern as code points */
  size_t count, at;
  int depth;
  uint32_t elements;
  bool ignore_case;
  brim_error *err;
} compiler;

static int unknown(compiler *c, const char *what) {
  return brim_error_set(c->err, BRIM_E_UNSUPPORTED, "%s in the pattern \"%.200s\" is not supported", what, c->pattern->text);
}

static bool peek(const compiler *c, uint32_t code) {
  return c->at < c->count && c->code[c->at] == code;
}
static bool accept(compiler *c, const char *text) {
  size_t n = strlen(text);
  if (c->count - c->at < n)
    return false;
  for (size_t i = 0; i < n; i++)
    if (c->code[c->at + i] != (uint8_t)text[i])
      return false;
  c->at += n;
  return true;
}

static int set_range(compiler *c, set *s, uint32_t low, uint32_t high) {
  uint32_t (*ranges)[2] = brim_arena_alloc_array(&c->pattern->arena, (size_t)s->range_count + 1, sizeof *ranges);
  if (!ranges)
    return BRIM_NOMEM(c->err);
  if (s->range_count)
    memcpy(ranges, s->ranges, s->range_count * sizeof *ranges);
  ranges[s->range_count][0] = low;
  ranges[s->range_count][1] = high;
  s->ranges = ranges;
  s->range_count++;
  return BRIM_OK;
}

/* Category names of one or two letters. */
static bool category_mask(const char *name, uint32_t *mask) {
  static const char names[][3] = {"Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps",
                                  "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cs"};
  *mask = 0;
  for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
    if (name[0] == names[i][0] && (!name[1] || name[1] == names[i][1]))
      *mask |= 1u << i;
  return *mask != 0;
}

/* \p{Name}, \P{Name}, \p{^Name}; `at` is after the p. */
static int parse_property(compiler *c, set *s, bool negated) {
  char name[4] = "";
  size_t n = 0;
  if (!accept(c, "{"))
    return unknown(c, "\\p without a brace");
  if (accept(c, "^"))
    negated = !negated;
  while (c->at < c->count && c->code[c->at] != '}') {
    if (n == 2 || c->code[c->at] > 0x7E)
      return unknown(c, "a property other than a general category");
    name[n++] = (char)c->code[c->at++];
  }
  uint32_t mask = 0;
  if (!accept(c, "}") || !category_mask(name, &mask))
    return unknown(c, "a property other than a general category");
  s->categories |= negated ? ~mask & ALL_CATEGORIES : mask;
  return BRIM_OK;
}

static int hexadecimal(compiler *c, uint32_t *code) {
  bool braced = accept(c, "{");
  uint32_t value = 0;
  int digits = 0;
  while (c->at < c->count && digits < (braced ? 6 : 2)) {
    uint32_t d = c->code[c->at];
    uint32_t v = d >= '0' && d <= '9' ? d - '0' : d >= 'a' && d <= 'f' ? d - 'a' + 10 : d >= 'A' && d <= 'F' ? d - 'A' + 10 : 16;
    if (v == 16)
      break;
    value = value * 16 + v;
    c->at++;
    digits++;
  }
  if (!digits || value >= BRIM_CODE_LIMIT || (braced && !accept(c, "}")) || (!braced && value > 0x7F))
    return unknown(c, "this \\x escape");
  *code = value;
  return BRIM_OK;
}

/* Letters that mean a class of characters after a backslash. */
static const struct class_escape {
  char letter;
  set of;
} class_escapes[] = {{'s', {.white = true}},    {'S', {.not_white = true}},    {'w', {.word = true}},
                     {'W', {.not_word = true}}, {'d', {.categories = DIGITS}}, {'D', {.categories = ALL_CATEGORIES & ~DIGITS}}};

/* Letters that mean one character. */
static const char character_escapes[][2] = {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'f', '\f'}, {'v', '\v'}};

static bool add_class(set *s, uint32_t letter) {
  for (size_t i = 0; i < sizeof class_escapes / sizeof *class_escapes; i++) {
    const set *more = &class_escapes[i].of;
    if (letter != (uint8_t)class_escapes[i].letter)
      continue;
    s->white |= more->white, s->not_white |= more->not_white;
    s->word |= more->word, s->not_word |= more->not_word;
    s->categories |= more->categories;
    return true;
  }
  return false;
}

/* After a backslash: either a set (then *single is false) or one character. */
static int parse_escape(compiler *c, set *s, bool *single, uint32_t *code) {
  if (c->at == c->count)
    return unknown(c, "a backslash at the end");
  const uint32_t letter = c->code[c->at++];
  *single = false;
  if (letter == 'p' || letter == 'P')
    return parse_property(c, s, letter == 'P');
  if (add_class(s, letter))
    return BRIM_OK;
  *single = true;
  *code = letter;
  if (letter == 'x')
    return hexadecimal(c, code);
  for (size_t i = 0; i < sizeof character_escapes / sizeof *character_escapes; i++)
    if (letter == (uint8_t)character_escapes[i][0]) {
      *code = (uint8_t)character_escapes[i][1];
      return BRIM_OK;
    }
  const bool word = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
  return word ? unknown(c, "this escape") : BRIM_OK;
}

/* After "[". */
static int parse_class(compiler *c, set *s) {
  s->negated = accept(c, "^");
  bool first = true;
  while (c->at < c->count && (first || c->code[c->at] != ']')) {
    first = false;
    uint32_t low = c->code[c->at++], high;
    bool single = true;
    if (low == '[' || (low == '&' && peek(c, '&')))
      return unknown(c, "a class inside a class");
    if (low == '\\')
      BRIM_TRY(parse_escape(c, s, &single, &low));
    if (!single)
      continue;
    high = low;
    if (c->at + 1 < c->count && c->code[c->at] == '-' && c->code[c->at + 1] != ']') {
      c->at++;
      high = c->code[c->at++];
      if (high == '\\')
        BRIM_TRY(parse_escape(c, s, &single, &high));
      if (!single || high < low || high == '[')
        return unknown(c, "this range");
    }
    BRIM_TRY(set_range(c, s, low, high));
  }
  return accept(c, "]") ? BRIM_OK : unknown(c, "a class without its end");
}

static int parse_number(compiler *c, uint32_t *value) {
  size_t begin = c->at;
  *value = 0;
  while (c->at < c->count && c->code[c->at] >= '0' && c->code[c->at] <= '9' && *value < 100000)
    *value = *value * 10 + (c->code[c->at++] - '0');
  return c->at > begin && *value < 100000 ? BRIM_OK : unknown(c, "this number of repetitions");
}

static int parse_quantifier(compiler *c, element *e) {
  e->least = e->most = 1;
  if (accept(c, "*")) {
    e->least = 0;
    e->most = UNLIMITED;
  } else if (accept(c, "+")) {
    e->most = UNLIMITED;
  } else if (accept(c, "?")) {
    e->least = 0;
  } else if (accept(c, "{")) {
    BRIM_TRY(parse_number(c, &e->least));
    e->most = e->least;
    if (accept(c, ",")) {
      e->most = UNLIMITED;
      if (!peek(c, '}'))
        BRIM_TRY(parse_number(c, &e->most));
    }
    if (!accept(c, "}") || e->most < e->least)
      return unknown(c, "this repetition");
    return peek(c, '+') || peek(c, '?') || peek(c, '*') ? unknown(c, "a quantifier after a quantifier") : BRIM_OK;
  } else {
    return BRIM_OK;
  }
  e->possessive = accept(c, "+");
  return peek(c, '+') || peek(c, '?') || peek(c, '*') ? unknown(c, "a lazy or doubled quantifier") : BRIM_OK;
}

static int parse_group(compiler *c, group **out);

/* After "(". */
static int parse_parenthesis(compiler *c, element *e) {
  bool outer = c->ignore_case;
  e->kind = ELEMENT_GROUP;
  if (accept(c, "?:")) {
  } else if (accept(c, "?i:")) {
    c->ignore_case = true;
  } else if (accept(c, "?=")) {
    e->kind = ELEMENT_AHEAD;
  } else if (accept(c, "?!")) {
    e->kind = ELEMENT_NOT_AHEAD;
  } else if (peek(c, '?')) {
    return unknown(c, "this kind of group");
  }
  if (c->depth == MAX_GROUPS)
    return unknown(c, "such deep nesting");
  c->depth++;
  BRIM_TRY(parse_group(c, &e->group));
  c->depth--;
  c->ignore_case = outer;
  return accept(c, ")") ? BRIM_OK : unknown(c, "a group without its end");
}

static int parse_atom(compiler *c, element *e) {
  uint32_t code = c->code[c->at++];
  bool single = true;
  e->set.ignore_case = c->ignore_case;
  switch (code) {
  case '(':
    return parse_parenthesis(c, e);
  case '[':
    return parse_class(c, &e->set);
  case '.':
    e->set.negated = true;
    return set_range(c, &e->set, '\n', '\n');
  case '\\':
    BRIM_TRY(parse_escape(c, &e->set, &single, &code));
    return single ? set_range(c, &e->set, code, code) : BRIM_OK;
  case '^':
  case '$':
  case '*':
  case '+':
  case '?':
  case '{':
    return unknown(c, "a bare ^, $ or quantifier");
  default:
    return set_range(c, &e->set, code, code);
  }
}

/* Groups repeat only where that cannot cost exponential time. */
static bool may_repeat(const element *e) {
  return e->kind == ELEMENT_GROUP && !e->possessive && (e->most <= 1 || (e->most <= MAX_REPEATS && e->group->plain));
}

static int parse_sequence(compiler *c, sequence *s, bool *plain) {
  size_t capacity = 0;
  while (c->at < c->count && c->code[c->at] != '|' && c->code[c->at] != ')') {
    element e = {.kind = ELEMENT_SET};
    if (++c->elements > MAX_ELEMENTS)
      return unknown(c, "so long a pattern");
    BRIM_TRY(parse_atom(c, &e));
    BRIM_TRY(parse_quantifier(c, &e));
    bool quantified = e.least != 1 || e.most != 1;
    if (quantified && e.kind != ELEMENT_SET && !may_repeat(&e))
      return unknown(c, "repeating this group");
    if (quantified || (e.kind == ELEMENT_GROUP && !e.group->plain))
      *plain = false;
    if (s->count == capacity) {
      capacity = capacity ? capacity * 2 : 4;
      element *bigger = brim_arena_alloc_array(&c->pattern->arena, capacity, sizeof *bigger);
      if (!bigger)
        return BRIM_NOMEM(c->err);
      if (s->count)
        memcpy(bigger, s->elements, s->count * sizeof *bigger);
      s->elements = bigger;
    }
    s->elements[s->count++] = e;
  }
  return BRIM_OK;
}

static int parse_group(compiler *c, group **out) {
  group *g = brim_arena_alloc(&c->pattern->arena, sizeof *g);
  if (!g)
    return BRIM_NOMEM(c->err);
  *g = (group){.plain = true};
  size_t capacity = 0;
  do {
    sequence s = {0};
    BRIM_TRY(parse_sequence(c, &s, &g->plain));
    if (g->count == capacity) {
      capacity = capacity ? capacity * 2 : 4;
      sequence *bigger = brim_arena_alloc_array(&c->pattern->arena, capacity, sizeof *bigger);
      if (!bigger)
        return BRIM_NOMEM(c->err);
      if (g->count)
        memcpy(bigger, g->choices, g->count * sizeof *bigger);
      g->choices = bigger;
    }
    g->choices[g->count++] = s;
  } while (accept(c, "|"));
  *out = g;
  return BRIM_OK;
}

/* Fewest characters that a group can match. */
static uint32_t least_width(const group *g) {
  uint32_t least = UNLIMITED;
  for (uint32_t i = 0; i < g->count; i++) {
    uint64_t width = 0;
    for (uint32_t j = 0; j < g->choices[i].count; j++) {
      const element *e = &g->choices[i].elements[j];
      if (e->kind == ELEMENT_SET)
        width += e->least;
      if (e->kind == ELEMENT_GROUP)
        width += (uint64_t)e->least * least_width(e->group);
    }
    if (width < least)
      least = (uint32_t)width;
  }
  return least;
}

/* The text itself as a pattern. */
static int literal(compiler *c) {
  group *g = brim_arena_alloc(&c->pattern->arena, sizeof *g);
  sequence *s = brim_arena_alloc(&c->pattern->arena, sizeof *s);
  element *e = brim_arena_alloc_array(&c->pattern->arena, c->count + 1, sizeof *e);
  if (!g || !s || !e)
    return BRIM_NOMEM(c->err);
  for (size_t i = 0; i < c->count; i++) {
    e[i] = (element){.kind = ELEMENT_SET, .least = 1, .most = 1};
    BRIM_TRY(set_range(c, &e[i].set, c->code[i], c->code[i]));
  }
  *s = (sequence){e, (uint32_t)c->count};
  *g = (group){s, 1, true};
  c->pattern->root = g;
  return BRIM_OK;
}

static int compile(brim_pattern *p, bool regex, brim_error *err) {
  brim_runes runes;
  brim_runes_init(&runes, p->runtime);
  compiler c = {.pattern = p, .err = err};
  int status = brim_runes_decode(&runes, p->text, p->length, 0, err);
  if (status == BRIM_OK) {
    c.count = runes.count;
    c.code = brim_arena_alloc_array(&p->arena, c.count + 1, sizeof *c.code);
    if (!c.code)
      status = BRIM_NOMEM(err);
  }
  for (size_t i = 0; status == BRIM_OK && i < c.count; i++)
    c.code[i] = runes.at[i].code;
  brim_runes_free(&runes);
  BRIM_TRY(status);
  BRIM_TRY(regex ? parse_group(&c, &p->root) : literal(&c));
  if (c.at < c.count && regex)
    return unknown(&c, "a closing parenthesis");
  if (least_width(p->root) == 0)
    return unknown(&c, "matching the empty text");
  return BRIM_OK;
}

int brim_pattern_compile(brim_runtime *runtime, const char *text, size_t length, bool regex, brim_pattern **out,
                         brim_error *err) {
  *out = NULL;
  brim_pattern *p = brim_alloc_zero(runtime, sizeof *p);
  if (!p)
    return BRIM_NOMEM(err);
  p->runtime = runtime;
  brim_arena_init(&p->arena, runtime, 4096);
  p->length = length;
  p->regex = regex;
  p->text = brim_arena_copy_string(&p->arena, text, length);
  int status = p->text ? compile(p, regex, err) : BRIM_NOMEM(err);
  if (status != BRIM_OK) {
    brim_pattern_free(p);
    return status;
  }
  *out = p;
  return BRIM_OK;
}

void brim_pattern_free(brim_pattern *pattern) {
  if (!pattern)
    return;
  brim_arena_free(&pattern->arena);
  brim_release(pattern->runtime, pattern);
}

bool brim_pattern_is(const brim_pattern *pattern, const char *text) {
  return strlen(text) == pattern->length && memcmp(text, pattern->text, pattern->length) == 0;
}

bool brim_pattern_same(const brim_pattern *a, const brim_pattern *b) {
  return a == b || (a && b && a->regex == b->regex && a->length == b->length && memcmp(a->text, b->text, a->length) == 0);
}

/* ---- matching --------------------------------------------------------------------------------------------- */

static bool in_ranges(const set *s, uint32_t code) {
  for (uint32_t i = 0; i < s->range_count; i++)
    if (code >= s->ranges[i][0] && code <= s->ranges[i][1])
      return true;
  return false;
}

static bool in_set(const set *s, uint32_t code) {
  bool in = in_ranges(s, code);
  if (!in && s->ignore_case) {
    /* Only ASCII letters, and the two characters that fold to one, differ in case in the patterns that occur. */
    uint32_t lower = code == 0x17F ? 's' : code == 0x212A ? 'k' : code >= 'A' && code <= 'Z' ? code + 32 : code;
    in = in_ranges(s, lower) || (lower >= 'a' && lower <= 'z' && in_ranges(s, lower - 32)) ||
         (lower == 's' && in_ranges(s, 0x17F)) || (lower == 'k' && in_ranges(s, 0x212A));
  }
  if (!in && (s->categories || s->white || s->not_white || s->word || s->not_word)) {
    uint32_t record = brim_char_record(code);
    bool white = (record & BRIM_CHAR_WHITE) != 0, word = (record & BRIM_CHAR_ONIG_WORD) != 0;
    in = (s->categories >> (record >> 16 & 31) & 1) || (s->white && white) || (s->not_white && !white) || (s->word && word) ||
         (s->not_word && !word);
  }
  return in != s->negated;
}

typedef struct matcher {
  const brim_rune *runes;
  size_t count;
  const brim_runtime *runtime;
  uint64_t left; /* steps; none: nothing matches any more */
} matcher;

/* False where no more steps are allowed. */
static bool take_steps(matcher *m, uint64_t steps) {
  const uint64_t before = m->left;
  m->left = steps < before ? before - steps : 0;
  if (before / STEPS_UNHEARD != m->left / STEPS_UNHEARD && brim_runtime_cancelled(m->runtime))
    m->left = 0;
  return m->left > 0;
}

/* What must match after the sequence in hand: element `index` of `sequence` on, `repeated` times done of it if it is a group. */
typedef struct rest {
  const sequence *sequence;
  uint32_t index, repeated;
  const struct rest *next;
} rest;

static bool match(matcher *m, rest now, size_t at, size_t *end);

static bool match_ahead(matcher *m, const group *g, size_t at) {
  size_t ignored;
  for (uint32_t i = 0; i < g->count; i++)
    if (match(m, (rest){&g->choices[i], 0, 0, NULL}, at, &ignored))
      return true;
  return false;
}

static bool match_set(matcher *m, rest now, size_t at, size_t *end) {
  const element *e = &now.sequence->elements[now.index++];
  size_t most = m->count - at < e->most ? m->count - at : e->most, n = 0;
  while (n < most && in_set(&e->set, m->runes[at + n].code))
    n++;
  if (!take_steps(m, n) || n < e->least)
    return false;
  if (e->possessive || (now.index == now.sequence->count && !now.next))
    return match(m, now, at + n, end);
  for (;; n--) {
    if (match(m, now, at + n, end))
      return true;
    if (n == e->least)
      return false;
  }
}

static bool match_group(matcher *m, rest now, size_t at, size_t *end) {
  const element *e = &now.sequence->elements[now.index];
  if (now.repeated < e->most) {
    rest again = now;
    again.repeated++;
    for (uint32_t i = 0; i < e->group->count; i++)
      if (match(m, (rest){&e->group->choices[i], 0, 0, &again}, at, end))
        return true;
  }
  if (now.repeated < e->least)
    return false;
  now.index++;
  now.repeated = 0;
  return match(m, now, at, end);
}

static bool match(matcher *m, rest now, size_t at, size_t *end) {
  if (!take_steps(m, 1))
    return false;
  while (now.index == now.sequence->count) {
    if (!now.next) {
      *end = at;
      return true;
    }
    now = *now.next;
    if (now.sequence->elements[now.index].kind == ELEMENT_GROUP)
      return match_group(m, now, at, end);
  }
  const element *e = &now.sequence->elements[now.index];
  if (e->kind == ELEMENT_SET)
    return match_set(m, now, at, end);
  if (e->kind == ELEMENT_GROUP)
    return match_group(m, now, at, end);
  if (match_ahead(m, e->group, at) != (e->kind == ELEMENT_AHEAD) || m->left == 0)
    return false;
  now.index++;
  return match(m, now, at, end);
}

brim_pattern_search brim_pattern_start(const brim_pattern *pattern, const brim_rune *runes, size_t count) {
  return (brim_pattern_search){
      .pattern = pattern, .runes = runes, .count = count, .steps_left = STEPS + (uint64_t)STEPS_A_CHARACTER * count};
}

static bool find(brim_pattern_search *s, matcher *m) {
  const group *root = s->pattern->root;
  for (; s->at < s->count && m->left; s->at++)
    for (uint32_t i = 0; i < root->count; i++)
      if (match(m, (rest){&root->choices[i], 0, 0, NULL}, s->at, &s->to)) {
        s->from = s->at;
        return true;
      }
  return false;
}

int brim_pattern_next(brim_pattern_search *s, bool *found, brim_error *err) {
  matcher m = {s->runes, s->count, s->pattern->runtime, s->steps_left};
  *found = find(s, &m);
  s->steps_left = m.left;
  if (*found)
    s->at = s->to;
  if (m.left)
    return BRIM_OK;
  BRIM_TRY(brim_check_cancel(s->pattern->runtime, err));
  return brim_error_set(err, BRIM_E_UNSUPPORTED,
                        "the pattern \"%.200s\" of the tokenizer takes more than %llu steps for %zu characters", s->pattern->text,
                        (unsigned long long)(STEPS + (uint64_t)STEPS_A_CHARACTER * s->count), s->count);
}
