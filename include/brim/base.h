/* brim/base.h: runtime, status and errors, JSON text, atomic files.
 *
 * Rules that hold for every brim header
 *  - Functions return a brim_status (int): BRIM_OK is 0. A brim_error* may be NULL; it is written only on failure.
 *  - Everything that allocates or runs threads takes a brim_runtime. No function prints, exits or keeps global state.
 *  - A pointer of which nothing says that it may be NULL has to be given: a function with a brim_error answers BRIM_E_USAGE and
 *    names the argument, as it does a number of items that no array has; one without does not look. An array of no items may be
 *    NULL.
 *  - `x_free(NULL)` and `x_close(NULL)` are allowed. Where a result goes is zero at first: after a failure an out-pointer is
 * NULL, and a struct can be freed.
 *  - Text is UTF-8 with an explicit length; it may hold NUL bytes.
 *  - Unless said otherwise an object may be used by one thread at a time, and different objects by different threads.
 */
#ifndef BRIM_BASE_H
#define BRIM_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define BRIM_API          __attribute__((visibility("default")))
#define BRIM_CHECK        __attribute__((warn_unused_result))
#define BRIM_PRINTF(a, b) __attribute__((format(printf, a, b)))
#else
#define BRIM_API
#define BRIM_CHECK
#define BRIM_PRINTF(a, b)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version ---------------------------------------------------------------------------------------------- */

/* "MAJOR.MINOR.PATCH"; static storage. */
BRIM_API const char *brim_version(void);
/* Whether this build reads files of that suffix ("gz", "zst", "xz", "bz2"); what a file is, its first bytes say. */
BRIM_API bool brim_reads_packed(const char *suffix);

/* ---- status and error ------------------------------------------------------------------------------------- */

typedef enum brim_status {
  BRIM_OK = 0,
  BRIM_END = 1,           /* a stream has no further item: not a failure, brim_error is untouched */
  BRIM_E_USAGE = 2,       /* an argument or option makes no sense; the caller must change the call */
  BRIM_E_MEMORY = 3,      /* an allocation failed */
  BRIM_E_IO = 4,          /* the system refused to open, read, write, sync or rename */
  BRIM_E_FORMAT = 5,      /* input is malformed: see file, line, byte */
  BRIM_E_UNSUPPORTED = 6, /* input is well-formed but asks for something brim does not have; the message names it */
  BRIM_E_MISMATCH = 7,    /* two inputs do not belong together (state and data, checkpoint and model, labels and head) */
  BRIM_E_CANCELLED = 8,   /* brim_runtime_cancel was called */
  BRIM_E_DIVERGED = 9,    /* a loss or gradient became non-finite */
  BRIM_E_INTERNAL = 10    /* a bug in brim */
} brim_status;

/* One failure, owned by the caller. `message` is one line: what is wrong and what to do, without the place. */
typedef struct brim_error {
  int code;       /* brim_status */
  int64_t line;   /* 1-based, 0 if there is none */
  int64_t byte;   /* 0-based offset into the (uncompressed) file, -1 if there is none */
  char file[256]; /* "" if there is none; long paths keep their end */
  char message[768];
} brim_error;

/* Fills *err (which may be NULL) and returns `code`. No line end in the text; it is cut when too long. */
BRIM_API int brim_error_set(brim_error *err, int code, const char *format, ...) BRIM_PRINTF(3, 4);
/* The same, with a place. `file` may be NULL; `line` 0 and `byte` -1 mean none. */
BRIM_API int brim_error_at(brim_error *err, int code, const char *file, int64_t line, int64_t byte, const char *format, ...)
    BRIM_PRINTF(6, 7);
/* Writes "file: line 3, byte 17: message" (the parts that exist) to buffer; returns the length it needed, like snprintf. */
BRIM_API size_t brim_error_text(const brim_error *err, char *buffer, size_t size);

/* ---- runtime ---------------------------------------------------------------------------------------------- */

/* Allocation hook. `allocate` returns memory aligned to at least 16 bytes or NULL; `resize` behaves like realloc (p may be NULL);
 * `release` accepts NULL. All three are called from any thread. */
