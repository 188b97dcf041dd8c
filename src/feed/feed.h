/* feed.h: the inside of brim_feed.
 *
 * The producing side (producer) makes windows one after another, in another thread if asked to; the consuming side hands out
 * the batches of one window. A window knows all that it began with, so a saved state is that and the number of the step. */
#ifndef BRIM_FEED_FEED_H
#define BRIM_FEED_FEED_H
#include "base/ordered.h"
#include "base/stop.h"
#include "batch/weight.h"
#include "brim/feed.h"
#include "data/dataset.h"
#include "data/empty_texts.h"
#include "data/labels.h"
#include "data/position.h"
#include "data/select.h"
#include <stdatomic.h>

#define BRIM_FEED_RECORD_BITS 40
#define BRIM_FEED_SOURCES     64
#define BRIM_FEED_DAMAGE      1000 /* rows that are listed */

typedef struct brim_spot {
  int64_t byte, line;
  int64_t number; /* of the row among those that its record gives: windows of masked words */
} brim_spot;

/* A row that is read but not yet planned, and where it is to be found again. */
typedef struct brim_waiting {
  uint64_t row; /* file << 40 | number in the file */
  brim_spot spot;
} brim_waiting;

/* Where a source is. */
typedef struct brim_mix_position {
  brim_position position; /* in the pass's order of its files */
  uint64_t pass;          /* with repeat; else the epoch */
  uint64_t rows_given;    /* of the slice, in this pass; 0 without slices */
} brim_mix_position;

/* What a window begins with. */
typedef struct brim_beginning {
  uint64_t epoch, window; /* the window's number in its epoch */
  uint64_t rows_taken;    /* of the epoch, by earlier windows, damaged ones too */
  brim_mix_position positions[BRIM_FEED_SOURCES];
  brim_feed_ledger ledger; /* of the epoch up to here; the consuming side fills it in */
  brim_waiting *waiting;   /* [waiting_count] rows of earlier windows, in their order */
  size_t waiting_count, waiting_room;
} brim_beginning;

void brim_beginning_free(brim_runtime *runtime, brim_beginning *beginning);
int brim_beginning_copy(brim_runtime *runtime, const brim_beginning *from, brim_beginning *to, brim_error *err) BRIM_CHECK;

typedef struct brim_window {
  brim_beginning beginning;
  brim_dataset *dataset; /* its rows */
  uint64_t *names;       /* [rows] row numbers of `waiting`, in an array of their own because batching reads nothing else */
  brim_spot *spots;      /* [rows] */
  size_t name_room, spot_room;
  brim_plan *plan;
  uint64_t waiting_step;  /* its rows wait for the next window; UINT64_MAX: none */
  bool last;              /* of its epoch */
  brim_exclusions damage; /* its damaged rows, the first of them */
  uint64_t rows_read, rows_excluded, rows_damaged, rows_truncated, tokens_lost, rows_empty; /* what this window added */
  uint64_t rows_surplus;            /* of the slice, that no step can take */
  bool idle;                        /* no rows: an empty step, while other ranks have one */
  double share_before, share_after; /* of the epoch: before this window, and before the next */
} brim_window;

void brim_window_free(brim_runtime *runtime, brim_window *window);
/* Empty again, with the memory that it had. */
void brim_window_clear(brim_runtime *runtime, brim_window *window);

/* The files, in the order in which the source gives them. */
typedef struct brim_shards {
  char **paths;                        /* [count] */
  uint64_t *prints;                    /* [count] fingerprints */
  int64_t *sizes;                      /* [count] on disk; below 0 when compressed */
  double bytes;                        /* of all */
  size_t first[BRIM_FEED_SOURCES + 1]; /* [source_count + 1] where each source's files begin */
  int source_count;
  bool once; /* a pipe is among them: they can be read only once */
  size_t count;
} brim_shards;

/* `apart`: each path is a source; else all are one. */
int brim_shards_find(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *options,
                     bool apart, brim_shards *out, brim_error *err) BRIM_CHECK;
/* BRIM_E_MISMATCH for the first of the files [first, first + count) that is not what it was when they were found: another name,
 * size or content. Pipes are passed over. */
