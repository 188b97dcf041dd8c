/* Models by name: which folder is meant, and what is said where there is none. */
#include "scratch.h"
#include "tap.h"

#include "brim/base.h"

static brim_runtime *runtime;

/* hub/models--owner--name with one branch, of whose commit the files are given; NULL ends them. */
static void make(const char *repository, const char *commit, const char *const *files) {
  char path[300];
  snprintf(path, sizeof path, "hub/%s", repository);
  scratch_make_folder(path);
  snprintf(path, sizeof path, "hub/%s/refs", repository);
  scratch_make_folder(path);
  snprintf(path, sizeof path, "hub/%s/refs/main", repository);
  scratch_write(path, commit);
  snprintf(path, sizeof path, "hub/%s/snapshots", repository);
  scratch_make_folder(path);
  snprintf(path, sizeof path, "hub/%s/snapshots/%.8s", repository, commit);
  scratch_make_folder(path);
  for (; *files; files++) {
    snprintf(path, sizeof path, "hub/%s/snapshots/%.8s/%s", repository, commit, *files);
    scratch_write(path, "{}");
  }
}

/* What is found, below the scratch folder; the message of a failure; freed by the next call. */
static const char *find(const char *name, const char *revision, brim_hub_part part) {
  static char text[1200];
  char *folder;
  brim_error err = {0};
  int status = brim_hub_find(runtime, name, revision, part, &folder, &err);
  if (status)
    brim_error_text(&err, text, sizeof text);
  else
    snprintf(text, sizeof text, "%s",
             strncmp(folder, scratch_folder(), strlen(scratch_folder())) == 0 ? folder + strlen(scratch_folder()) : folder);
  brim_runtime_release(runtime, folder);
  return text;
}

static bool says(const char *text, const char *one, const char *other) {
  return ok(strstr(text, one) && strstr(text, other), "%s, %s", one, other) || !printf("# %s\n", text);
}

static void names(void) {
  static const char *const whole[] = {"config.json", "model.safetensors", "tokenizer.json", NULL};
  static const char *const partly[] = {"config.json", "vocab.txt", NULL};
  scratch_make_folder("hub");
  setenv("HF_HUB_CACHE", scratch_file("hub"), 1);
  make("models--plain", "aaaa1111\n", whole);
  make("models--owner--model.v1", "bbbb2222", whole);
  make("models--cut", "cccc3333", partly);
  make("models--odd", "dddd4444", whole);
  scratch_write("hub/models--odd/refs/main", "../../../");
  ok_string(find("plain", NULL, BRIM_HUB_MODEL), "/hub/models--plain/snapshots/aaaa1111", "a name");
  ok_string(find("owner/model.v1", NULL, BRIM_HUB_MODEL), "/hub/models--owner--model.v1/snapshots/bbbb2222", "with an owner");
  ok_string(find("plain@main", NULL, BRIM_HUB_MODEL), "/hub/models--plain/snapshots/aaaa1111", "a branch");
  ok_string(find("plain", "aaaa1111", BRIM_HUB_MODEL), "/hub/models--plain/snapshots/aaaa1111", "a commit");
  ok_string(find("plain@aaaa1111", NULL, BRIM_HUB_TOKENIZER), "/hub/models--plain/snapshots/aaaa1111", "a commit after the name");
  ok_string(find("cut", NULL, BRIM_HUB_TOKENIZER), "/hub/models--cut/snapshots/cccc3333", "a tokenizer needs no weights");
  says(find("cut", NULL, BRIM_HUB_MODEL), "this copy of cut is incomplete: it has no model.safetensors", "`hf download cut`");
  says(find("nobody/knows", NULL, BRIM_HUB_MODEL), "no such file or folder", "`hf download nobody/knows`");
  says(find("plain@v2", NULL, BRIM_HUB_MODEL), "and revision v2", "`hf download plain --revision v2`");
  says(find("plain@v1.0", NULL, BRIM_HUB_MODEL), "and revision v1.0", "`hf download plain --revision v1.0`");
  says(find("odd", NULL, BRIM_HUB_MODEL), "no model of that name", "`hf download odd`");
}

