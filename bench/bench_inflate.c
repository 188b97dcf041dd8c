/* What decompression alone costs, for `make bench-data`: bench_inflate PASSES FILE.gz... prints the seconds of the best pass, in
 * which every file is decompressed whole into the same memory, by libdeflate where brim was built with it, else by zlib. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if BRIM_LIBDEFLATE
#include <libdeflate.h>
#endif
#include <zlib.h>

typedef struct bytes {
  unsigned char *data;
  size_t length;
} bytes;

static void die(const char *what) {
  fprintf(stderr, "bench_inflate: %s\n", what);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bytes read_file(const char *path) {
  bytes b = {0};
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0)
    die(path);
  b.length = (size_t)ftell(file);
  b.data = malloc(b.length);
  rewind(file);
  if (!b.data || fread(b.data, 1, b.length, file) != b.length)
    die(path);
  fclose(file);
  return b;
}

/* Of one member, as `brim shard` writes it: its text's length stands at its end. */
static size_t text_length(const bytes *packed) {
  if (packed->length < 18)
    die("a file is shorter than a gzip member");
  const unsigned char *end = packed->data + packed->length - 4;
  return end[0] | (size_t)end[1] << 8 | (size_t)end[2] << 16 | (size_t)end[3] << 24;
}

static void inflate_whole(const bytes *packed, bytes *text) {
#if BRIM_LIBDEFLATE
  static struct libdeflate_decompressor *decompressor;
  if (!decompressor && !(decompressor = libdeflate_alloc_decompressor()))
    die("no memory");
  size_t made; /* asked for: else the text would have to fill the memory */
  if (libdeflate_gzip_decompress(decompressor, packed->data, packed->length, text->data, text->length, &made) !=
      LIBDEFLATE_SUCCESS)
    die("a file is not one gzip member");
#else
  z_stream z = {
      .next_in = packed->data, .avail_in = (uInt)packed->length, .next_out = text->data, .avail_out = (uInt)text->length};
  if (inflateInit2(&z, 31) != Z_OK || inflate(&z, Z_FINISH) != Z_STREAM_END)
    die("a file is not one gzip member");
  inflateEnd(&z);
#endif
}

int main(int argc, char **argv) {
  if (argc < 3)
    die("usage: bench_inflate PASSES FILE.gz...");
  size_t count = (size_t)argc - 2, most = 0;
  bytes *files = calloc(count, sizeof *files);
  if (!files)
    die("no memory");
  for (size_t i = 0; i < count; i++) {
    files[i] = read_file(argv[2 + i]);
    most = text_length(&files[i]) > most ? text_length(&files[i]) : most;
  }
  bytes text = {malloc(most), most};
  if (!text.data)
    die("no memory");
  double best = 1e9;
  for (long pass = strtol(argv[1], NULL, 10); pass > 0; pass--) {
    double began = now();
    for (size_t i = 0; i < count; i++)
      inflate_whole(&files[i], &text);
    best = now() - began < best ? now() - began : best;
  }
  printf("%.6f\n", best);
  for (size_t i = 0; i < count; i++)
    free(files[i].data);
  free(files);
  free(text.data);
  return 0;
}