int brim_shards_check(brim_runtime *runtime, const brim_shards *shards, size_t first, size_t count, brim_error *err) BRIM_CHECK;
void brim_shards_free(brim_runtime *runtime, brim_shards *shards);
/* The bytes that lie before a position in the files order[0, count). */
double brim_shards_before(const brim_shards *shards, const uint32_t *order, size_t count, const brim_position *position);

/* How many rows each rank has, where ranks read slices. */
typedef struct brim_rank_readers {
  int32_t world, rank;                     /* world 0: all ranks read all rows */
  uint64_t *rows_kept;                     /* [files] neither excluded nor damaged */
  uint64_t rows_read, rows_damaged;        /* of all files */
  uint64_t source_rows[BRIM_FEED_SOURCES]; /* of each source, over all ranks */
  uint64_t rows_all, rows_to_take;         /* of an epoch: over all ranks; those of this rank that its steps may have */
  uint64_t step_rows;                      /* of a step, on each rank */
  uint64_t steps;                          /* of an epoch, on every rank */
  bool drop, fill;                         /* how an epoch ends: all rows of the last step are there, or it may be short */
} brim_rank_readers;

/* This rank's run of rows in the files of a source, in the order of a pass. */
typedef struct brim_reader_range {
  size_t first, end; /* its files: [first, end) in that order */
  uint64_t skip;     /* rows of the first file that are an earlier rank's */
  uint64_t rows;
  bool to_end; /* reads its last file to the end, for what is excluded there */
} brim_reader_range;

/* Counts the rows of all files. *out must be freed whatever comes back. */
int brim_rank_readers_find(brim_runtime *runtime, const brim_shards *shards, const brim_feed_options *options,
                           brim_rank_readers *out, brim_error *err) BRIM_CHECK;
void brim_rank_readers_free(brim_runtime *runtime, brim_rank_readers *slices);
/* Rows of an epoch that a rank reads. */
uint64_t brim_rank_readers_rows(const brim_rank_readers *slices, int32_t rank);
/* `order`: the numbers of the source's `count` files in a pass's order. */
void brim_rank_readers_cut(const brim_rank_readers *slices, int source, const uint32_t *order, size_t count,
                           brim_reader_range *out);
/* The rows of a step of an epoch: on earlier ranks, and on all. */
void brim_rank_readers_step(const brim_rank_readers *slices, uint64_t step, uint64_t *before, uint64_t *all);
/* This rank's last step is empty. False without slices. */
bool brim_rank_readers_idle(const brim_rank_readers *slices);

/* One source of rows. */
typedef struct brim_tap {
  size_t first, count;     /* its files, in brim_shards and in the producer's order */
  brim_reader_range slice; /* without slices: all of them */
  uint64_t rows_given;     /* of the slice, in this pass */
  double weight;
  brim_encoder *encoder;
  uint64_t pass;
  bool pending;  /* `row` was read and is the next */
  bool read_all; /* there is none */
  bool given;    /* the pass has given a row */
  brim_encoded row;
  uint64_t next_row; /* number in the pass of the row to read */
} brim_tap;

typedef struct brim_producer {
  brim_runtime *runtime;
  const brim_tokenizer *tokenizer;
  const brim_feed_options *options;
  const brim_plan_options *plan; /* how a window is planned: with slices, for this rank alone */
  const brim_shards *shards;
  const brim_rank_readers *slices;
  const brim_empty_texts *empty;
  brim_beginning next;        /* of the window to make */
  brim_dataset *waiting_rows; /* those of next.waiting, in their order */

  brim_stop stop;
  _Atomic(brim_window *) spare; /* used up and cleared; the next one takes its memory. May be NULL */
  bool plain;                   /* all tokens of a text have type 0 */

  /* the epoch at hand */
  bool epoch_begun;
  uint64_t rows_taken; /* of the epoch */
  uint32_t *order;     /* [shards] */
  brim_tap *taps;      /* [tap_count] */
  int tap_count;
  brim_label_taker taker;
} brim_producer;

