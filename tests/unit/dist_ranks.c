/* Ranks over messages, as threads of one process: sums have the bits of the order of ranks, ends are common, a silent rank is
 * lost. */
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/reduce_tree.h"
#include "dist/group.h"
#include "dist/ranks.h"
#include "dist/shared.h"
#include "tap.h"

enum { MOST = 9 };

/* ---- memory that is given back in any case ---------------------------------------------------------------- */

/* Ranks that broke off keep what messages may still come into. */
typedef struct block {
  struct block *next, *before;
  size_t size;
  _Alignas(16) char bytes[];
} block;

static block *blocks;
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;

static void *take(void *context, size_t size) {
  (void)context;
  block *b = malloc(sizeof *b + size);
  b->size = size, b->before = NULL;
  pthread_mutex_lock(&blocks_lock);
  b->next = blocks;
  if (blocks)
    blocks->before = b;
  blocks = b;
  pthread_mutex_unlock(&blocks_lock);
  return b->bytes;
}

static void give(void *context, void *pointer) {
  (void)context;
  if (!pointer)
    return;
  block *b = (block *)((char *)pointer - offsetof(block, bytes));
  pthread_mutex_lock(&blocks_lock);
  *(b->before ? &b->before->next : &blocks) = b->next;
  if (b->next)
    b->next->before = b->before;
  pthread_mutex_unlock(&blocks_lock);
  free(b);
}

static void *retake(void *context, void *pointer, size_t size) {
  void *fresh = take(context, size);
  if (pointer) {
    const size_t had = ((block *)((char *)pointer - offsetof(block, bytes)))->size;
    memcpy(fresh, pointer, had < size ? had : size);
    give(context, pointer);
  }
  return fresh;
}

static const brim_allocator allocator = {take, retake, give, NULL};

/* ---- the wire --------------------------------------------------------------------------------------------- */

typedef struct message {
  struct message *next;
  int32_t from, to;
  int tag;
  size_t bytes;
  char data[];
} message;

typedef struct net {
  pthread_mutex_t lock;
  message *first;
  bool cut[MOST];   /* nothing comes from or to that rank */
  size_t longest;   /* bytes of a message of sums */
  size_t under_way; /* of those that one rank had sent and the others had not yet taken, at most */
  int good, cut_at; /* messages of sums that rank 1 can send to rank 0, before it fails or is cut off; 0: all */
} net;

typedef struct number {
  net *net;
  int32_t rank;
} number;

typedef struct awaited {
  void *data;
  size_t bytes;
  int32_t from;
  int tag;
} awaited;

/* Lock is held. */
static void note_sums(net *n, int32_t from) {
  size_t sum = 0;
  for (const message *m = n->first; m; m = m->next) {
    if (m->from != from || m->tag != TAG_SUM)
      continue;
    n->longest = m->bytes > n->longest ? m->bytes : n->longest;
    sum += m->bytes;
  }
  n->under_way = sum > n->under_way ? sum : n->under_way;
}

/* Only rank 1 looks. */
static bool counts_down(const number *p, int32_t to, int tag, int *left) {
  return tag == TAG_SUM && p->rank == 1 && to == 0 && *left > 0 && --*left == 0;
}

static int net_send(void *context, const void *data, size_t bytes, int32_t to, int tag, brim_mpi_handle *request) {
  number *p = context;
  if (to == p->rank || counts_down(p, to, tag, &p->net->good)) /* nobody takes what a rank sends to itself */
    return 1;
  message *m = malloc(sizeof *m + bytes), **end;
  *m = (message){.from = p->rank, .to = to, .tag = tag, .bytes = bytes};
  memcpy(m->data, data, bytes);
  request->pointer = NULL;
  pthread_mutex_lock(&p->net->lock);
  for (end = &p->net->first; *end;)
    end = &(*end)->next;
  *end = m;
  if (counts_down(p, to, tag, &p->net->cut_at))
    p->net->cut[1] = true;
  if (p->net->cut[p->rank] || p->net->cut[to])
    *end = NULL, free(m);
  note_sums(p->net, p->rank);
  pthread_mutex_unlock(&p->net->lock);
  return 0;
}

