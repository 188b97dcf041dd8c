/* exchange.c: sums over ranks, added in the order of the ranks by one of them for each piece, so that every rank has the same
 * bits and timing has no part in them. MPI's own sums promise no order.
 * Along the tree of slices (tree.h) it is the same with several sums a rank. What is gathered goes from each rank to all others.
 *
 * Large: of each block, every rank gets one piece from all others (reduce-scatter), adds it up and sends it to all (all-gather);
 * a rank sends and receives twice the values, whatever the number of ranks. Two ranks send each other all, but not along the
 * tree. Small: everybody sends all to everybody, or by way of rank 0 where they are many; one or two messages' time. */
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "dist/ranks.h"

enum { PIECE_BYTES = 1 << 20, MESSAGE_BYTES = 1 << 17, BUFFER_BYTES = 64 << 20, SMALL_BYTES = 4096, FEW_RANKS = 16, TESTS = 8 };

/* ---- waiting ---------------------------------------------------------------------------------------------- */

/* A while of turns for others, then naps that grow: ranks share cores where there are more of them. By the clock: where others
 * want the core a turn takes as long as all of theirs, and who naps is back sooner than who gives way. What is large takes its
 * time, while this rank computes: each look would take the core, and its caches, from that. */
static void yield(double waited, bool large) {
  const double turns = 2e-4, shortest = 2e-5, longest = large ? 2e-3 : 1e-3, share = waited / (large ? 4 : 16); /* seconds */
  if (waited < turns) {
    sched_yield();
    return;
  }
  const double nap = share < shortest ? shortest : share > longest ? longest : share;
  nanosleep(&(struct timespec){.tv_nsec = (long)(nap * 1e9)}, NULL);
}

/* Door is held. Returns the number of requests that are still under way, or -1. */
static int test_once(brim_ranks *r, brim_mpi_handle *requests, bool *pending, int count) {
  int left = 0;
  for (int i = 0; i < count; i++) {
    bool done = true;
    if (pending[i] && r->wire.test(r->wire.context, &requests[i], &done))
      return -1;
    pending[i] = pending[i] && !done;
    left += pending[i];
  }
  return left;
}

/* MPI moves some of a large message in each test, and none in between. */
static int test_all(brim_ranks *r, brim_mpi_handle *requests, bool *pending, int count, bool large) {
  int left = count;
  for (int i = 0; i < (large ? TESTS : 1) && left > 0; i++)
    left = test_once(r, requests, pending, count);
  return left;
}

int brim_exchange_fail(brim_ranks *r, brim_error *err) {
  pthread_mutex_lock(&r->door);
  r->broke = r->broke || !atomic_load(&r->broken);
  brim_heartbeat_break(r, r->wire.rank, BRIM_E_IO,
                       "a message to or from another rank failed: the network failed, or ranks do different things");
  pthread_mutex_unlock(&r->door);
  return brim_heartbeat_cause(r, err);
}

int brim_exchange_wait(brim_ranks *r, brim_mpi_handle *requests, bool *pending, int count, bool large, double patience,
                       brim_error *err) {
  const double begun = brim_seconds_now();
  double changed = begun;
  for (int known = count;;) {
    pthread_mutex_lock(&r->door);
    const int left = test_all(r, requests, pending, count, large);
    pthread_mutex_unlock(&r->door);
    if (left < 0)
      return brim_exchange_fail(r, err);
    if (left == 0)
      return BRIM_OK;
    if (atomic_load(&r->broken))
      return brim_heartbeat_cause(r, err);
    const double now = brim_seconds_now();
    if (patience > 0 && now - begun > patience)
      return brim_error_set(err, BRIM_E_IO,
                            "a rank has not answered for %.0f seconds: it has ended, or its machine cannot be reached", patience);
    if (left != known)
      changed = now, known = left;
    yield(now - changed, large);
  }
}

/* ---- messages --------------------------------------------------------------------------------------------- */

typedef struct sum {
  brim_ranks *ranks;
  size_t size; /* of a value */
  void (*add)(void *to, const void *from, size_t count);
  int failed; /* to send or to receive */
  bool large; /* messages */
} sum;

static void add_floats(void *to, const void *from, size_t count) {
  float *restrict a = to;
  const float *restrict b = from;
  for (size_t i = 0; i < count; i++)
    a[i] += b[i];
}

