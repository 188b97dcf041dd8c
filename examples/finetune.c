/* finetune.c: the library from a program of one's own: fine-tune a model on a file, then label two texts.
 *
 *   cc finetune.c $(pkg-config --cflags --libs brim) -o finetune
 *   ./finetune MODEL train.csv RUN */
#include <brim/brim.h>

#include <stdio.h>
#include <string.h>

/* Called after each optimizer step, and for other events; a return other than 0 would stop the run. */
static int on_event(void *context, const brim_event *event) {
  (void)context;
  const brim_field *step = brim_event_field(event, "step"), *loss = brim_event_field(event, "loss");
  if (strcmp(event->kind, "step") == 0 && step && loss)
    fprintf(stderr, "step %lld: loss %.4f\n", (long long)step->integer, loss->real);
  return BRIM_OK;
}

typedef struct program {
  brim_runtime *runtime;
  brim_tokenizer *tokenizer;
  brim_dataset *train;
  brim_model *model;
  brim_error error;
} program;

/* Reads the data, whose labels decide the model's head, and trains. Folders are as Hugging Face writes them. */
static int fine_tune(program *p, const char *folder, const char *file, const char *run) {
  int status = brim_tokenizer_load(p->runtime, folder, &p->tokenizer, &p->error);
  if (status)
    return status;
  brim_dataset_options data = {.source.need_label = true, .encode.max_length = 128};
  status = brim_dataset_load(p->runtime, &file, 1, p->tokenizer, &data, &p->train, &p->error);
  if (status)
    return status;
  brim_model_options how = {.labels = brim_dataset_labels(p->train), .seed = 42};
  status = brim_model_load(p->runtime, folder, &how, &p->model, &p->error);
  if (status)
    return status;
  brim_train_options options;
  brim_train_result result;
  brim_train_options_init(&options);
  options.output = run;
  options.event = on_event;
  return brim_train(p->runtime, p->model, p->tokenizer, p->train, NULL, 0, &options, &result, &p->error);
}

/* Encodes one text and prints the most probable class. */
static int label(program *p, const char *text) {
  brim_scratch *scratch = NULL;
  brim_encoding encoding = {0};
  brim_dataset *rows = NULL;
  float logits[16];
  int32_t outputs = brim_model_outputs(p->model), best = 0;
  if (outputs > 16)
    return brim_error_set(&p->error, BRIM_E_USAGE, "this example has room for 16 classes");
  int status = brim_scratch_new(p->runtime, p->tokenizer, &scratch, &p->error);
  if (!status)
    status = brim_tokenizer_encode(p->tokenizer, scratch, text, strlen(text), NULL, 0, &(brim_encode_options){.max_length = 128},
                                   &encoding, &p->error);
  if (!status) {
    brim_sample sample = {.ids = encoding.ids, .length = (int32_t)encoding.length};
    status = brim_dataset_from_samples(p->runtime, &sample, 1, NULL, &rows, &p->error);
  }
  if (!status)
    status = brim_predict(p->runtime, p->model, rows, &(brim_eval_options){0}, logits, &p->error);
  for (int32_t i = 1; !status && i < outputs; i++)
    if (logits[i] > logits[best])
      best = i;
  if (!status && brim_model_task(p->model) == BRIM_TASK_CLASSIFICATION)
    printf("%s: %s\n", text, brim_model_labels(p->model)->names[best]);
  else if (!status)
    printf("%s: %.3f\n", text, (double)logits[0]);
  brim_dataset_free(rows);
  brim_encoding_free(&encoding);
  brim_scratch_free(scratch);
  return status;
}

int main(int argc, char **argv) {
  program p = {0};
  if (argc != 4) {
    fprintf(stderr, "usage: finetune MODEL train.csv RUN\n");
    return 2;
  }
  int status = brim_runtime_new(&(brim_runtime_options){0}, &p.runtime, &p.error);
  if (!status)
    status = fine_tune(&p, argv[1], argv[2], argv[3]);
  if (!status)
    status = label(&p, "a warm and funny film");
  if (!status)
    status = label(&p, "slow, silly and dull");
  if (status) {
    char text[1200];
    brim_error_text(&p.error, text, sizeof text);
    fprintf(stderr, "finetune: %s\n", text);
  }
  brim_model_free(p.model);
  brim_dataset_free(p.train);
  brim_tokenizer_free(p.tokenizer);
  brim_runtime_free(p.runtime);
  return status ? 1 : 0;
}
