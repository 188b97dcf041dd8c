/* Rows that one rank of a machine reads and the others map: ranks as threads. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "brim/train.h"
#include "data/dataset.h"
#include "data_tokenizer.h"
#include "rank_case.h"
#include "same_rows.h"

static brim_tokenizer *tokenizer;
static brim_runtime *runtimes[MOST_RANKS]; /* each rank has its own */

typedef struct reader {
  member member;
  const char *const *paths;
  int count, status;
  bool encodes; /* the rows, itself */
  bool lies;    /* tells the others of other rows than those that it has put into memory */
  bool afar;    /* on another machine, as far as the others know */
  bool sealed;  /* nobody can change the memory that it has offered */
  brim_dataset_options options;
  brim_dataset *dataset;
  brim_error err;
} reader;

static int on_event(void *context, const brim_event *event) {
  reader *r = context;
  r->encodes |= strcmp(event->kind, "progress") == 0;
  return BRIM_OK;
}

/* What a rank tells, as brim_group_gather sends it, 32 bits a number: of what it is about to read, its machine first, and of its
 * rows, a descriptor and a fingerprint. */
enum { OFFER = 6, PLACE = 4, FINGERPRINT = 2 };

/* Nobody has mapped the memory for writing: the kernel refuses it, as it does to make it longer or shorter. */
static bool is_sealed(int descriptor) {
  const off_t size = lseek(descriptor, 0, SEEK_END);
  const bool kept = size > 0 && pwrite(descriptor, "", 1, 0) < 0 && errno == EPERM;
  return kept && ftruncate(descriptor, size - 1) && errno == EPERM && ftruncate(descriptor, size + 1) && errno == EPERM &&
         fcntl(descriptor, F_ADD_SEALS, F_SEAL_WRITE) && errno == EPERM;
}

static int sum_double(void *context, double *values, int64_t count, brim_error *err) {
  reader *r = context;
  double *offer = &values[OFFER * r->member.rank], *place = &values[PLACE * r->member.rank];
  if (r->afar && count == (int64_t)OFFER * r->member.meeting->world)
    offer[0] += offer[0] > 0 ? -1 : 1;
  if (count == (int64_t)PLACE * r->member.meeting->world) {
    if (r->lies)
      place[FINGERPRINT] += place[FINGERPRINT] > 0 ? -1 : 1;
    r->sealed = place[0] <= INT32_MAX && is_sealed((int)place[0]);
  }
  return meeting_sum_double(&r->member, values, count, err);
}

static int sum(void *context, float *values, int64_t count, brim_error *err) {
  reader *r = context;
  return meeting_sum(&r->member, values, count, err);
}

static void *load(void *context) {
  reader *r = context;
  brim_group group = meeting_group(&r->member);
  group.sum = sum, group.sum_double = sum_double, group.context = r, group.gather_values = NULL;
  r->options.progress = on_event;
  r->options.progress_context = r;
  r->status = brim_dataset_load_together(&group, runtimes[r->member.rank], r->paths, r->count, tokenizer, &r->options,
                                         &r->dataset, &r->err);
  return NULL;
}

static bool first_lies, last_is_afar;
static const brim_dataset_options *last_options; /* NULL: the last rank has those of all */

/* All ranks load the same; the last one `other`, if that is given. */
static void load_all(int32_t world, const char *const *paths, int count, brim_dataset_options options, const char *const *other,
                     reader *readers) {
  meeting all = {.world = world};
  pthread_t threads[MOST_RANKS];
  pthread_barrier_init(&all.barrier, NULL, (unsigned)world);
  for (int32_t r = 0; r < world; r++) {
    readers[r] = (reader){
        .member = {&all, r}, .paths = other && r == world - 1 ? other : paths, .count = count, .options = options};
    readers[r].lies = first_lies && r == 0;
    readers[r].afar = last_is_afar && r == world - 1;
    if (last_options && r == world - 1)
      readers[r].options = *last_options;
    if (pthread_create(&threads[r], NULL, load, &readers[r]))
      abort();
  }
  for (int32_t r = 0; r < world; r++)
    pthread_join(threads[r], NULL);
  pthread_barrier_destroy(&all.barrier);
}

