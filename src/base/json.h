/* json.h: a strict RFC 8259 reader. Positions are bytes, strings carry their length (they may hold NUL), UTF-8 is checked,
 * "\ud83d\ude00" pairs are joined and lone surrogates refused. Duplicate keys are left to the caller. Output is brim_text's. */
#ifndef BRIM_BASE_JSON_H
#define BRIM_BASE_JSON_H
#include "brim/base.h"

#define BRIM_JSON_DEPTH 128 /* deepest nesting of arrays and objects */

/* What may be between JSON values. */
static inline bool brim_json_is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

typedef enum brim_json_kind {
  BRIM_JSON_END, /* the document is over */
  BRIM_JSON_NULL,
  BRIM_JSON_BOOL,
  BRIM_JSON_INT,  /* no fraction, no exponent, fits in int64, not -0 */
  BRIM_JSON_REAL, /* any other number */
  BRIM_JSON_STRING,
  BRIM_JSON_KEY,
  BRIM_JSON_ARRAY,
  BRIM_JSON_ARRAY_END,
  BRIM_JSON_OBJECT,
  BRIM_JSON_OBJECT_END
} brim_json_kind;

const char *brim_json_kind_name(brim_json_kind kind); /* "a string", "an object", ...: for messages */

/* ---- pull reader ------------------------------------------------------------------------------------------ */

typedef struct brim_json_token {
  brim_json_kind kind;
  const char *text; /* STRING, KEY: the decoded bytes. INT, REAL: as written. Valid until the next start or free. */
  size_t length;
  int64_t integer; /* INT; BOOL: 0 or 1 */
  double real;     /* INT, REAL */
  size_t byte;     /* where it begins in the document */
} brim_json_token;

/* Lives on the stack; start may be called again and again, which keeps the scratch memory. */
typedef struct brim_json_reader {
  brim_runtime *runtime;
  const char *name; /* of the file, for messages; may be NULL */
  const char *bytes;
  size_t length, at;
  int64_t first_byte, first_line; /* where the document lies in its file */
  char *scratch;                  /* decoded strings; never longer than the document */
  size_t scratch_used, scratch_size;
  int depth;
  uint8_t expect; /* what may come next */
  bool skipping;
  bool in_object[BRIM_JSON_DEPTH];
} brim_json_reader;

void brim_json_reader_init(brim_json_reader *reader, brim_runtime *runtime, const char *name);
void brim_json_reader_free(brim_json_reader *reader);
/* Reads one document from `bytes`, which must stay. It began at byte `first_byte` of line `first_line` (1-based; 0: count lines
 * from the document's beginning) of its file. */
void brim_json_reader_start(brim_json_reader *reader, const char *bytes, size_t length, int64_t first_byte, int64_t first_line);
/* The next token. After the document only spaces may follow, then END comes (and keeps coming). */
int brim_json_next(brim_json_reader *reader, brim_json_token *token, brim_error *err) BRIM_CHECK;
/* After an ARRAY or OBJECT token: passes over all of it with its end. After a KEY: passes over its value. What is passed over may
 * be nested deeper, and hold numbers larger, than what is read. */
int brim_json_skip(brim_json_reader *reader, brim_error *err) BRIM_CHECK;
/* An error at byte `byte` of the document. */
int brim_json_reader_error(const brim_json_reader *reader, size_t byte, brim_error *err, int code, const char *format, ...)
    BRIM_PRINTF(5, 6);

/* ---- documents in memory: for small and cold files -------------------------------------------------------- */

typedef struct brim_json_value {
  uint8_t kind;    /* brim_json_kind; in objects a KEY precedes each value */
  uint32_t length; /* STRING, KEY: bytes. ARRAY: items. OBJECT: members */
  uint32_t next;   /* distance to the value after this one, with all it holds */
  uint32_t byte;   /* where it begins */
  union {
    const char *text; /* STRING, KEY */
    int64_t integer;  /* INT, BOOL */
    double real;      /* REAL */
  } as;
} brim_json_value;

typedef struct brim_json_document brim_json_document;

/* Memory is proportional to length (below 4 GiB). `bytes` are borrowed and must outlive the document. */
int brim_json_parse(brim_runtime *runtime, const char *bytes, size_t length, const char *name, brim_json_document **out,
                    brim_error *err) BRIM_CHECK;
/* Reads and parses a file of at most `limit` bytes (0: no limit): one of a folder, which is no pipe; or one that a person named,
 * which may be a pipe. */
int brim_json_load(brim_runtime *runtime, const char *path, size_t limit, brim_json_document **out, brim_error *err) BRIM_CHECK;
int brim_json_load_named(brim_runtime *runtime, const char *path, size_t limit, brim_json_document **out,
                         brim_error *err) BRIM_CHECK;
void brim_json_free(brim_json_document *document);
const brim_json_value *brim_json_root(const brim_json_document *document);

/* Iteration. Arrays: for (v = brim_json_first(a); v; v = brim_json_after(a, v)). Objects: the same gives the KEYs, and
 * brim_json_member(key) the value of each. NULL at the end, and for anything that is not a container. */
const brim_json_value *brim_json_first(const brim_json_value *container);
const brim_json_value *brim_json_after(const brim_json_value *container, const brim_json_value *item);
const brim_json_value *brim_json_member(const brim_json_value *key);
/* The value of a key (the last one when it comes twice), or NULL; NULL too when `object` is NULL or no object. */
const brim_json_value *brim_json_get(const brim_json_value *object, const char *key);
bool brim_json_is_string(const brim_json_value *value, const char *string);
/* INT or REAL as a double; 0 otherwise. */
double brim_json_number(const brim_json_value *value);

/* Typed members with a default: an absent or null key leaves *out as it is; a value of another kind is BRIM_E_FORMAT with the key
 * and the place. Strings are NUL-terminated copies only in the sense of the document: use the length. */
int brim_json_read_bool(const brim_json_document *document, const brim_json_value *object, const char *key, bool *out,
                        brim_error *err) BRIM_CHECK;
int brim_json_read_int(const brim_json_document *document, const brim_json_value *object, const char *key, int64_t low,
                       int64_t high, int64_t *out, brim_error *err) BRIM_CHECK;
int brim_json_read_real(const brim_json_document *document, const brim_json_value *object, const char *key, double *out,
                        brim_error *err) BRIM_CHECK;
int brim_json_read_string(const brim_json_document *document, const brim_json_value *object, const char *key, const char **out,
                          size_t *length, brim_error *err) BRIM_CHECK;
/* An error at the place of `value` (file, line, byte). `value` NULL: no place but the file. */
int brim_json_error(const brim_json_document *document, const brim_json_value *value, brim_error *err, int code,
                    const char *format, ...) BRIM_PRINTF(5, 6);

/* ---- more of the writer (brim_json_writer) ------------------------------------------------------------------ */

/* The next value begins on a new line. There must be one. */
void brim_json_begin_line(brim_json_writer *json);
/* A member's name of any bytes; its value comes next, with NULL for a name. */
void brim_json_put_name(brim_json_writer *json, const char *bytes, size_t length);
/* A value that is JSON already. */
void brim_json_put_json(brim_json_writer *json, const char *name, const char *bytes, size_t length);
/* The field's value, under its name or (named false) without; a text that is NULL is empty. */
void brim_json_put_field(brim_json_writer *json, const brim_field *field, bool named);

#endif
