/* The build is a hash of a program's own code: a copy elsewhere has the same; where an instruction is another one, or a letter of
 * a message, it is another one. */
#include "brim/dist.h"
#include "scratch.h"
#include "tap.h"

#if !defined(__SANITIZE_ADDRESS__) /* which keeps its own copy of a constant elsewhere */
static const char message[] = "a message of this program";
#endif
static char *code;
static size_t length;

static void read_own(void) {
  FILE *f = fopen("/proc/self/exe", "rb");
  if (!f || fseek(f, 0, SEEK_END))
    abort();
  length = (size_t)ftell(f);
  rewind(f);
  code = malloc(length);
  if (!code || fread(code, 1, length, f) != length)
    abort();
  fclose(f);
}

/* What this program says as it now stands in `code`. */
static bool is_other(const char *name) {
  const char *path = scratch_file(name);
  char command[1024], own[BRIM_BUILD_SIZE], text[BRIM_BUILD_SIZE] = "";
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(code, 1, length, f) != length || fclose(f) || chmod(path, 0755))
    abort();
  snprintf(command, sizeof command, "%s build", path);
  f = popen(command, "r");
  if (!f || fread(text, 1, sizeof text - 1, f) != sizeof text - 1 || pclose(f))
    ok(false, "%s says nothing", name);
  brim_build(own);
  return strcmp(text, own) != 0;
}

/* The first place of some bytes in the program, where code comes before constants; -1: nowhere. */
static ptrdiff_t find(const char *bytes, size_t count) {
  for (size_t at = 0; at + count <= length; at++)
    if (memcmp(code + at, bytes, count) == 0)
      return (ptrdiff_t)at;
  return -1;
}

int main(int argc, char **argv) {
  char build[BRIM_BUILD_SIZE];
  brim_build(build);
  if (argc > 1 && strcmp(argv[1], "build") == 0) {
    printf("%s", build);
    return 0;
  }
  static const char filling[] = "\x66\x2e\x0f\x1f\x84"; /* between functions of x86-64, where nobody runs it */
  read_own();
  ok(strspn(build, "0123456789abcdef") == BRIM_BUILD_SIZE - 1 && !is_other("copy"), "a copy has the same build: %s", build);
  const ptrdiff_t between = find(filling, sizeof filling - 1);
  if (between >= 0) {
    code[between + 8] ^= 1;
    ok(is_other("instruction"), "another instruction, another build");
    code[between + 8] ^= 1;
  }
#if !defined(__SANITIZE_ADDRESS__)
  const ptrdiff_t letter = find(message, sizeof message - 1);
  code[letter] ^= 1;
  ok(is_other("message"), "another message, another build");
#endif
  free(code);
  return tap_done();
}
