#include "batch/budget.h"

double brim_budget_cost(const brim_budget *budget, const brim_load *load) {
  if (budget->padding == BRIM_PAD_NONE)
    return budget->linear * (double)load->tokens + budget->square * load->squares;
  double width = (double)brim_budget_width(budget, load->longest);
  return (double)load->rows * (budget->linear * width + budget->square * width * width);
}

brim_load brim_load_of(const brim_budget *budget, const int32_t *lengths, const uint32_t *rows, uint64_t count) {
  brim_load load = {0};
  for (uint64_t i = 0; i < count; i++)
    load = brim_load_add(load, brim_budget_cut(budget, lengths[rows[i]]));
  return load;
}

uint64_t brim_budget_take(const brim_budget *budget, const int32_t *lengths, const uint32_t *rows, uint64_t count, bool *room) {
  brim_load load = {0};
  uint64_t taken = 0, multiple = (uint64_t)budget->multiple;
  if (budget->slots == INT64_MAX && !budget->rows_for) { /* only their number counts: don't look at millions of lengths */
    taken = count < (uint64_t)budget->rows ? count : (uint64_t)budget->rows;
    load.rows = (int64_t)taken;
  }
  for (; taken < count && load.rows < budget->rows; taken++) {
    brim_load more = brim_load_add(load, brim_budget_cut(budget, lengths[rows[taken]]));
    if (taken > 0 && !brim_budget_holds(budget, &more))
      break;
    load = more;
  }
  *room = taken == count && load.rows < budget->rows && brim_budget_slots(budget, &load) < budget->slots;
  return taken >= multiple ? taken / multiple * multiple : taken;
}
