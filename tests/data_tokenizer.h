/* data_tokenizer.h: a WordPiece tokenizer of single letters: "ab" gives a ##b. Ids: [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4,
 * a..z from 5, ##a..##z from 31. */
#ifndef BRIM_TESTS_DATA_TOKENIZER_H
#define BRIM_TESTS_DATA_TOKENIZER_H
#include "data_case.h"

__attribute__((unused)) static brim_tokenizer *data_tokenizer(void) {
  char vocabulary[1024] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int i = 0; i < 52; i++)
    sprintf(vocabulary + strlen(vocabulary), "%s%c\n", i < 26 ? "" : "##", 'a' + i % 26);
  brim_tokenizer *tokenizer;
  brim_error err;
  if (brim_tokenizer_load(data_runtime, scratch_write("vocab.txt", vocabulary), &tokenizer, &err) != BRIM_OK) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  return tokenizer;
}

#endif