static void add_doubles(void *to, const void *from, size_t count) {
  double *restrict a = to;
  const double *restrict b = from;
  for (size_t i = 0; i < count; i++)
    a[i] += b[i];
}

static char *sent_to(const brim_ranks *r, int32_t rank) {
  return r->sent + (size_t)rank * r->piece_bytes;
}

static char *received_from(const brim_ranks *r, int32_t rank) {
  return r->received + (size_t)rank * r->piece_bytes;
}

/* Door is held. */
static void receive(sum *s, int32_t from, size_t count) {
  brim_ranks *r = s->ranks;
  if (count == 0 || s->failed)
    return;
  s->failed = r->wire.receive(r->wire.context, received_from(r, from), count * s->size, from, TAG_SUM, &r->requests[from]);
  r->pending[from] = !s->failed;
}

/* Door is held. What is sent is a copy: the wire may look at it even after this rank had to give up. */
static void send(sum *s, int32_t to, const void *values, size_t count) {
  brim_ranks *r = s->ranks;
  const int32_t at = r->wire.world + to;
  if (count == 0 || s->failed)
    return;
  memcpy(sent_to(r, to), values, count * s->size);
  s->failed = r->wire.send(r->wire.context, sent_to(r, to), count * s->size, to, TAG_SUM, &r->requests[at]);
  r->pending[at] = !s->failed;
}

static int finish(sum *s, brim_error *err) {
  brim_ranks *r = s->ranks;
  if (s->failed)
    return brim_exchange_fail(r, err);
  return brim_exchange_wait(r, r->requests, r->pending, 2 * r->wire.world, s->large, 0, err);
}

/* What `mine` and the pieces of all others come to, in the order of the ranks, into *mine: added up in the first one's. */
static void add_up(const sum *s, char *mine, size_t count) {
  const brim_ranks *r = s->ranks;
  char *all = r->wire.rank == 0 ? mine : received_from(r, 0);
  for (int32_t rank = 1; rank < r->wire.world; rank++)
    if (rank != r->wire.rank) {
      s->add(all, received_from(r, rank), count);
    } else {
      s->add(mine, all, count);
      all = mine;
    }
}

/* ---- small sums ------------------------------------------------------------------------------------------- */

static int sum_among_few(sum *s, char *values, size_t count, brim_error *err) {
  brim_ranks *r = s->ranks;
  pthread_mutex_lock(&r->door);
  for (int32_t rank = 0; rank < r->wire.world; rank++)
    if (rank != r->wire.rank)
      receive(s, rank, count);
  for (int32_t rank = 0; rank < r->wire.world; rank++)
    if (rank != r->wire.rank)
      send(s, rank, values, count);
  pthread_mutex_unlock(&r->door);
  BRIM_TRY(finish(s, err));
  add_up(s, values, count);
  return BRIM_OK;
}

static int sum_at_first(sum *s, char *values, size_t count, brim_error *err) {
  brim_ranks *r = s->ranks;
  const bool first = r->wire.rank == 0;
  pthread_mutex_lock(&r->door);
  for (int32_t rank = 1; rank < r->wire.world && first; rank++)
    receive(s, rank, count);
  if (!first) {
    send(s, 0, values, count);
    receive(s, 0, count);
  }
  pthread_mutex_unlock(&r->door);
  BRIM_TRY(finish(s, err));
  if (!first) {
    memcpy(values, received_from(r, 0), count * s->size);
    return BRIM_OK;
  }
  add_up(s, values, count);
  pthread_mutex_lock(&r->door);
  for (int32_t rank = 1; rank < r->wire.world; rank++)
    send(s, rank, values, count);
  pthread_mutex_unlock(&r->door);
  return finish(s, err);
}

/* ---- large sums ------------------------------------------------------------------------------------------- */

/* A block: at most `piece` values for each rank. */
typedef struct block {
  char *values;
  size_t count, piece;
} block;

/* Where a rank's piece begins among the values, and how many it has. */
typedef size_t (*pieces)(const void *of, int32_t rank, size_t *from);

static size_t piece_of(const void *of, int32_t rank, size_t *from) {
  const block *b = of;
  *from = (size_t)rank * b->piece;
  if (*from >= b->count)
    return 0;
  return b->count - *from < b->piece ? b->count - *from : b->piece;
}

