/* predict.c: the predictions of a trained model for the rows of a file, in the file's order.
 *
 *   cc predict.c $(pkg-config --cflags --libs brim) -o predict
 *   ./predict RUN texts.csv
 *
 * Rows of like length are computed together, which is fastest; brim_predict puts the results back where their rows stand. */
#include <brim/brim.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct program {
  brim_runtime *runtime;
  brim_tokenizer *tokenizer;
  brim_model *model;
  brim_dataset *rows;
  brim_error error;
} program;

static int load(program *p, const char *run, const char *file) {
  int status = brim_model_load(p->runtime, run, &(brim_model_options){0}, &p->model, &p->error);
  if (!status)
    status = brim_tokenizer_load(p->runtime, run, &p->tokenizer, &p->error);
  if (!status) {
    brim_dataset_options options = {.encode.max_length = brim_model_max_length(p->model)};
    status = brim_dataset_load(p->runtime, &file, 1, p->tokenizer, &options, &p->rows, &p->error);
  }
  return status;
}

/* logits is [rows, outputs], row by row as the dataset has them; brim_dataset_origin is the row's number in the file. */
static void print_rows(const program *p, const float *logits) {
  int32_t outputs = brim_model_outputs(p->model);
  const brim_labels *labels = brim_model_labels(p->model);
  for (uint64_t row = 0; row < brim_dataset_rows(p->rows); row++, logits += outputs) {
    int32_t best = 0;
    for (int32_t i = 1; i < outputs; i++)
      if (logits[i] > logits[best])
        best = i;
    printf("%llu: ", (unsigned long long)brim_dataset_origin(p->rows, row));
    if (brim_model_task(p->model) == BRIM_TASK_REGRESSION)
      printf("%.3f\n", (double)logits[0]);
    else
      printf("%s\n", labels->names[best]);
  }
}

static int predict(program *p) {
  float *logits = malloc(brim_dataset_rows(p->rows) * (size_t)brim_model_outputs(p->model) * sizeof *logits);
  if (!logits)
    return brim_error_set(&p->error, BRIM_E_MEMORY, "no memory for the predictions");
  brim_eval_options options;
  brim_eval_options_init(&options);
  int status = brim_predict(p->runtime, p->model, p->rows, &options, logits, &p->error);
  if (!status)
    print_rows(p, logits);
  free(logits);
  return status;
}

int main(int argc, char **argv) {
  program p = {0};
  if (argc != 3) {
    fprintf(stderr, "usage: predict RUN FILE\n");
    return 2;
  }
  int status = brim_runtime_new(&(brim_runtime_options){0}, &p.runtime, &p.error);
  if (!status)
    status = load(&p, argv[1], argv[2]);
  if (!status)
    status = predict(&p);
  if (status) {
    char text[1200];
    brim_error_text(&p.error, text, sizeof text);
    fprintf(stderr, "predict: %s\n", text);
  }
  brim_dataset_free(p.rows);
  brim_model_free(p.model);
  brim_tokenizer_free(p.tokenizer);
  brim_runtime_free(p.runtime);
  return status ? 1 : 0;
}
