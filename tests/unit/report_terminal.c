/* The progress bar on a terminal: it fits, shows what is known, and goes away. */
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "brim/report.h"
#include "report/width.h"
#include "tap.h"
#include <time.h>

static brim_runtime *runtime;
static int controller;
static char screen[8192];

/* The other end of a new pseudo-terminal. */
static FILE *open_terminal(int columns) {
  struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
  controller = posix_openpt(O_RDWR | O_NOCTTY);
  if (controller < 0 || grantpt(controller) != 0 || unlockpt(controller) != 0)
    return NULL;
  int fd = open(ptsname(controller), O_RDWR | O_NOCTTY);
  if (fd < 0 || ioctl(fd, TIOCSWINSZ, &size) != 0)
    return NULL;
  return fdopen(fd, "w");
}

/* What was drawn since the last call. */
static const char *drawn(void) {
  size_t used = 0;
  struct pollfd ready = {.fd = controller, .events = POLLIN};
  while (used < sizeof screen - 1 && poll(&ready, 1, 50) > 0) {
    ssize_t n = read(controller, screen + used, sizeof screen - 1 - used);
    if (n <= 0)
      break;
    used += (size_t)n;
  }
  screen[used] = 0;
  return screen;
}

static void tell(brim_progress *progress, int64_t done) {
  const brim_field fields[] = {
      {.name = "phase", .kind = BRIM_VALUE_TEXT, .text = "train"},   {.name = "done", .kind = BRIM_VALUE_INT, .integer = done},
      {.name = "total", .kind = BRIM_VALUE_INT, .integer = 200},     {.name = "rate", .kind = BRIM_VALUE_REAL, .real = 2410.4},
      {.name = "unit", .kind = BRIM_VALUE_TEXT, .text = "tokens/s"}, {.name = "loss", .kind = BRIM_VALUE_REAL, .real = 0.5}};
  brim_progress_event(progress, &(brim_event){"progress", fields, 6});
}

/* The columns that one drawing takes: "\r", text, "\033[K". */
static int drawn_width(const char *text) {
  char line[1024];
  const char *end = strstr(text, "\033[K");
  if (*text != '\r' || !end || (size_t)(end - text) > sizeof line)
    return -1;
  memcpy(line, text + 1, (size_t)(end - text - 1));
  line[end - text - 1] = 0;
  return brim_display_width(line);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void bar(int columns, bool with_bar, bool anything) {
  FILE *terminal = open_terminal(columns);
  brim_progress *p;
  if (!terminal || brim_progress_new(runtime, terminal, false, &p, NULL) != BRIM_OK) {
    tap_skip("a bar", "there are no pseudo-terminals");
    return;
  }
  const double begin = seconds();
  tell(p, 50);
  const char *text = drawn();
  if (anything) {
    ok(strstr(text, "train") && strstr(text, "25 %") && strstr(text, "2,410 tokens/s") && strstr(text, "loss 0.5000"),
       "%d columns: phase, share, rate and loss", columns);
    ok((strstr(text, ", peak ") != NULL) == (columns >= 80), "%d columns: memory where there is room", columns);
    ok((strstr(text, "█") != NULL) == with_bar, "%d columns: %s", columns, with_bar ? "a bar" : "no room for a bar");
    ok(drawn_width(text) < columns, "%d columns: it fits", columns);
  } else {
    ok_string(text, "", "too narrow for anything");
  }
  tell(p, 51);
  /* A machine with other work may have taken longer than the bar waits. */
  ok(*drawn() == 0 || seconds() - begin >= 0.1, "not drawn again at once");
  tell(p, 200);
  ok_string(drawn(), anything ? "\r\033[K" : "", "gone when it is done");
  brim_progress_free(p);
  fclose(terminal);
  close(controller);
}

static void cleared(void) {
  FILE *terminal = open_terminal(100);
  brim_progress *p;
  if (!terminal || brim_progress_new(runtime, terminal, false, &p, NULL) != BRIM_OK)
    return;
  brim_progress_clear(p);
  ok_string(drawn(), "", "nothing to clear at first");
  tell(p, 50);
  drawn();
  brim_progress_clear(p);
  ok_string(drawn(), "\r\033[K", "cleared for another line");
  brim_progress_free(p);
  ok_string(drawn(), "", "and only once");
  fclose(terminal);
  close(controller);
}

static void dumb(void) {
  setenv("TERM", "dumb", 1);
  FILE *terminal = open_terminal(100);
  brim_progress *p;
  if (!terminal || brim_progress_new(runtime, terminal, false, &p, NULL) != BRIM_OK)
    return;
  tell(p, 50);
  ok_string(drawn(), "", "no bar where the cursor cannot go back");
  brim_progress_free(p);
  fclose(terminal);
  close(controller);
}

int main(void) {
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL) != BRIM_OK)
    return 1;
  setenv("TERM", "xterm", 1);
  bar(120, true, true);
  bar(80, true, true);
  bar(60, false, true);
  bar(20, false, false);
  cleared();
  dumb();
  brim_runtime_free(runtime);
  return tap_done();
}