/* produce of brim_ordered: the next window, or BRIM_END after the last epoch. */
int brim_producer_next(void *producer, void **window, brim_error *err) BRIM_CHECK;
/* Takes a window that is used up. */
void brim_producer_take_back(brim_producer *producer, brim_window *window);
/* Begins where `next` says; encodes its waiting rows again. */
int brim_producer_start(brim_producer *producer, brim_error *err) BRIM_CHECK;
void brim_producer_free(brim_producer *producer);
/* A sample out of an encoded row, its label as a number, for this data set. */
int brim_producer_sample(brim_producer *producer, const brim_encoded *row, uint64_t name, brim_dataset *dataset, brim_sample *out,
                         brim_error *err) BRIM_CHECK;

/* mix.c: the rows of all sources. */
int brim_mix_taps(brim_producer *producer, brim_error *err) BRIM_CHECK;
/* Opens all files at the positions where the next window, which is being made, begins. */
int brim_mix_begin(brim_producer *producer, brim_window *window, brim_error *err) BRIM_CHECK;
void brim_mix_end(brim_producer *producer);
/* The tap whose row is the next of all; NULL after the last. */
brim_tap *brim_mix_choose(brim_producer *producer);
/* That row and count - 1 after it, the last of them number `last`, went into the window, or nowhere. */
int brim_mix_taken(brim_producer *producer, brim_tap *tap, brim_window *window, uint64_t count, uint64_t last,
                   brim_error *err) BRIM_CHECK;
/* Where the next window begins. */
void brim_mix_positions(brim_producer *producer, brim_window *window, brim_mix_position *out);
/* The rows of its slices that the epoch has given; 0 without slices. */
uint64_t brim_mix_rows(const brim_producer *producer);
/* The share of the epoch that lies before these positions. */
double brim_mix_share(const brim_producer *producer, const brim_mix_position *places);

struct brim_feed {
  brim_runtime *runtime;
  brim_feed_options options;
  double weights[BRIM_FEED_SOURCES]; /* backs options.weights */
  brim_shards shards;
  brim_rank_readers slices;
  brim_plan_options own; /* backs producer.plan */
  int32_t own_rank;      /* in it */
  uint64_t configuration;
  brim_empty_texts empty;
  int64_t least; /* tokens of the shortest row there can be */
  brim_producer producer;
  brim_ordered *windows;
  brim_window *window;      /* present; NULL before the first and after the last */
  uint64_t part, step;      /* the next part of the window's plan; steps of the window that are in the ledger */
  brim_beginning resume_at; /* where the feed is when there is no window */
  brim_feed_ledger ledger, finished;
  bool has_finished, broken;
  bool entered, pairs; /* a window has come; a row of one was a pair */
  /* Cancelled: the feed is in the present window, or the one that begins at resume_at, after so many steps and parts. */
  bool cancelled;
  uint64_t steps_done, parts_done;
  bool put_back;          /* `batch` comes again, and the feed is before it */
  brim_exclusions damage; /* of the present epoch */
  uint64_t *ids;          /* of a step in order of place */
  size_t id_room;
  brim_class_counter counter; /* of the present step, with the weights of brim_feed_weigh, or units of brim_feed_make */
  void (*make)(void *context, brim_batch *batch); /* with the counter's context */
  brim_batch batch;
  uint64_t tokenizer; /* brim_tokenizer_content */
};

/* A position in a window, as the state has it. */
typedef struct brim_feed_position {
  brim_beginning beginning;
  uint64_t step, part; /* steps that are done; parts of the next one that are done */
  uint64_t world;
} brim_feed_position;

int brim_state_write(const brim_feed *feed, const brim_feed_position *position, brim_text *out, brim_error *err) BRIM_CHECK;
/* Reads a state and compares it with the feed; *position must be freed whatever comes back. */
int brim_state_read(const brim_feed *feed, const char *state, size_t length, brim_feed_position *position,
                    brim_error *err) BRIM_CHECK;
/* Of everything that decides what comes out, but for the files. */
int brim_state_configuration(brim_feed *feed, const brim_tokenizer *tokenizer, brim_error *err) BRIM_CHECK;

#endif
