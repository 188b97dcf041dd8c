/* brim/feed.h: batches from files that are larger than memory.
 *
 *   shards in a random order -> parallel encoding, in order -> windows of so many rows -> a plan for each window -> batches
 *
 * One pull protocol: open, next, next, .., close; save at any time, restore in any later process. What comes out is a pure
 * function of the files, the tokenizer, the options and the seed: the number of threads, how many windows are prepared ahead and
 * how often the run was interrupted change nothing. */
#ifndef BRIM_FEED_H
#define BRIM_FEED_H
#include "brim/batch.h"
#ifdef __cplusplus
extern "C" {
#endif

/* All zero is a good default, but `plan` needs batch_size or max_tokens. Strings and labels are borrowed until close. */
typedef struct brim_feed_options {
  brim_source_options source; /* with need_label, labels must be given */
  brim_encode_options encode; /* max_length bounds the memory too */
  const brim_labels *labels;  /* the mapping that the model has: a feed sees too little at a time to make one */
  brim_plan_options plan; /* how each window is planned; its world_size and seed count for the feed. rows_for is not allowed */
  int32_t rank;           /* below plan.world_size. Every rank reads all rows and takes its parts */
  bool rank_slices;       /* each rank encodes only its slice of the rows; see brim_feed_open */
  uint64_t window;        /* rows that are shuffled and planned together; 0: 100,000 */
  uint64_t first_epoch;   /* the number of the first pass */
  uint64_t epochs;        /* passes over the data; 0: without end */
  const double *weights;  /* NULL: all paths are one source. Else [path_count]: each path is one, and this is its share of the
                             rows, against those of the others */
  bool repeat;            /* a source that ends begins again, in a new order, so that the shares hold for ever: one epoch
                             without end (epochs 0). Else an epoch gives each row of each source once, and a source that has
                             no more leaves its share to the others */
  int32_t prefetch;       /* windows prepared ahead by another thread, at most 1,000; 0: none, the caller waits for each */
} brim_feed_options;

/* What happened in an epoch, up to the present batch. Conservation: rows_read = rows_excluded + rows_damaged + rows_yielded +
 * rows_dropped + rows_waiting. Counts are over all ranks; with rank_slices of this rank, and the sums over the ranks are exact.
 */
typedef struct brim_feed_ledger {
  uint64_t epoch;
  uint64_t rows_read;     /* of the shards, up to the end of the present window */
  uint64_t rows_excluded; /* by min_chars and where */
  uint64_t rows_damaged;  /* with source.skip_damaged; one for the rest of a file too. See brim_feed_damage */
  uint64_t rows_yielded;
  uint64_t rows_dropped;                  /* by drop_last or BRIM_TAIL_DROP, at the end of the epoch */
  uint64_t rows_waiting;                  /* read, for later batches of the epoch */
  uint64_t rows_truncated, tokens_lost;   /* of the rows read */
  uint64_t tokens, slots, batches, steps; /* yielded */
  uint64_t rows_empty;                    /* of the rows read since open or restore: with an empty text, or without the second
                                             text that others of their window have */
  uint64_t tokens_repeated;               /* of these tokens, those that a window has from the one before */
  uint64_t hash; /* of the rows yielded, step by step in order of place; independent of world_size and padding */
} brim_feed_ledger;

/* Batches of one rank. Shards (plain, gz or zst files, globs, folders) come in an order shuffled by (seed, epoch), except with
 * BRIM_SEQUENTIAL. The source of a row is drawn by (seed, epoch, row's number in the epoch). Standard input ("-") and pipes can
 * be read once: epochs is 1 then, and there is no restore. Rows are taken `window` at a time, and the plan options compose each
 * window again; what fills no batch or step at the end of a window waits for the next one, so that only an epoch ends short. An
 * epoch never shares a batch with another. A damaged shard is an error with file and byte, in its turn, unless
 * source.skip_damaged passes over it.
 *
 * With rank_slices the rows that are left of each source, in the order of its files in that epoch, are cut into world_size runs
 * whose sizes differ by a row at most, and a rank has one of them: it opens the files of its run alone, passes over what lies
 * before it in the first of them, and shuffles and plans `window` of these rows at a time. For that, open counts the rows of
 * all files: one pass that tokenizes nothing, in which what is wrong with a file is found too. A step has batch_size / world_size
 * rows of every rank, so batch_size must be given and be a multiple of world_size; each rank cuts its share into parts by itself,
 * so ranks may take different numbers of parts, but they take the same number of steps, and know it from the counts. An epoch of
 * n rows has ceil(n / batch_size) steps: only the last is short, and in it a rank may have an empty batch; no row is repeated.
 * With drop_last or BRIM_TAIL_DROP it has floor(n / batch_size), and each rank's ledger counts what it left out, together fewer
 * than batch_size rows. batch->step_rows and batch->places are those of the whole step, as without slices; batch->divisor, with
 * labels of words, counts this rank's words alone: the sum over ranks is the step's, and a run takes it. Pipes cannot be sliced;
 * with `repeat` each source needs a row for every rank. */
typedef struct brim_feed brim_feed;
BRIM_API int brim_feed_open(brim_runtime *runtime, const char *const *paths, int path_count, const brim_tokenizer *tokenizer,
                            const brim_feed_options *options, brim_feed **out, brim_error *err) BRIM_CHECK;
/* The next batch, borrowed until the next call; it may be empty on a rank that has nothing to do. batch->rows names each row: see
 * brim_feed_file and brim_feed_record. batch->step counts steps of the epoch. BRIM_END after the last epoch. BRIM_E_CANCELLED
 * leaves the feed where it was, and the next call continues there; after any other failure, or if a pipe is read, it can only be
 * closed. */
BRIM_API int brim_feed_next(brim_feed *feed, const brim_batch **batch, brim_error *err) BRIM_CHECK;
/* The last batch, which nobody has used, comes again next time, and a place saved now is the one before it; the ledger has
 * counted it. Only after a brim_feed_next that gave one: for callers who are interrupted before they can hand it on. */
BRIM_API void brim_feed_put_back(brim_feed *feed);
/* Waits neither for a window nor for what may come through a pipe. */
BRIM_API void brim_feed_close(brim_feed *feed);

/* For those who compute steps: no batch of the present step is left on this rank (nor on any other). */
BRIM_API bool brim_feed_step_over(const brim_feed *feed);
/* The most that a batch of any rank can take (with rank_slices, of its share of a step): slots, texts, and tokens of a text with
 * its padding. Without max_length in the options a text has no bound: all are 0. */
BRIM_API void brim_feed_limits(const brim_feed *feed, int64_t *slots, int64_t *rows, int32_t *width);

/* Appends the present place as a JSON object: version, a hash of the configuration, one of each shard, the place where the window
 * begins, the places of the rows that waited for it (fewer than two steps have, as a rule), the batch in it, and a digest of
 * all of them: a state in which a number was changed is BRIM_E_FORMAT. */
BRIM_API int brim_feed_save(const brim_feed *feed, brim_text *out, brim_error *err) BRIM_CHECK;
/* Goes to a saved place: the next batch is the one after it. The window is read and encoded again, what came before it is passed
 * over (gz, zst) or not touched (plain). A state of other data, another tokenizer or other options is BRIM_E_MISMATCH and leaves
 * the feed as it was: other files, or the same from other paths in another order, by their number or the first that differs;
 * other weights as other options. Threads, prefetch, first_epoch and epochs may differ; world_size too at the end of a step,
 * where batch_size or `accumulate` is given. With rank_slices neither rank nor world_size may. Cancelled, the feed is at the
 * saved place; after any other failure it can only be closed. */
BRIM_API int brim_feed_restore(brim_feed *feed, const char *state, size_t length, brim_error *err) BRIM_CHECK;

/* Of the epoch of the present batch. */
BRIM_API void brim_feed_tell(const brim_feed *feed, brim_feed_ledger *out);
/* Of the last epoch that came to its end; false if there is none since open or restore. */
BRIM_API bool brim_feed_finished(const brim_feed *feed, brim_feed_ledger *out);
/* The damaged rows of the present epoch, in order, up to the present window and since open or restore: at most 1,000, of *count.
 * `row` is as in a batch. Borrowed until the next call. */
BRIM_API const brim_exclusion *brim_feed_damage(const brim_feed *feed, uint64_t *count);
/* About the most bytes that windows take: (prefetch + 2) * window rows of as many texts of max_length tokens as they may have,
 * and their plans. 0: without max_length there is no bound. */
BRIM_API uint64_t brim_feed_memory(const brim_feed *feed);

BRIM_API int64_t brim_feed_file_count(const brim_feed *feed);
BRIM_API const char *brim_feed_file_name(const brim_feed *feed, int64_t file);
/* The file of a row, and the row's number in it (from 0, excluded rows counted). */
static inline int64_t brim_feed_file(uint64_t row) {
  return (int64_t)(row >> 40);
}
static inline uint64_t brim_feed_record(uint64_t row) {
  return row & ((1ull << 40) - 1);
}

#ifdef __cplusplus
}
#endif
#endif