/* Every rank has the rows that a process alone has; `encoded` of them have encoded them, `mapped` have a mapping. */
static void same_for_all(const char *name, int32_t world, const char *const *paths, int count, brim_dataset_options options,
                         const char *const *other, int encoded, int mapped) {
  reader readers[MOST_RANKS];
  brim_error err;
  const bool shares = mapped > 0 && !options.cache; /* the first rank's rows, in memory */
  bool good = true, sealed = true;
  load_all(world, paths, count, options, other, readers);
  for (int32_t r = 0; r < world; r++) {
    brim_dataset *alone = NULL;
    brim_dataset_options plain = last_options && r == world - 1 ? *last_options : options;
    plain.cache = NULL;
    good = good && !readers[r].status &&
           !brim_dataset_load(data_runtime, readers[r].paths, count, tokenizer, &plain, &alone, &err) &&
           same(alone, readers[r].dataset);
    encoded -= readers[r].encodes;
    mapped -= readers[r].dataset && readers[r].dataset->map;
    sealed = sealed && readers[r].sealed == (r == 0 && shares);
    brim_dataset_free(alone);
    brim_dataset_free(readers[r].dataset);
  }
  ok(good, "%s: the rows of a process alone %s", name, readers[0].err.message);
  ok(!encoded && !mapped, "%s: encoded by as many ranks as need be, mapped by the others (%d, %d)", name, encoded, mapped);
  ok(sealed, "%s: %s", name, shares ? "nobody can change the memory of all" : "there is no memory of all");
}

static const char *lines(const char *name, const char *text, int times) {
  char *all = calloc((size_t)times + 1, strlen(text));
  for (int i = 0; i < times; i++)
    strcat(all, text);
  const char *path = scratch_write(name, all);
  free(all);
  return path;
}

/* The same rows with the same labels' names in another order are other rows. */
static void other_labels(const char *const *pairs) {
  static const char *const forth[] = {"neg", "neutral", "pos"}, *const back[] = {"pos", "neutral", "neg"};
  brim_labels labels[2];
  brim_error err;
  brim_dataset_options options = {.source.need_label = true, .encode.max_length = 6}, other = options;
  if (brim_labels_make(data_runtime, BRIM_TASK_CLASSIFICATION, forth, 3, &labels[0], &err) ||
      brim_labels_make(data_runtime, BRIM_TASK_CLASSIFICATION, back, 3, &labels[1], &err))
    abort();
  options.labels = &labels[0], other.labels = &labels[1];
  last_options = &options;
  same_for_all("labels that are given", 3, pairs, 2, options, NULL, 1, 3);
  last_options = &other;
  same_for_all("other labels on a rank", 3, pairs, 2, options, NULL, 2, 2);
  last_options = NULL;
  for (int i = 0; i < 2; i++)
    brim_labels_free(&labels[i]);
}

static void shared(void) {
  static const brim_where train = {"split", "train"};
  const char *plain[] = {scratch_write("plain.txt", "abc\nd\nefg\n")}, *copy[] = {scratch_write("copy.txt", "abc\nd\nefg\n")};
  const char *pairs[] = {scratch_write("pairs.csv", "text,text_pair,label\nabc,,pos\nb,cd,neg\n,e,pos\nfghijklm,,neg\n"),
                         scratch_write("more.csv", "text,text_pair,label\nx,y,pos\nz,,neutral\n")};
  const char *words[] = {scratch_write("words.conll", "abc B-X\nb O\n\nd O\nef B-Y\ngh -100\n\n")};
  const char *chosen[] = {scratch_write("chosen.csv", "text,split,label\nab,train,1\nc,dev,0\n,train,1\nde,train,0\n")};
  const brim_dataset_options none = {0}, labelled = {.source.need_label = true, .encode.max_length = 6};
  const brim_dataset_options tagged = {.source.need_label = true, .task = BRIM_TASK_TOKENS};
  const brim_dataset_options some = {.source = {.need_label = true, .min_chars = 1, .where = &train, .where_count = 1}};
  same_for_all("4 ranks", 4, plain, 1, none, NULL, 1, 4);
  same_for_all("pairs and classes", 3, pairs, 2, labelled, NULL, 1, 3);
  same_for_all("words with labels", 2, words, 1, tagged, NULL, 1, 2);
  const brim_dataset_options wide = {.encode = {.max_length = 4, .max_windows = 2, .window_overlap = 1}};
  const brim_dataset_options apart = {
      .encode = {.max_length = 4, .max_windows = 2, .window_overlap = 1, .numbering = BRIM_NUMBER_TOKENS}};
  const char *long_texts[] = {scratch_write("long.txt", "abcdefgh\na\nbcd efg\n")};
  brim_dataset_options cut = tagged;
  cut.encode = wide.encode;
  same_for_all("windows", 2, long_texts, 1, wide, NULL, 1, 2);
  same_for_all("windows of words", 2, words, 1, cut, NULL, 1, 2);
  same_for_all("windows of masked words", 2, long_texts, 1, apart, NULL, 1, 2);
  same_for_all("excluded rows", 2, chosen, 1, some, NULL, 1, 2);
  same_for_all("another file on a rank", 3, plain, 1, none, copy, 2, 2);
  same_for_all("two ranks of two files", 2, plain, 1, none, copy, 2, 0);
  const brim_dataset_options others[] = {
      {.source.need_label = true, .encode.max_length = 4},
      {.source = {.need_label = true, .text_column = "text_pair", .pair_column = "text"}, .encode.max_length = 6},
      {.source = {.need_label = true, .min_chars = 1, .where = &train, .where_count = 1}, .task = BRIM_TASK_REGRESSION}};
  last_options = &others[0];
  same_for_all("another length on a rank", 3, pairs, 2, labelled, NULL, 2, 2);
  last_options = &others[1];
  same_for_all("other columns on a rank", 3, pairs, 2, labelled, NULL, 2, 2);
  last_options = &others[2];
  same_for_all("another task on a rank", 3, chosen, 1, some, NULL, 2, 2);
  other_labels(pairs);
  last_options = NULL;
  last_is_afar = true;
  same_for_all("another machine for a rank", 3, plain, 1, none, NULL, 2, 2);
  same_for_all("two ranks of two machines", 2, plain, 1, none, NULL, 2, 0);
  last_is_afar = false;
  brim_dataset_options cached = none;
  cached.cache = scratch_file("cache");
  same_for_all("a cache that is made", 3, plain, 1, cached, NULL, 1, 2);
  same_for_all("a cache that is used", 3, plain, 1, cached, NULL, 0, 3);
  setenv("BRIM_SHARE_ROWS", "none", 1);
  same_for_all("each for itself", 3, plain, 1, none, NULL, 3, 0);
  unsetenv("BRIM_SHARE_ROWS");
  first_lies = true;
  same_for_all("other rows than were told of", 3, plain, 1, none, NULL, 3, 1);
  first_lies = false;
}