typedef struct brim_allocator {
  void *(*allocate)(void *context, size_t size);
  void *(*resize)(void *context, void *pointer, size_t size);
  void (*release)(void *context, void *pointer);
  void *context;
} brim_allocator;

typedef enum brim_log_level { BRIM_LOG_DEBUG = 0, BRIM_LOG_INFO = 1, BRIM_LOG_WARNING = 2 } brim_log_level;
/* Called from the thread that called brim, never from a pool thread. `text` is one line without its end. */
typedef void (*brim_log_fn)(void *context, brim_log_level level, const char *text);

enum { BRIM_MOST_SLICES = 256 }; /* of a step: brim_plan_options.slices */

typedef enum brim_cpu_level {
  BRIM_CPU_PLAIN = 0,
  BRIM_CPU_AVX2 = 1,
  BRIM_CPU_AVX512 = 2,
  BRIM_CPU_AMX = 3 /* AVX-512, and products on AMX's tiles: of fp32 too, each value as the sum of three of 16 bits */
} brim_cpu_level;

typedef struct brim_runtime_options {
  int threads;                     /* 0: the environment's BRIM_THREADS, or the number of cores this process may use */
  const brim_allocator *allocator; /* NULL: malloc, realloc, free */
  brim_log_fn log;                 /* NULL: nothing is logged */
  void *log_context;
  const char *cpu; /* NULL or "auto": the best the machine has (the environment's BRIM_CPU lowers it);
                      "plain", "avx2", "avx512": that one, an error if the machine lacks it */
} brim_runtime_options;

/* Thread pool, allocator, CPU level and log callback. Must outlive everything made from it. */
typedef struct brim_runtime brim_runtime;

/* `options` NULL: all zero. */
BRIM_API int brim_runtime_new(const brim_runtime_options *options, brim_runtime **out, brim_error *err) BRIM_CHECK;
BRIM_API void brim_runtime_free(brim_runtime *runtime);
BRIM_API int brim_runtime_threads(const brim_runtime *runtime);
BRIM_API brim_cpu_level brim_runtime_cpu(const brim_runtime *runtime);
BRIM_API const char *brim_cpu_name(brim_cpu_level level); /* "plain", "avx2", "avx512", "amx" */
/* Asks every long call on this runtime to stop soon with BRIM_E_CANCELLED. Safe in a signal handler and from any thread. */
BRIM_API void brim_runtime_cancel(brim_runtime *runtime);
BRIM_API bool brim_runtime_cancelled(const brim_runtime *runtime);
/* Takes the request back, once the calls that it was meant for have returned: the runtime serves again. */
BRIM_API void brim_runtime_resume(brim_runtime *runtime);
/* To be called in the child of a fork, before anything else: threads do not survive a fork, so the runtime continues with the
 * calling thread alone (results do not depend on it). Datasets, tokenizers, plans and models made before the fork can be used and
 * freed; feeds, readers and encoders, which may have started threads, cannot. No call on the runtime may have been under
 * way. */
BRIM_API void brim_runtime_forked(brim_runtime *runtime);

/* ---- events ----------------------------------------------------------------------------------------------- */

/* One value of an event or a table cell. Strings are borrowed for the duration of the callback. */
typedef enum brim_value_kind {
  BRIM_VALUE_INT,
  BRIM_VALUE_REAL,
  BRIM_VALUE_TEXT,
  BRIM_VALUE_BOOL,
  BRIM_VALUE_JSON,
  BRIM_VALUE_UNSIGNED
} brim_value_kind;
typedef struct brim_field {
  const char *name;
  brim_value_kind kind;
  int64_t integer;  /* INT, BOOL; UNSIGNED: the bits of a uint64_t */
  double real;      /* REAL */
  const char *text; /* TEXT (UTF-8, NUL-terminated), JSON (a complete JSON value, written as it is) */
} brim_field;
/* An event: a kind ("start", "step", "eval", "epoch", "checkpoint", "end", "progress", ...) and its fields. */
typedef struct brim_event {
  const char *kind;
  const brim_field *fields;
  int field_count;
} brim_event;
/* Called from the thread that called brim. A non-zero return stops the run with that status, but for BRIM_DO_, which ask
 * something of training (brim_train_options.event) and nothing of anything else. */