static int net_receive(void *context, void *data, size_t bytes, int32_t from, int tag, brim_mpi_handle *request) {
  awaited *a = take(NULL, sizeof *a);
  (void)context;
  *a = (awaited){data, bytes, from, tag};
  request->pointer = a;
  return 0;
}

static int net_test(void *context, brim_mpi_handle *request, bool *done) {
  number *p = context;
  awaited *a = request->pointer;
  bool wrong = false;
  *done = !a;
  if (!a)
    return 0;
  pthread_mutex_lock(&p->net->lock);
  for (message **at = &p->net->first; *at && !*done; at = &(*at)->next) {
    message *m = *at;
    if (m->from != a->from || m->to != p->rank || m->tag != a->tag)
      continue;
    wrong = m->bytes > a->bytes;
    memcpy(a->data, m->data, wrong ? a->bytes : m->bytes);
    *at = m->next;
    free(m);
    *done = true;
    break;
  }
  pthread_mutex_unlock(&p->net->lock);
  if (*done) {
    give(NULL, a);
    request->pointer = NULL;
  }
  return wrong;
}

/* ---- worlds ----------------------------------------------------------------------------------------------- */

typedef struct world world;
typedef struct one {
  world *world;
  number number;
  brim_runtime *runtime;
  brim_ranks *ranks;
  int status;
  bool speaks, whole;
  brim_error err;
} one;
struct world {
  net net;
  int32_t size;
  double timeout;
  void (*work)(one *o);
  one ones[MOST];
};

static void *run_one(void *context) {
  one *o = context;
  const brim_wire wire = {o->number.rank, o->world->size, &o->number, net_send, net_receive, net_test};
  const brim_runtime_options how = {.threads = 1, .allocator = &allocator};
  if (brim_runtime_new(&how, &o->runtime, &o->err))
    abort();
  if (brim_ranks_new(o->runtime, &wire, &(brim_ranks_options){.timeout = o->world->timeout}, &o->ranks, &o->err))
    abort();
  o->world->work(o);
  o->status = brim_ranks_settle(o->ranks, o->status, &o->err, &o->speaks);
  o->whole = brim_ranks_close(o->ranks);
  if (o->whole)
    brim_runtime_free(o->runtime);
  return NULL;
}

static void run_world(world *w, int32_t size, double timeout, void (*work)(one *o)) {
  pthread_t threads[MOST];
  *w = (world){.size = size, .timeout = timeout, .work = work};
  pthread_mutex_init(&w->net.lock, NULL);
  for (int32_t r = 0; r < size; r++) {
    w->ones[r] = (one){.world = w, .number = {&w->net, r}};
    if (pthread_create(&threads[r], NULL, run_one, &w->ones[r]))
      abort();
  }
  for (int32_t r = 0; r < size; r++)
    pthread_join(threads[r], NULL);
  for (message *m = w->net.first, *next; m; m = next)
    next = m->next, free(m);
  pthread_mutex_destroy(&w->net.lock);
}

static bool ended_well(const world *w) {
  bool fine = true;
  for (int32_t r = 0; r < w->size; r++)
    fine = fine && w->ones[r].status == BRIM_OK && w->ones[r].whole;
  return fine;
}

/* ---- sums ------------------------------------------------------------------------------------------------- */

static const int64_t counts[] = {1, 2, 7, 1023, 1025, 4097, 100003, 900007}; /* the last one: several blocks of at most 3 ranks */
enum { COUNTS = sizeof counts / sizeof *counts, FEW_RANKS = 3, MESSAGE = 1 << 17 };

static int count_of(const brim_group *group) {
  return group->world_size > FEW_RANKS ? COUNTS - 1 : COUNTS;
}