/* Each rank's piece, to all. */
static int hand_round(sum *s, char *values, pieces pieces_of, const void *of, brim_error *err) {
  brim_ranks *r = s->ranks;
  size_t from, own_from, own = pieces_of(of, r->wire.rank, &own_from);
  pthread_mutex_lock(&r->door);
  for (int32_t rank = 0; rank < r->wire.world; rank++)
    if (rank != r->wire.rank)
      receive(s, rank, pieces_of(of, rank, &from));
  for (int32_t i = 1; i < r->wire.world; i++)
    send(s, (r->wire.rank + i) % r->wire.world, values + own_from * s->size, own);
  pthread_mutex_unlock(&r->door);
  BRIM_TRY(finish(s, err));
  for (int32_t rank = 0; rank < r->wire.world; rank++) {
    const size_t count = pieces_of(of, rank, &from);
    if (rank != r->wire.rank)
      memcpy(values + from * s->size, received_from(r, rank), count * s->size);
  }
  return BRIM_OK;
}

static int sum_block(sum *s, const block *b, brim_error *err) {
  brim_ranks *r = s->ranks;
  size_t from, own_from, own = piece_of(b, r->wire.rank, &own_from);
  pthread_mutex_lock(&r->door);
  for (int32_t rank = 0; rank < r->wire.world; rank++)
    if (rank != r->wire.rank)
      receive(s, rank, own);
  for (int32_t i = 1; i < r->wire.world; i++) { /* each begins with another one */
    const int32_t rank = (r->wire.rank + i) % r->wire.world;
    const size_t count = piece_of(b, rank, &from);
    send(s, rank, b->values + from * s->size, count);
  }
  pthread_mutex_unlock(&r->door);
  BRIM_TRY(finish(s, err));
  add_up(s, b->values + own_from * s->size, own);
  return hand_round(s, b->values, piece_of, b, err);
}

static int sum_blocks(sum *s, char *values, size_t count, brim_error *err) {
  const size_t world = (size_t)s->ranks->wire.world, most = s->ranks->piece_bytes / s->size;
  for (size_t from = 0; from < count;) {
    const size_t rest = count - from, even = (rest + world - 1) / world, piece = even < most ? even : most;
    const block b = {values + from * s->size, rest < piece * world ? rest : piece * world, piece};
    BRIM_TRY(sum_block(s, &b, err));
    from += b.count;
  }
  return BRIM_OK;
}

/* ---- large sums of two ranks ------------------------------------------------------------------------------ */

/* As many bytes as in two halves, and each value has the same bits on both. Two messages are under way at a time: the link has
 * always something to carry, and the copies of what it carries, the wire's among them, are few enough to stay in the caches,
 * where they leave room for what this rank computes meanwhile. */
typedef struct message {
  char *at;
  size_t count;
  int32_t slot;
} message;

static message message_of(const sum *s, char *values, size_t count, size_t messages, size_t i) {
  const size_t from = count * i / messages, to = count * (i + 1) / messages;
  return (message){values + from * s->size, to - from, (int32_t)(i % 2)};
}

static void begin_message(sum *s, message m) {
  brim_ranks *r = s->ranks;
  const size_t bytes = m.count * s->size, at = 2 * (size_t)m.slot;
  const int32_t other = 1 - r->wire.rank;
  pthread_mutex_lock(&r->door);
  s->failed = r->wire.receive(r->wire.context, received_from(r, m.slot), bytes, other, TAG_SUM, &r->requests[at]);
  r->pending[at] = !s->failed;
  if (!s->failed) {
    memcpy(sent_to(r, m.slot), m.at, bytes);
    s->failed = r->wire.send(r->wire.context, sent_to(r, m.slot), bytes, other, TAG_SUM, &r->requests[at + 1]);
    r->pending[at + 1] = !s->failed;
  }
  pthread_mutex_unlock(&r->door);
}

static int finish_message(sum *s, message m, brim_error *err) {
  brim_ranks *r = s->ranks;
  const size_t at = 2 * (size_t)m.slot;
  BRIM_TRY(brim_exchange_wait(r, r->requests + at, r->pending + at, 2, true, 0, err));
  s->add(m.at, received_from(r, m.slot), m.count);
  return BRIM_OK;
}

