#include "batch/budget.h"

double brim_budget_cost(const brim_budget *budget, const brim_load *load) {
  if (budget->padding == BRIM_PAD_NONE)
    return budget->linear * (double)load->tokens + budget->square * load->squares;
  double width = (double)brim_budget_width(budget, load->longest);
  return (double)load->texts * (budget->linear * width + budget->square * width * width);
}

double brim_budget_row_cost(const brim_budget *budget, const brim_row_sizes *sizes, uint32_t row) {
  const brim_load load = brim_load_add(budget, (brim_load){0}, sizes, row);
  return brim_budget_cost(budget, &load);
}

brim_load brim_load_of(const brim_budget *budget, const brim_row_sizes *sizes, const uint32_t *rows, uint64_t count) {
  brim_load load = {0};
  for (uint64_t i = 0; i < count; i++)
    load = brim_load_add(budget, load, sizes, rows[i]);
  return load;
}

/* Whether only the number of rows counts. */
static bool counts_rows(const brim_budget *budget, const brim_row_sizes *sizes) {
  return budget->slots == INT64_MAX && !budget->rows_for && (!sizes->several || budget->texts == INT64_MAX);
}

uint64_t brim_budget_take(const brim_budget *budget, const brim_row_sizes *sizes, const uint32_t *rows, uint64_t count,
                          bool *room) {
  brim_load load = {0};
  uint64_t taken = 0, multiple = (uint64_t)budget->multiple;
  if (counts_rows(budget, sizes)) { /* don't look at millions of lengths */
    const int64_t most = budget->rows < budget->texts ? budget->rows : budget->texts;
    taken = count < (uint64_t)most ? count : (uint64_t)most;
    load.rows = load.texts = (int64_t)taken;
  }
  for (; taken < count && load.rows < budget->rows; taken++) {
    brim_load more = brim_load_add(budget, load, sizes, rows[taken]);
    if (taken > 0 && !brim_budget_holds(budget, &more))
      break;
    load = more;
  }
  *room = taken == count && brim_budget_has_room(budget, &load);
  return taken >= multiple ? taken / multiple * multiple : taken;
}