/* Of many sizes, so that the order of additions shows. */
static double value(int32_t rank, int64_t i) {
  return sin((double)(i % 1009 + 1) * (rank + 1)) * pow(10, (double)((i + rank * 5) % 13) - 6);
}

static void add_all(one *o) {
  const brim_group *group = brim_ranks_group(o->ranks);
  for (int k = 0; k < count_of(group) && !o->status; k++) {
    const int64_t count = counts[k];
    float *floats = malloc((size_t)count * sizeof *floats);
    double *doubles = malloc((size_t)count * sizeof *doubles);
    for (int64_t i = 0; i < count; i++)
      floats[i] = (float)value(group->rank, i), doubles[i] = value(group->rank, i);
    o->status = group->sum(group->context, floats, count, &o->err);
    if (!o->status)
      o->status = group->sum_double(group->context, doubles, count, &o->err);
    for (int64_t i = 0; i < count && !o->status; i++) {
      float f = (float)value(0, i);
      double d = value(0, i);
      for (int32_t r = 1; r < group->world_size; r++)
        f += (float)value(r, i), d += value(r, i);
      if (memcmp(&f, &floats[i], sizeof f) != 0 || memcmp(&d, &doubles[i], sizeof d) != 0)
        o->status = brim_error_set(&o->err, BRIM_E_INTERNAL, "value %lld of %lld differs", (long long)i, (long long)count);
    }
    free(floats), free(doubles);
  }
}

static void sums(void) {
  static world w;
  for (int32_t size = 1; size <= MOST; size++) {
    if (size != 2 && size != 3 && !tap_takes("add_all", (uint64_t)size))
      continue;
    run_world(&w, size, 20, add_all);
    bool fine = true;
    for (int32_t r = 0; r < size; r++)
      fine = fine && w.ones[r].status == BRIM_OK && w.ones[r].whole && w.ones[r].speaks == (r == 0);
    ok(fine, "%d ranks: floats and doubles have the bits of the order of ranks %s", (int)size, w.ones[0].err.message);
    if (size == 2)
      ok(w.net.longest > MESSAGE / 2 && w.net.longest <= MESSAGE && w.net.under_way <= 4 * MESSAGE,
         "two ranks send messages of 128 KB, of which few are under way");
  }
}

/* What each rank has comes to all: more than a message takes, little, or nothing, of some ranks or all. */
static void gather(one *o) {
  const brim_group *group = brim_ranks_group(o->ranks);
  static const int64_t sizes[][3] = {{0, 0, 0}, {1, 0, 5}, {0, 70000, 3}, {300001, 0, 7}, {300001, 299999, 1}};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes && !o->status; k++) {
    int64_t of[MOST], all = 0, at = 0;
    for (int32_t r = 0; r < group->world_size; r++)
      all += of[r] = sizes[k][r % 3];
    float *values = calloc((size_t)all + 1, sizeof *values);
    for (int32_t r = 0; r < group->world_size; at += of[r], r++)
      for (int64_t i = 0; i < of[r] && r == group->rank; i++)
        values[at + i] = (float)value(r, i);
    o->status = group->gather_values(group->context, values, of, &o->err);
    at = 0;
    for (int32_t r = 0; r < group->world_size && !o->status; at += of[r], r++)
      for (int64_t i = 0; i < of[r] && !o->status; i++)
        if (values[at + i] != (float)value(r, i))
          o->status = brim_error_set(&o->err, BRIM_E_INTERNAL, "value %lld of rank %d differs", (long long)i, (int)r);
    free(values);
  }
}

static void gathers(void) {
  static world w;
  for (int32_t size = 1; size <= MOST; size++) {
    if (size != 2 && size != 3 && !tap_takes("gather", (uint64_t)size))
      continue;
    run_world(&w, size, 20, gather);
    ok(ended_well(&w), "%d ranks gather what each of them has %s", (int)size, w.ones[0].err.message);
  }
}

enum { SLICES = 20 };

/* Which rank has the sum of a slice, and as its how manieth. */
typedef struct deal {
  brim_slice_range run; /* of this rank */
  int32_t owners[SLICES], places[SLICES];
  int32_t room_count; /* as many as any rank has sums, or more */
} deal;