static int sum_of_two(sum *s, char *values, size_t count, brim_error *err) {
  const size_t room = s->ranks->piece_bytes < MESSAGE_BYTES ? s->ranks->piece_bytes : MESSAGE_BYTES, most = room / s->size;
  const size_t messages = (count + most - 1) / most;
  for (size_t i = 0; i < messages + 2; i++) {
    if (i >= 2)
      BRIM_TRY(finish_message(s, message_of(s, values, count, messages, i - 2), err));
    if (i < messages)
      begin_message(s, message_of(s, values, count, messages, i));
    if (s->failed)
      return brim_exchange_fail(s->ranks, err);
  }
  return BRIM_OK;
}

/* ---- any sum ---------------------------------------------------------------------------------------------- */

/* Buffers of the size that is needed, once. */
static int reserve(brim_ranks *r, size_t bytes, brim_error *err) {
  const size_t world = (size_t)r->wire.world;
  size_t most = BUFFER_BYTES / world / 64 * 64;
  most = most > PIECE_BYTES ? PIECE_BYTES : most < SMALL_BYTES ? SMALL_BYTES : most;
  bytes = bytes < SMALL_BYTES ? SMALL_BYTES : (bytes + 63) / 64 * 64;
  bytes = bytes > most ? most : bytes;
  if (bytes <= r->piece_bytes)
    return BRIM_OK;
  brim_release(r->runtime, r->sent);
  brim_release(r->runtime, r->received);
  r->sent = brim_alloc_array(r->runtime, world, bytes);
  r->received = brim_alloc_array(r->runtime, world, bytes);
  r->piece_bytes = r->sent && r->received ? bytes : 0;
  return r->piece_bytes ? BRIM_OK : BRIM_NOMEM(err);
}

static int begin(brim_ranks *r, size_t size, int64_t count, brim_error *err) {
  if (atomic_load(&r->broken))
    return brim_heartbeat_cause(r, err);
  const size_t bytes = (size_t)count * size;
  const int status = reserve(r, bytes <= SMALL_BYTES ? bytes : bytes / (size_t)r->wire.world + size, err);
  if (status) { /* the others wait for this rank */
    pthread_mutex_lock(&r->door);
    brim_heartbeat_break(r, r->wire.rank, status, "no memory for a sum over ranks");
    pthread_mutex_unlock(&r->door);
  }
  return status;
}

static int run(sum *s, void *values, int64_t count, brim_error *err) {
  brim_ranks *r = s->ranks;
  if (count <= 0 || r->wire.world <= 1)
    return BRIM_OK;
  BRIM_TRY(begin(r, s->size, count, err));
  s->large = (size_t)count * s->size > SMALL_BYTES;
  if (s->large)
    return (r->wire.world == 2 ? sum_of_two : sum_blocks)(s, values, (size_t)count, err);
  return (r->wire.world <= FEW_RANKS ? sum_among_few : sum_at_first)(s, values, (size_t)count, err);
}

int brim_exchange_sum(void *ranks, float *values, int64_t count, brim_error *err) {
  return run(&(sum){.ranks = ranks, .size = sizeof *values, .add = add_floats}, values, count, err);
}

int brim_exchange_sum_double(void *ranks, double *values, int64_t count, brim_error *err) {
  return run(&(sum){.ranks = ranks, .size = sizeof *values, .add = add_doubles}, values, count, err);
}

/* ---- what each rank has ------------------------------------------------------------------------------------- */

/* Of each rank's values those after its first `done`, `most` of them. */
typedef struct counted {
  const int64_t *counts;
  size_t done, most;
} counted;

static size_t counted_piece(const void *of, int32_t rank, size_t *from) {
  const counted *p = of;
  const size_t count = (size_t)p->counts[rank], rest = count > p->done ? count - p->done : 0;
  *from = count - rest;
  for (int32_t before = 0; before < rank; before++)
    *from += (size_t)p->counts[before];
  return rest < p->most ? rest : p->most;
}