static void no_names(void) {
  static const char *const paths[] = {
      "..", "../hub/models--plain", "a/../b",   "/nowhere", "./plain", "a/b/c",     "plain/", "a--b", "-a",
      "",   "plain@../../x",        "plain@.x", "pla in",   "plain@",  "plain@a..b"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    ok_string(find(paths[i], NULL, BRIM_HUB_MODEL), paths[i], "no name");
  says(find("../x", "main", BRIM_HUB_MODEL), "../x at revision main", "not the name of a model");
  says(find("plain", "../x", BRIM_HUB_MODEL), "plain at revision ../x", "not the name of a model");
}

static void caches(void) {
  char home[400];
  if (chdir(scratch_folder()) != 0)
    exit(99);
  scratch_make_folder("plain");
  ok_string(find("plain", NULL, BRIM_HUB_MODEL), "plain", "a folder of that name comes first");
  ok(rmdir("plain") == 0, "it is gone again");
  unsetenv("HF_HUB_CACHE");
  setenv("HF_HOME", scratch_folder(), 1);
  ok_string(find("plain", NULL, BRIM_HUB_MODEL), "/hub/models--plain/snapshots/aaaa1111", "HF_HOME");
  setenv("HOME", scratch_folder(), 1);
  setenv("HF_HOME", "~", 1);
  ok_string(find("plain", NULL, BRIM_HUB_MODEL), "/hub/models--plain/snapshots/aaaa1111", "below ~");
  unsetenv("HF_HOME");
  unsetenv("XDG_CACHE_HOME");
  says(find("plain", NULL, BRIM_HUB_MODEL), "/.cache/huggingface/hub", "no model of that name");
  snprintf(home, sizeof home, "%s/huggingface", scratch_folder());
  ok(mkdir(home, 0777) == 0 && symlink("../hub", scratch_file("huggingface/hub")) == 0, "a cache in another place");
  setenv("XDG_CACHE_HOME", scratch_folder(), 1);
  ok_string(find("plain", NULL, BRIM_HUB_MODEL), "/huggingface/hub/models--plain/snapshots/aaaa1111", "XDG_CACHE_HOME");
}

/* Older folders of sentence-transformers. */
static void within(void) {
  scratch_make_folder("older");
  scratch_make_folder("older/0_Transformer");
  scratch_write("older/0_Transformer/config.json", "{}");
  ok_string(find("older", NULL, BRIM_HUB_MODEL), "older", "a folder without modules.json is what it is");
  scratch_write("older/modules.json", "[]");
  ok_string(find("older", NULL, BRIM_HUB_MODEL), "older/0_Transformer", "the model is one folder below");
  ok_string(find("older/", NULL, BRIM_HUB_TOKENIZER), "older/0_Transformer", "the tokenizer too");
  scratch_make_folder("older/a");
  scratch_make_folder("older/a/b");
  scratch_write("older/a/b/config.json", "{}");
  scratch_write("older/modules.json", "[{\"path\": \"./a//b/\"}]");
  ok_string(find("older", NULL, BRIM_HUB_MODEL), "older/a/b", "wherever modules.json says that it is");
  scratch_write("older/modules.json", "[{\"path\": \"a/../../older/a/b\"}]");
  ok_string(find("older", NULL, BRIM_HUB_MODEL), "older/0_Transformer", "but not outside the folder");
  scratch_write("older/modules.json", "[]");
  scratch_write("older/config.json", "{}");
  ok_string(find("older", NULL, BRIM_HUB_MODEL), "older", "unless the folder itself has one");
  scratch_write("older/modules.json", "[{\"path\": \"a/b\"}]");
  ok_string(find("older", NULL, BRIM_HUB_MODEL), "older/a/b", "and modules.json does not say another");
}

int main(void) {
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL) != BRIM_OK)
    return 1;
  names();
  no_names();
  caches();
  within();
  brim_runtime_free(runtime);
  return tap_done();
}