/* Each rank has a sum for every other slice of its run, the last ones first on every other rank. */
static deal deal_slices(const brim_group *group) {
  deal d = {.run = brim_slice_range_of(SLICES, group->world_size, group->rank), .room_count = SLICES / group->world_size / 2 + 1};
  for (int32_t i = 0; i < SLICES; i++)
    d.owners[i] = -1;
  for (int32_t r = 0; r < group->world_size; r++) {
    const brim_slice_range of = brim_slice_range_of(SLICES, group->world_size, r);
    for (int32_t at = of.first; at < of.end; at += 2)
      d.owners[at] = r, d.places[at] = r % 2 ? (of.end - 1 - of.first) / 2 - (at - of.first) / 2 : (at - of.first) / 2;
  }
  return d;
}

/* A sum along the tree. Where a rank has no sum of a place its room is there, and what is in it is of no use: the pieces of
 * others come into it. */
typedef struct tree {
  float *all[SLICES], *own[SLICES], *rooms[SLICES], *out;
  int32_t own_count, room_count;
  bool in_place;
  brim_tree_sum sum;
} tree;

static void make_tree(tree *t, const deal *d, int64_t count, bool in_place) {
  const size_t size = (size_t)count * sizeof(float);
  *t = (tree){.room_count = d->room_count};
  for (int32_t i = 0; i < SLICES; i++) {
    if (d->owners[i] < 0)
      continue;
    t->all[i] = malloc(size);
    for (int64_t j = 0; j < count; j++)
      t->all[i][j] = (float)value(i, j);
    if (i < d->run.first || i >= d->run.end)
      continue;
    t->own[d->places[i]] = malloc(size);
    memcpy(t->own[d->places[i]], t->all[i], size);
    t->own_count++;
  }
  for (int32_t i = 0; i < t->room_count; i++)
    t->rooms[i] = i + 1 < t->own_count ? t->own[i] : malloc(size);
  t->in_place = in_place && t->own_count > 0;
  t->out = t->in_place ? t->own[t->own_count - 1] : malloc(size);
  t->sum = (brim_tree_sum){.slices = SLICES,
                           .owners = d->owners,
                           .numbers = d->places,
                           .sums = t->own,
                           .out = t->out,
                           .count = count,
                           .rooms = t->rooms};
}

static int send_tree(one *o, const brim_group *group, tree *t, brim_tree_call call) {
  t->sum.call = call;
  return brim_group_sum_tree(group, o->runtime, &t->sum, &o->err);
}

static int check_tree(one *o, tree *t) {
  int32_t names[SLICES];
  float *lists[SLICES];
  const int32_t count = brim_tree_names(&t->sum, names);
  const size_t values = (size_t)t->sum.count;
  for (int32_t i = 0; i < count; i++)
    lists[i] = t->all[names[i]];
  brim_tree_add(lists, names, count, values);
  if (memcmp(t->out, lists[0], values * sizeof *t->out) == 0)
    return BRIM_OK;
  return brim_error_set(&o->err, BRIM_E_INTERNAL, "other bits in a sum of %lld", (long long)t->sum.count);
}

static void free_tree(tree *t) {
  if (!t->in_place)
    free(t->out);
  for (int32_t i = t->own_count > 0 ? t->own_count - 1 : 0; i < t->room_count; i++)
    free(t->rooms[i]);
  for (int32_t i = 0; i < t->own_count; i++)
    free(t->own[i]);
  for (int32_t i = 0; i < SLICES; i++)
    free(t->all[i]);
}

/* All have the bits of the tree, whatever the sizes of pieces: in one call; or in two, both sums early before one is late: the
 * smaller one first, which is begun with smaller buffers than it ends with, or the larger one. */
