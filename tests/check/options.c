/* The options of every command, as a check of the tables; with --parse, command lines of documents, read and not run.
 *
 * --parse reads one command line a line, its words (after "brim") separated by the byte 31, and writes "ok" or what the program
 * would say. Linked with the program's own objects. */
#include "../../cli/cli.h"
#include "../../cli/commands.h"
#include "tap.h"

#undef main /* renamed for the program's own, which is linked too */

extern const cli_command *const cli_commands[];

/* The name, or one of the aliases, that two options share; "" where none does. */
static const char *shared_name(const cli_option *options) {
  static char name[64];
  for (const cli_option *o = options; o->kind; o++) {
    if (o->kind == CLI_GROUP)
      continue;
    char words[256];
    snprintf(words, sizeof words, "%s %s", o->name, o->aliases ? o->aliases : "");
    char *rest = words;
    for (char *word; (word = strsep(&rest, " "));) {
      const cli_option *first = *word ? cli_find_option(options, word, strlen(word)) : o;
      if (first != o) {
        snprintf(name, sizeof name, "%s", word);
        return name;
      }
    }
  }
  return "";
}

static char shared_letter(const cli_option *options) {
  bool seen[256] = {false};
  for (const cli_option *o = options; o->kind; o++) {
    unsigned char letter = (unsigned char)o->letter;
    if (o->kind == CLI_GROUP || !letter)
      continue;
    if (seen[letter])
      return o->letter;
    seen[letter] = true;
  }
  return 0;
}

/* The field of cli_values that two options of a command fill, as the second one's name. */
static const char *shared_field(const cli_option *options) {
  for (const cli_option *o = options; o->kind; o++)
    for (const cli_option *p = options; p != o && o->kind != CLI_GROUP; p++)
      if (p->kind != CLI_GROUP && p->offset == o->offset)
        return o->name;
  return "";
}

static int check_tables(void) {
  for (int i = 0; cli_commands[i]; i++) {
    static cli_option options[CLI_OPTION_LIMIT];
    const cli_command *c = cli_commands[i];
    cli_join(c->options, options);
    int count = 0;
    while (options[count].kind != CLI_END)
      count++;
    ok(count < CLI_OPTION_LIMIT - 1, "%s: its %d options and headings find room", c->name, count);
    char what[128], letter[2] = {shared_letter(options), 0};
    snprintf(what, sizeof what, "%s: no two options have a name or alias in common", c->name);
    ok_string(shared_name(options), "", what);
    snprintf(what, sizeof what, "%s: nor a letter", c->name);
    ok_string(letter, "", what);
    snprintf(what, sizeof what, "%s: nor a field", c->name);
    ok_string(shared_field(options), "", what);
  }
  return tap_done();
}

/* ---- command lines ---------------------------------------------------------------------------------------- */

enum { MOST_WORDS = 256 };

/* The command that the first word, or the first two, name. */
static const cli_command *command_of(int count, char **words, int *used) {
  for (int i = 0; cli_commands[i]; i++) {
    char two[256];
    snprintf(two, sizeof two, "%s %s", words[0], count > 1 ? words[1] : "");
    *used = strcmp(cli_commands[i]->name, two) == 0 ? 2 : 1;
    if (*used == 2 || strcmp(cli_commands[i]->name, words[0]) == 0)
      return cli_commands[i];
  }
  return NULL;
}

/* Whether a command has all options that a sentence names; its first word may be half of a name. */
static void parse_names(int count, char **words) {
  static cli_option options[CLI_OPTION_LIMIT];
  int used = 0;
  const cli_command *command = count ? command_of(count, words, &used) : NULL;
  if (!command && count == 1 && strcmp(words[0], "inspect") == 0) {
    printf("ok\n");
    return;
  }
  if (!command) {
    printf("unknown command \"%s\"\n", count ? words[0] : "");
    return;
  }
  cli_join(command->options, options);
  for (int i = used; i < count; i++)
    if (strncmp(words[i], "--", 2) == 0 && !cli_find_option(options, words[i] + 2, strcspn(words[i] + 2, "="))) {
      printf("unknown option %s\n", words[i]);
      return;
    }
  printf("ok\n");
}

static void parse_line(brim_runtime *runtime, char *line) {
  static cli_arguments arguments;
  char *words[MOST_WORDS], *rest = line;
  int count = 0, used = 0;
  for (char *word; count < MOST_WORDS && (word = strsep(&rest, "\x1f"));)
    words[count++] = word;
  if (count && strcmp(words[0], "names") == 0) {
    parse_names(count - 1, words + 1);
    return;
  }
  if (count && (strcmp(words[0], "--version") == 0 || strcmp(words[0], "--help") == 0)) {
    printf("ok\n");
    return;
  }
  const cli_command *command = count ? command_of(count, words, &used) : NULL;
  if (!command) {
    printf("unknown command \"%s\"\n", count ? words[0] : "");
    return;
  }
  brim_error err = {0};
  memset(&arguments, 0, sizeof arguments);
  int status = cli_parse(runtime, command, count - used, words + used, &arguments, &err);
  printf("%s\n", status ? err.message : "ok");
  cli_arguments_free(&arguments);
}

static int parse_lines(void) {
  brim_runtime *runtime;
  char *line = NULL;
  size_t size = 0;
  if (brim_runtime_new(NULL, &runtime, NULL))
    return 1;
  while (getline(&line, &size, stdin) > 0) {
    line[strcspn(line, "\n")] = 0;
    parse_line(runtime, line);
  }
  free(line);
  brim_runtime_free(runtime);
  return 0;
}

int main(int argc, char **argv) {
  return argc > 1 && strcmp(argv[1], "--parse") == 0 ? parse_lines() : check_tables();
}