/* Where rows cannot be put into memory for all: a limit on files stands for memory that is full. */
static void no_room(void) {
  const char *many[] = {lines("many.txt", "abc def ghi jkl mno pqr stu vwx\n", 500)};
  struct rlimit before, few;
  signal(SIGXFSZ, SIG_IGN);
  if (getrlimit(RLIMIT_FSIZE, &before))
    abort();
  few = before;
  few.rlim_cur = 4096;
  fflush(NULL);
  if (setrlimit(RLIMIT_FSIZE, &few))
    abort();
  reader readers[MOST_RANKS];
  load_all(3, many, 1, (brim_dataset_options){0}, NULL, readers);
  if (setrlimit(RLIMIT_FSIZE, &before))
    abort();
  bool good = true;
  for (int r = 0; r < 3; r++) {
    good = good && !readers[r].status && readers[r].encodes && same(readers[r].dataset, readers[0].dataset);
    good = good && !readers[r].dataset->map;
  }
  ok(good, "no room in memory: every rank reads for itself %s", readers[0].err.message);
  for (int r = 0; r < 3; r++)
    brim_dataset_free(readers[r].dataset);
}

static void failures(void) {
  reader readers[MOST_RANKS];
  const char *plain[] = {scratch_write("good.txt", "abc\n")}, *missing[] = {scratch_file("missing.txt")};
  const char *broken[] = {scratch_write("broken.csv", "text,label\nab,1\nc\n")};
  load_all(3, plain, 1, (brim_dataset_options){0}, missing, readers);
  ok(readers[0].status && readers[1].status && strstr(readers[2].err.message, "No such file") &&
         strstr(readers[0].err.message, "another rank failed"),
     "a missing file on one rank ends all: %s", readers[2].err.message);
  load_all(3, broken, 1, (brim_dataset_options){.source.need_label = true}, NULL, readers);
  bool good = readers[0].err.line == 3 && strstr(readers[1].err.message, "another rank failed");
  for (int r = 0; r < 3; r++)
    good = good && readers[r].status && !readers[r].dataset;
  ok(good, "a damaged row is told by the rank that reads: %s", readers[0].err.message);
}

int main(void) {
  data_start(2);
  tokenizer = data_tokenizer();
  brim_error err;
  for (int r = 0; r < MOST_RANKS; r++)
    if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtimes[r], &err))
      abort();
  shared();
  no_room();
  failures();
  brim_tokenizer_free(tokenizer);
  for (int r = 0; r < MOST_RANKS; r++)
    brim_runtime_free(runtimes[r]);
  brim_runtime_free(data_runtime);
  return tap_done();
}