int brim_exchange_gather(void *ranks, float *values, const int64_t *counts, brim_error *err) {
  sum s = {.ranks = ranks, .size = sizeof *values};
  int64_t most = 0;
  for (int32_t rank = 0; rank < s.ranks->wire.world; rank++)
    most = counts[rank] > most ? counts[rank] : most;
  if (most == 0 || s.ranks->wire.world <= 1)
    return BRIM_OK;
  BRIM_TRY(begin(s.ranks, s.size, most * s.ranks->wire.world, err));
  s.large = (size_t)most * s.size > SMALL_BYTES;
  for (counted p = {counts, 0, s.ranks->piece_bytes / s.size}; p.done < (size_t)most; p.done += p.most)
    BRIM_TRY(hand_round(&s, (char *)values, counted_piece, &p, err));
  return BRIM_OK;
}

/* ---- sums along the tree ---------------------------------------------------------------------------------- */

typedef struct tree_block {
  const brim_tree_sum *sum;
  int32_t *names; /* [name_count] of all sums */
  float **lists;  /* [name_count] where they lie, for this rank's piece */
  int32_t name_count, own_count;
  bool late;         /* all sums but the last one of each rank are in the rooms */
  size_t from, size; /* of the block, and of its pieces */
} tree_block;

/* The first sum of a rank that is sent now, and how many. */
static int32_t sent_of(const tree_block *t, int32_t rank, int32_t *first) {
  const int32_t count = brim_tree_sums_of(t->sum, rank);
  *first = t->late && count > 0 ? count - 1 : 0;
  return count - *first;
}

/* This rank's pieces of these sums, one after another. Door is held. */
static void send_sums(sum *s, const tree_block *t, int32_t to, size_t from, size_t count) {
  brim_ranks *r = s->ranks;
  const int32_t at = r->wire.world + to;
  int32_t first;
  const int32_t sums = sent_of(t, r->wire.rank, &first);
  const size_t bytes = count * s->size, all = bytes * (size_t)sums;
  if (all == 0 || s->failed)
    return;
  for (int32_t i = 0; i < sums; i++)
    memcpy(sent_to(r, to) + (size_t)i * bytes, t->sum->sums[first + i] + t->from + from, bytes);
  s->failed = r->wire.send(r->wire.context, sent_to(r, to), all, to, TAG_SUM, &r->requests[at]);
  r->pending[at] = !s->failed;
}

/* Of this rank's piece: all sums that were received and its own, into *out. */
static void add_along_tree(const sum *s, const tree_block *t, size_t from, size_t count) {
  const brim_ranks *r = s->ranks;
  if (count == 0)
    return;
  for (int32_t i = 0; i < t->name_count; i++) {
    const int32_t owner = t->sum->owners[t->names[i]], number = t->sum->numbers[t->names[i]];
    int32_t first;
    (void)sent_of(t, owner, &first);
    if (owner == r->wire.rank)
      t->lists[i] = t->sum->sums[number] + t->from + from;
    else if (number < first)
      t->lists[i] = t->sum->rooms[number] + t->from + (size_t)owner * t->size;
    else
      t->lists[i] = (float *)(void *)received_from(r, owner) + (size_t)(number - first) * count;
  }
  brim_tree_add(t->lists, t->names, t->name_count, count);
  memmove(t->sum->out + t->from + from, t->lists[0], count * s->size);
}

static int sum_tree_block(sum *s, const tree_block *t, const block *b, brim_error *err) {
  brim_ranks *r = s->ranks;
  int32_t first;
  size_t from, own_from, own = piece_of(b, r->wire.rank, &own_from);
  pthread_mutex_lock(&r->door);
  for (int32_t rank = 0; rank < r->wire.world; rank++)
    if (rank != r->wire.rank)
      receive(s, rank, own * (size_t)sent_of(t, rank, &first));
  for (int32_t i = 1; i < r->wire.world; i++) {
    const int32_t rank = (r->wire.rank + i) % r->wire.world;
    const size_t count = piece_of(b, rank, &from);
    send_sums(s, t, rank, from, count);
  }
  pthread_mutex_unlock(&r->door);
  BRIM_TRY(finish(s, err));
  add_along_tree(s, t, own_from, own);
  return hand_round(s, b->values, piece_of, b, err);
}

/* Up to value `count`. Pieces of a late call are those of the early one: buffers hold a rank's even share, or are the largest
 * that there are, so what is reserved in between does not change them. */