typedef int (*brim_event_fn)(void *context, const brim_event *event);
enum { BRIM_DO_EVALUATE = 0x100, BRIM_DO_SAVE = 0x200 };

BRIM_API const brim_field *brim_event_field(const brim_event *event, const char *name); /* NULL if absent */

/* ---- growing text and JSON output ------------------------------------------------------------------------- */

/* A growing byte string, always NUL-terminated once non-empty. The first failed allocation makes it `failed`; later appends do
 * nothing and brim_text_status returns the failure. */
typedef struct brim_text {
  brim_runtime *runtime;
  char *data;
  size_t length, capacity;
  bool failed;
} brim_text;
BRIM_API void brim_text_init(brim_text *text, brim_runtime *runtime);
BRIM_API void brim_text_free(brim_text *text);
BRIM_API void brim_text_clear(brim_text *text); /* keeps the memory */
BRIM_API void brim_text_append(brim_text *text, const void *bytes, size_t length);
BRIM_API void brim_text_string(brim_text *text, const char *string);
BRIM_API void brim_text_printf(brim_text *text, const char *format, ...) BRIM_PRINTF(2, 3);
BRIM_API int brim_text_status(const brim_text *text, brim_error *err);

/* JSON, value by value: the writer puts commas, names and colons. `name` is the member's name, NULL in an array and for the
 * outermost value. What was opened must be closed. Memory and errors are those of the text: brim_text_status.
 *
 *   brim_json_writer json = {.out = &text};
 *   brim_json_open_object(&json, NULL);
 *   brim_json_put_integer(&json, "rows", 3);
 *   brim_json_close_object(&json);            gives {"rows":3} */
typedef struct brim_json_writer {
  brim_text *out;
  bool comma; /* private: a value precedes the next one */
} brim_json_writer;
BRIM_API void brim_json_open_object(brim_json_writer *json, const char *name);
BRIM_API void brim_json_close_object(brim_json_writer *json);
BRIM_API void brim_json_open_array(brim_json_writer *json, const char *name);
BRIM_API void brim_json_close_array(brim_json_writer *json);
BRIM_API void brim_json_put_integer(brim_json_writer *json, const char *name, int64_t value);
BRIM_API void brim_json_put_count(brim_json_writer *json, const char *name, uint64_t value);
/* The shortest of %.9g and %.17g that reads back the same double; null for what is not finite. */
BRIM_API void brim_json_put_number(brim_json_writer *json, const char *name, double value);
BRIM_API void brim_json_put_bool(brim_json_writer *json, const char *name, bool value);
BRIM_API void brim_json_put_string(brim_json_writer *json, const char *name, const char *value); /* NULL: null */
BRIM_API void brim_json_put_bytes(brim_json_writer *json, const char *name, const char *bytes, size_t length);
/* A value that is JSON already; one that failed makes the writer's text fail. */
BRIM_API void brim_json_put_text(brim_json_writer *json, const char *name, const brim_text *value);
/* A value that is JSON when formatted as by printf: at most 127 bytes; numbers have a decimal point in every locale. */
BRIM_API void brim_json_put_printf(brim_json_writer *json, const char *name, const char *format, ...) BRIM_PRINTF(3, 4);

/* ---- settings --------------------------------------------------------------------------------------------- */

/* One setting: a string, a number as it is written, or "true" or "false"; a list comes item by item under its name. */
typedef struct brim_setting {
  const char *name, *value; /* borrowed; `length` bytes and a NUL */
  size_t length;
  int64_t item; /* its number in a list, from 0; -1: it is in none */
  bool boolean; /* true or false without quotes */
} brim_setting;
/* What the function says is wrong gets its place in the file. */
typedef int (*brim_setting_fn)(void *context, const brim_setting *setting, brim_error *err);
/* Reads a JSON file that is one object of settings, {"name": value, ...}, in order; null members are passed over. */
BRIM_API int brim_settings_read(brim_runtime *runtime, const char *path, brim_setting_fn setting, void *context,
                                brim_error *err) BRIM_CHECK;