static void add_slices(one *o) {
  const brim_group *group = brim_ranks_group(o->ranks);
  const deal d = deal_slices(group);
  for (int k = 0; k < count_of(group) && !o->status; k++) {
    const bool twice = k % 4 > 1;
    const brim_tree_call calls[] = {twice ? BRIM_TREE_EARLY : BRIM_TREE_ALL, BRIM_TREE_LATE};
    brim_group by_doubles = *group;
    if (k % 3 == 2)
      by_doubles.sum_tree = NULL;
    tree trees[2];
    for (int i = 0; i <= twice; i++)
      make_tree(&trees[i], &d, counts[k - (twice && i == k % 2)], k % 2);
    for (int call = 0; call <= twice; call++)
      for (int i = 0; i <= twice && !o->status; i++)
        o->status = send_tree(o, &by_doubles, &trees[i], calls[call]);
    for (int i = 0; i <= twice; i++) {
      o->status = o->status ? o->status : check_tree(o, &trees[i]);
      free_tree(&trees[i]);
    }
  }
}

static void slices(void) {
  static world w;
  for (int32_t size = 1; size <= MOST; size++) {
    if (size != 2 && size != 3 && !tap_takes("add_slices", (uint64_t)size))
      continue;
    run_world(&w, size, 20, add_slices);
    ok(ended_well(&w), "%d ranks: sums of slices have the bits of the tree %s", (int)size, w.ones[0].err.message);
  }
}

/* All see what each has written; where one rank has none, nobody has. */
static void share(one *o) {
  enum { BYTES = 10000 };
  const brim_group *group = brim_ranks_group(o->ranks);
  brim_shared *shared = NULL, *none = NULL;
  o->status = brim_shared_open(group, o->runtime, true, BYTES, &shared, &o->err);
  if (!o->status && !shared)
    o->status = brim_error_set(&o->err, BRIM_E_INTERNAL, "ranks of one process share no memory");
  for (int32_t turn = 0; turn < 3 && !o->status; turn++) {
    char *own = brim_shared_of(shared, group->rank);
    bool right = turn > 0 || (own[0] == 0 && own[BYTES - 1] == 0);
    memset(own, 100 * turn + group->rank, BYTES);
    o->status = brim_group_agree(group, BRIM_OK, &o->err);
    for (int32_t r = 0; r < group->world_size; r++) {
      const char *theirs = brim_shared_of(shared, r);
      right = right && theirs[0] == (char)(100 * turn + r) && theirs[BYTES - 1] == theirs[0];
    }
    o->status = o->status ? o->status : brim_group_agree(group, BRIM_OK, &o->err);
    if (!o->status && !right)
      o->status = brim_error_set(&o->err, BRIM_E_INTERNAL, "a rank sees something else");
  }
  if (!o->status)
    o->status = brim_shared_open(group, o->runtime, group->rank != group->world_size - 1, BYTES, &none, &o->err);
  if (!o->status && none)
    o->status = brim_error_set(&o->err, BRIM_E_INTERNAL, "memory of a rank that has none");
  brim_shared_close(none);
  brim_shared_close(shared);
}

static void shares(void) {
  static world w;
  for (int32_t size = 2; size <= MOST; size += 3) {
    run_world(&w, size, 20, share);
    ok(ended_well(&w), "%d ranks see one another's memory, or none does %s", (int)size, w.ones[0].err.message);
  }
}

static void give_texts(one *o) {
  const brim_group *group = brim_ranks_group(o->ranks);
  static const char *const words[] = {"", "one", "\xc3\xa4 longer text of another rank", "x"};
  char *all, *at;
  o->status = brim_group_gather_texts(group, o->runtime, words[group->rank % 4], &all, &o->err);
  if (o->status)
    return;
  at = all;
  for (int32_t r = 0; r < group->world_size; at += strlen(at) + 1, r++)
    if (strcmp(at, words[r % 4]) != 0)
      o->status = brim_error_set(&o->err, BRIM_E_INTERNAL, "rank %d has \"%s\"", (int)r, at);
  brim_runtime_release(o->runtime, all);
}

