/* unigram.c: the best path through the pieces of a vocabulary (Viterbi), with the reference's arithmetic: doubles, left to right,
 * a later path must be strictly better. */
#include "base/memory.h"
#include "base/status.h"
#include "text/fields.h"
#include "text/model.h"
#include "text/score.h"
#include "text/unicode.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static int load_scores(brim_token_model_loader *l, double *least) {
  brim_unigram *model = &l->model->unigram;
  const brim_json_value *list = brim_json_get(l->value, "vocab");
  model->scores = brim_alloc_array(model->runtime, (size_t)l->model->size + 1, sizeof *model->scores);
  if (!model->scores)
    return BRIM_NOMEM(l->err);
  *least = INFINITY;
  int32_t id = 0;
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v), id++) {
    const brim_json_value *score = brim_json_after(v, brim_json_first(v));
    double *to = &model->scores[id];
    *to = brim_json_number(score);
    if (l->nearest ? !isfinite(*to) : !brim_score_read(l->bytes + score->byte, l->length - score->byte, to))
      return brim_json_error(l->document, score, l->err, BRIM_E_FORMAT, "this score is out of range");
    if (model->scores[id] < *least)
      *least = model->scores[id];
  }
  return BRIM_OK;
}

int brim_unigram_load(brim_token_model_loader *l) {
  brim_token_model *model = l->model;
  brim_unigram *u = &model->unigram;
  int64_t unknown = -1;
  double least = 0;
  u->runtime = model->runtime;
  BRIM_TRY(brim_fields_known(l->document, l->value, "Unigram model", "unk_id vocab byte_fallback", l->err));
  BRIM_TRY(brim_json_read_int(l->document, l->value, "unk_id", 0, INT32_MAX, &unknown, l->err));
  BRIM_TRY(brim_json_read_bool(l->document, l->value, "byte_fallback", &u->byte_fallback, l->err));
  if (unknown >= model->size)
    return brim_json_error(l->document, brim_json_get(l->value, "unk_id"), l->err, BRIM_E_FORMAT,
                           "unk_id lies outside the vocabulary of %d pieces", (int)model->size);
  BRIM_TRY(load_scores(l, &least));
  u->unknown = (int32_t)unknown;
  u->unknown_score = least - 10.0;
  brim_trie_key *keys = brim_alloc_array(model->runtime, (size_t)model->size + 1, sizeof *keys);
  if (!keys)
    return BRIM_NOMEM(l->err);
  for (int32_t id = 0; id < model->size; id++)
    keys[id] = (brim_trie_key){model->tokens[id], model->lengths[id], id};
  int status = brim_trie_build(model->runtime, keys, (size_t)model->size, &u->trie, l->err);
  brim_release(model->runtime, keys);
  for (int byte = 0; byte < 256; byte++) {
    char name[8];
    snprintf(name, sizeof name, "<0x%02X>", (unsigned)byte);
    u->byte_ids[byte] = brim_hashmap_get(&model->ids, name, 6, -1);
  }
  return status;
}

void brim_unigram_free(brim_unigram *model) {
  brim_trie_free(&model->trie);
  if (model->runtime)
    brim_release(model->runtime, model->scores);
}

static void offer(brim_path_node *node, double score, size_t from, int32_t id) {
  if (node->from != UINT32_MAX && !(score > node->score))
    return;
  *node = (brim_path_node){score, id, (uint32_t)from};
}

/* nodes[i]: the best way to reach byte i. */
static int find_path(const brim_unigram *model, brim_path_node *nodes, const char *bytes, size_t length, brim_error *err) {
  for (size_t i = 0; i <= length; i++)
    nodes[i] = (brim_path_node){0, 0, UINT32_MAX};
  for (size_t at = 0; at < length;) {
    uint32_t code, node = BRIM_TRIE_ROOT;
    size_t size = (size_t)brim_utf8_next(bytes + at, &code);
    double here = nodes[at].score;
    bool single = false;
    for (size_t i = at; i < length; i++) {
      node = brim_trie_child(&model->trie, node, (uint8_t)bytes[i]);
      if (!node)
        break;
      int32_t id = model->trie.units[node].value;
      if (id < 0)
        continue;
      offer(&nodes[i + 1], model->scores[id] + here, at, id);
      single = single || i + 1 - at == size;
    }
    if (!single) {
      if (model->unknown < 0)
        return brim_error_set(err, BRIM_E_MISMATCH,
                              "the text holds an unknown character, and the tokenizer has no unknown token");
      offer(&nodes[at + size], model->unknown_score + here, at, model->unknown);
    }
    at += size;
  }
  return BRIM_OK;
}

/* A stretch that the path calls unknown: a piece after all when it is one as a whole, else bytes, else unknown. */
static int put_unknown(const brim_unigram *model, const char *bytes, size_t from, size_t to, brim_piece_tokens *out,
                       brim_error *err) {
  int32_t id = brim_trie_get(&model->trie, bytes + from, to - from);
  bool fallback = id < 0 && model->byte_fallback;
  for (size_t i = from; fallback && i < to; i++)
    fallback = model->byte_ids[(uint8_t)bytes[i]] >= 0;
  if (!fallback)
    return brim_piece_tokens_add(out, id >= 0 ? id : model->unknown, from, to, err);
  for (size_t i = from; i < to; i++)
    BRIM_TRY(brim_piece_tokens_add(out, model->byte_ids[(uint8_t)bytes[i]], from, to, err));
  return BRIM_OK;
}

int brim_unigram_run(const brim_unigram *model, brim_token_model_work *work, const char *bytes, size_t length,
                     brim_piece_tokens *out, brim_error *err) {
  if (length == 0)
    return BRIM_OK;
  if (length + 1 > work->node_capacity)
    BRIM_TRY(brim_grow(work->runtime, (void **)&work->nodes, &work->node_capacity, length + 1, sizeof *work->nodes, err));
  brim_path_node *nodes = work->nodes;
  BRIM_TRY(find_path(model, nodes, bytes, length, err));
  /* Turn the links round: nodes[begin].from becomes the end of the piece that begins there. */
  uint32_t end = (uint32_t)length;
  int32_t id = nodes[length].id;
  for (uint32_t begin = nodes[length].from;;) {
    uint32_t before = nodes[begin].from;
    int32_t before_id = nodes[begin].id;
    nodes[begin].from = end;
    nodes[begin].id = id;
    if (begin == 0)
      break;
    end = begin;
    id = before_id;
    begin = before;
  }
  for (size_t at = 0; at < length;) {
    size_t to = nodes[at].from;
    if (nodes[at].id != model->unknown) {
      BRIM_TRY(brim_piece_tokens_add(out, nodes[at].id, at, to, err));
    } else {
      while (to < length && nodes[to].id == model->unknown)
        to = nodes[to].from;
      BRIM_TRY(put_unknown(model, bytes, at, to, out, err));
    }
    at = to;
  }
  return BRIM_OK;
}