/* ---- files ------------------------------------------------------------------------------------------------ */

/* A file that is complete or absent: bytes go to a temporary name beside `path`; commit syncs and renames; free without commit
 * removes the temporary, and what a killed process left of this path is removed first. A file that is replaced keeps its mode; a
 * link is replaced, not its target. `path` "-" is standard output; it, devices and pipes are written through, and commit flushes.
 * A write that failed is never committed. */
typedef struct brim_file brim_file;
BRIM_API int brim_file_create(brim_runtime *runtime, const char *path, brim_file **out, brim_error *err) BRIM_CHECK;
BRIM_API int brim_file_write(brim_file *file, const void *bytes, size_t length, brim_error *err) BRIM_CHECK;
/* The same for a long work that may be killed: until commit the bytes are in PATH.partial, where free leaves what was synced, and
 * from where another process continues with its first `keep` bytes (0: with none); what comes after these is cut off. For regular
 * files only. BRIM_E_MISMATCH: fewer bytes are there; BRIM_E_USAGE: another process writes them. */
BRIM_API int brim_file_continue(brim_runtime *runtime, const char *path, uint64_t keep, brim_file **out,
                                brim_error *err) BRIM_CHECK;
/* What was written survives the process and a power cut from now on. */
BRIM_API int brim_file_sync(brim_file *file, brim_error *err) BRIM_CHECK;
/* Other bytes at the beginning, where as many were written: a header that counts what follows. Not of a pipe. */
BRIM_API int brim_file_rewrite(brim_file *file, const void *bytes, size_t length, brim_error *err) BRIM_CHECK;
BRIM_API int brim_file_commit(brim_file *file, brim_error *err) BRIM_CHECK; /* the file must still be freed */
BRIM_API void brim_file_free(brim_file *file);
/* create + write + commit. */
BRIM_API int brim_file_write_all(brim_runtime *runtime, const char *path, const void *bytes, size_t length,
                                 brim_error *err) BRIM_CHECK;
/* Whole file ("-": standard input) into fresh memory (NUL-terminated, NUL not counted), released with brim_runtime_release.
 * Refuses more than `limit` bytes (0: no limit). */
BRIM_API int brim_file_read_all(brim_runtime *runtime, const char *path, size_t limit, char **bytes, size_t *length,
                                brim_error *err) BRIM_CHECK;
/* Makes a folder and its parents; fine if it is there. */
BRIM_API int brim_make_folder(brim_runtime *runtime, const char *path, brim_error *err) BRIM_CHECK;
BRIM_API void brim_runtime_release(brim_runtime *runtime, void *pointer);

/* ---- models by name --------------------------------------------------------------------------------------- */

/* What a folder is wanted for, and so what it has to have. */
typedef enum brim_hub_part { BRIM_HUB_MODEL = 0, BRIM_HUB_TOKENIZER } brim_hub_part;
/* The folder of a model: `name` itself where there is a file or folder of that name, or where it is no name of the Hugging Face
 * hub's ("model", "owner/model"; "..", for example, is in none). Otherwise the snapshot in the hub's local cache, which
 * HF_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub is: of a branch, tag or commit, which
 * `revision` or "model@revision" names; NULL and nothing: "main". Of a folder of sentence-transformers whose modules.json
 * names a folder in it for the encoder, such as 0_Transformer: that folder. Nothing is fetched: a model that is not there, or
 * lacks a file, is BRIM_E_IO with the command that fetches it. *folder is released with brim_runtime_release. */
BRIM_API int brim_hub_find(brim_runtime *runtime, const char *name, const char *revision, brim_hub_part part, char **folder,
                           brim_error *err) BRIM_CHECK;

#ifdef __cplusplus
}
#endif
#endif