static int sum_tree_blocks(sum *s, tree_block *t, size_t count, brim_error *err) {
  const brim_ranks *r = s->ranks;
  const size_t world = (size_t)r->wire.world;
  int32_t most_sums = 1, first;
  for (int32_t rank = 0; rank < r->wire.world; rank++)
    most_sums = sent_of(t, rank, &first) > most_sums ? sent_of(t, rank, &first) : most_sums;
  const size_t most = r->piece_bytes / s->size / (size_t)most_sums;
  while (t->from < count) {
    const size_t rest = count - t->from, even = (rest + world - 1) / world, piece = even < most ? even : most;
    const block b = {(char *)(t->sum->out + t->from), rest < piece * world ? rest : piece * world, piece};
    t->size = piece;
    BRIM_TRY(sum_tree_block(s, t, &b, err));
    t->from += b.count;
  }
  return BRIM_OK;
}

/* Ranks change pieces of their sums of one number: that of rank q in this rank's sum for that of this rank in q's. No rank needs
 * more room, and the tree is for the late call. */
static int change_block(sum *s, const tree_block *t, int32_t number, size_t piece, brim_error *err) {
  brim_ranks *r = s->ranks;
  float *room = t->sum->rooms[number] + t->from;
  pthread_mutex_lock(&r->door);
  for (int32_t rank = 0; rank < r->wire.world; rank++)
    if (rank != r->wire.rank && number + 1 < brim_tree_sums_of(t->sum, rank))
      receive(s, rank, piece);
  for (int32_t i = 1; i < r->wire.world && number + 1 < t->own_count; i++) {
    const int32_t rank = (r->wire.rank + i) % r->wire.world;
    send(s, rank, room + (size_t)rank * piece, piece);
  }
  pthread_mutex_unlock(&r->door);
  BRIM_TRY(finish(s, err));
  for (int32_t rank = 0; rank < r->wire.world; rank++)
    if (rank != r->wire.rank && number + 1 < brim_tree_sums_of(t->sum, rank))
      memcpy(room + (size_t)rank * piece, received_from(r, rank), piece * s->size);
  return BRIM_OK;
}

/* All pieces of a block are equal: the values that cannot be shared out so wait for the late call. */
static int change_blocks(sum *s, tree_block *t, size_t count, brim_error *err) {
  const brim_ranks *r = s->ranks;
  const size_t world = (size_t)r->wire.world, most = r->piece_bytes / s->size;
  int32_t rounds = 0;
  for (int32_t rank = 0; rank < r->wire.world; rank++)
    rounds = brim_tree_sums_of(t->sum, rank) > rounds + 1 ? brim_tree_sums_of(t->sum, rank) - 1 : rounds;
  while (t->from < count) {
    const size_t even = (count - t->from) / world, piece = even < most ? even : most;
    for (int32_t number = 0; number < rounds; number++)
      BRIM_TRY(change_block(s, t, number, piece, err));
    t->from += piece * world;
  }
  return BRIM_OK;
}

static int sum_tree_in_calls(sum *s, tree_block *t, brim_error *err) {
  const size_t count = (size_t)t->sum->count, even = count - count % (size_t)s->ranks->wire.world;
  if (t->sum->call == BRIM_TREE_EARLY)
    return change_blocks(s, t, even, err);
  if (t->sum->call == BRIM_TREE_LATE) {
    t->late = true;
    BRIM_TRY(sum_tree_blocks(s, t, even, err));
    t->late = false;
  }
  return sum_tree_blocks(s, t, count, err);
}

/* Bytes of a piece are reserved for as many sums as there are names: more than a rank has. */
int brim_exchange_sum_tree(void *ranks, const brim_tree_sum *of, brim_error *err) {
  int32_t names[BRIM_MOST_SLICES];
  float *lists[BRIM_MOST_SLICES];
  sum s = {.ranks = ranks, .size = sizeof(float), .large = true};
  tree_block t = {.sum = of, .names = names, .lists = lists, .name_count = brim_tree_names(of, names)};
  if (of->count <= 0 || t.name_count == 0)
    return BRIM_OK;
  t.own_count = brim_tree_sums_of(of, s.ranks->wire.rank);
  BRIM_TRY(begin(s.ranks, s.size * (size_t)t.name_count, of->count, err));
  return sum_tree_in_calls(&s, &t, err);
}