/* ---- failures --------------------------------------------------------------------------------------------- */

/* The last rank fails before a sum in which the others wait for it. */
static void fail_last(one *o) {
  const brim_group *group = brim_ranks_group(o->ranks);
  double part = 1;
  if (group->rank == group->world_size - 1)
    o->status = brim_error_at(&o->err, BRIM_E_FORMAT, "data.csv", 7, -1, "no text");
  else
    o->status = group->sum_double(group->context, &part, 1, &o->err);
}

static void fail_all(one *o) {
  const brim_group *group = brim_ranks_group(o->ranks);
  const int own = group->rank == 1 ? brim_error_set(&o->err, BRIM_E_IO, "No space left on device") : BRIM_OK;
  o->status = brim_group_agree(group, own, &o->err);
}

/* The second rank is cut off, and waits like the others. */
static void cut_off(one *o) {
  const brim_group *group = brim_ranks_group(o->ranks);
  double part = 1;
  for (int i = 0; i < 1000 && !o->status; i++) {
    if (i == 20 && group->rank == 1) {
      pthread_mutex_lock(&o->number.net->lock);
      o->number.net->cut[1] = true;
      pthread_mutex_unlock(&o->number.net->lock);
    }
    o->status = group->sum_double(group->context, &part, 1, &o->err);
  }
}

/* As a program does that says what it keeps. */
static void add_kept(one *o) {
  const size_t length = strlen(o->err.message);
  snprintf(o->err.message + length, sizeof o->err.message - length, "; step 20 is kept");
}

static void cut_off_kept(one *o) {
  cut_off(o);
  add_kept(o);
}

static void fail_all_kept(one *o) {
  fail_all(o);
  add_kept(o);
}

static void fail_last_kept(one *o) {
  fail_last(o);
  if (o->number.rank == 0)
    add_kept(o);
}

static void cut_first(one *o) {
  const brim_group *group = brim_ranks_group(o->ranks);
  double part = 1;
  if (group->rank == 0) {
    pthread_mutex_lock(&o->number.net->lock);
    o->number.net->cut[0] = true;
    pthread_mutex_unlock(&o->number.net->lock);
  }
  o->status = group->sum_double(group->context, &part, 1, &o->err);
}

/* The others had nothing more to do when they hear of it. */
static void cut_first_at_end(one *o) {
  if (o->number.rank == 0) {
    pthread_mutex_lock(&o->number.net->lock);
    o->number.net->cut[0] = true;
    pthread_mutex_unlock(&o->number.net->lock);
  }
  while (!atomic_load(&o->ranks->broken))
    usleep(1000);
}

enum { MANY = 1 << 20, HALFWAY = 3 };

static int sum_many(one *o) {
  const brim_group *group = brim_ranks_group(o->ranks);
  float *many = calloc(MANY, sizeof *many);
  const int status = group->sum(group->context, many, MANY, &o->err);
  free(many);
  return status;
}

/* In the middle of a large sum, messages of which are under way both ways. */
static void cut_halfway(one *o) {
  if (o->number.rank == 1)
    o->number.net->cut_at = HALFWAY;
  o->status = sum_many(o);
}

static void fail_halfway(one *o) {
  if (o->number.rank == 1)
    o->number.net->good = HALFWAY;
  o->status = sum_many(o);
}

static void do_otherwise(one *o) {
  const brim_group *group = brim_ranks_group(o->ranks);
  double many[600] = {0};
  o->status = group->sum_double(group->context, many, group->rank == 1 ? 600 : 3, &o->err);
}

static void failures(void) {
  static world w;
  run_world(&w, 3, 20, fail_last);
  ok(w.ones[0].status == BRIM_E_FORMAT && w.ones[1].status && w.ones[2].status == BRIM_E_FORMAT, "one fails, all fail");
  ok(w.ones[0].speaks && !w.ones[1].speaks && !w.ones[2].speaks, "the first says so");
  ok_string(w.ones[0].err.message, "rank 2: data.csv: line 7: no text", "with the rank's name");
  run_world(&w, 4, 20, fail_all);
  bool whole = true;
  for (int r = 0; r < 4; r++)
    whole = whole && w.ones[r].whole && w.ones[r].status == BRIM_E_IO;
  ok(whole, "ranks that agree on a failure end in order");
  ok_string(w.ones[0].err.message, "rank 1: No space left on device", "and the reason is told once");
  run_world(&w, 3, 2, cut_off);
  ok(w.ones[0].status == BRIM_E_IO && w.ones[2].status == BRIM_E_IO && w.ones[0].speaks && !w.ones[0].whole,
     "a rank that is cut off is lost: %s", w.ones[0].err.message);
  ok(strstr(w.ones[0].err.message, "rank 1 (") && strstr(w.ones[2].err.message, "rank 1 ("), "and named on all others");
  ok(w.ones[1].status == BRIM_E_IO && strstr(w.ones[1].err.message, "rank 0 ("), "it does not wait either");
  run_world(&w, 3, 2, cut_off_kept);
  ok(w.ones[0].status == BRIM_E_IO && strstr(w.ones[0].err.message, "rank 1 (") &&
         strstr(w.ones[0].err.message, "; step 20 is kept") && !strstr(strstr(w.ones[0].err.message, "; ") + 1, "; "),
     "with what is kept, once: %s", w.ones[0].err.message);
  run_world(&w, 3, 20, fail_all_kept);
  ok_string(w.ones[0].err.message, "rank 1: No space left on device; step 20 is kept", "also where both say what is kept");
  run_world(&w, 3, 20, fail_last_kept);
  ok_string(w.ones[0].err.message, "rank 2: data.csv: line 7: no text; step 20 is kept", "or only the first");
  run_world(&w, 3, 2, cut_first);
  ok(w.ones[1].status == BRIM_E_IO && w.ones[1].speaks && !w.ones[2].speaks && strstr(w.ones[1].err.message, "rank 0 ("),
     "the first is lost: the second says so: %s", w.ones[1].err.message);
  run_world(&w, 3, 2, cut_first_at_end);
  ok(w.ones[1].status == BRIM_E_IO && w.ones[1].speaks && !w.ones[2].speaks && strstr(w.ones[1].err.message, "rank 0 (") &&
         strstr(w.ones[2].err.message, "rank 0 ("),
     "also where the others have done their work: %s", w.ones[1].err.message);
  for (int32_t size = 2; size <= 3; size++) {
    run_world(&w, size, 2, cut_halfway);
    ok(w.ones[0].status == BRIM_E_IO && w.ones[1].status == BRIM_E_IO && !w.ones[0].whole && !w.ones[1].whole &&
           strstr(w.ones[0].err.message, "rank 1 ("),
       "%d ranks: one is cut off in the middle of a sum: %s", (int)size, w.ones[0].err.message);
    run_world(&w, size, 20, fail_halfway);
    ok(w.ones[0].status == BRIM_E_IO && w.ones[1].status == BRIM_E_IO && !w.ones[0].whole && !w.ones[1].whole &&
           strstr(w.ones[0].err.message, "rank 1: a message to or from another rank failed"),
       "%d ranks: one cannot send the rest of a sum: %s", (int)size, w.ones[0].err.message);
  }
  run_world(&w, 2, 1, do_otherwise);
  ok(w.ones[0].status == BRIM_E_IO && strstr(w.ones[0].err.message, "do different things") && w.ones[1].status,
     "ranks that do different things end: %s", w.ones[0].err.message);
}

int main(void) {
  static world w;
  sums();
  gathers();
  slices();
  shares();
  run_world(&w, 7, 20, give_texts);
  ok(w.ones[0].status == BRIM_OK && w.ones[6].status == BRIM_OK, "texts of all ranks %s", w.ones[0].err.message);
  ok(!blocks, "ranks that end together give back all memory");
  failures();
  while (blocks)
    give(NULL, blocks->bytes);
  return tap_done();
}
