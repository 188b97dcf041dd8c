/* update_rule.h: the loops of one rule, whose name is RULE. Part of rules.h, once for each rule. */
#define OF(name)          OF_RULE(RULE, name)
#define OF_RULE(r, n)     OF_PASTED(r, n)
#define OF_PASTED(r, n)   r##_##n
#define FACT(what)        FACT_RULE(what, RULE)
#define FACT_RULE(w, r)   FACT_PASTED(w, r)
#define FACT_PASTED(w, r) BRIM_##w##_##r

/* Values from `first` on, `left` of them at the most. */
BRIM_INLINE lanes OF(load)(const brim_update *u, const brim_update_range *range, int64_t at, int64_t left) {
  lanes w = {.x = vload_n(u->values + range->frozen + at, left), .decay = range->decay, .returns = range->returns};
  if (FACT(STARTS) || range->returns)
    w.start = vload_n(u->start + at, left);
  for (int k = 0; k < FACT(STATES_OF); k++)
    w.states[k] = vload_n(u->states[k] + at, left);
  return w;
}

BRIM_INLINE void OF(store)(const brim_update *u, const brim_update_range *range, const lanes *w, int64_t at, int64_t left) {
  for (int k = 0; k < FACT(STATES_OF); k++)
    vstore_n(u->states[k] + at, w->states[k], left);
  vstore_n(u->values + range->frozen + at, w->x, left);
}

/* `copy`: of these values, or NULL. `leaves`: they go to where the gradient was too. */
static void OF(values)(const update *all, const brim_update_range *range, const step *of, bool leaves, int64_t first, int64_t n,
                       brim_bfloat *copy) {
  const brim_update u = *all->u; /* so that no store may change it, as the next two */
  const brim_update_range r = *range;
  const step s = *of;
  float *g = u.gradients + first;
  const vec clip = vset(all->clip);
  for (int64_t i = 0; i < n; i += VEC) {
    const int64_t left = n - i;
    lanes w = OF(load)(&u, &r, first + i, left);
    OF(advance)(&s, vload_n(g + i, left) * clip, &w);
    OF(store)(&u, &r, &w, first + i, left);
    if (copy)
      hstore_n(copy + i, w.x, left);
    vstore_n(g + i, leaves ? w.x : vzero(), left);
  }
}

/* Gradient and states are 0, and of the rule only the decay is left. */
static void OF(decay)(const update *all, const brim_update_range *range, const step *steps, int32_t count, int64_t first) {
  const brim_update *u = all->u;
  float *values = u->values + range->frozen + first;
  for (int64_t i = 0; i < range->row_size; i += VEC) {
    const int64_t left = range->row_size - i;
    lanes w = {.x = vload_n(values + i, left), .decay = true, .returns = range->returns};
    if (range->returns)
      w.start = vload_n(u->start + first + i, left);
    for (int32_t k = 0; k < count; k++)
      if (steps[k].decay)
        w.x = decayed(&steps[k], &w);
    vstore_n(values + i, w.x, left);
  }
}

/* Updates with a gradient of 0. */
static void OF(replay)(const update *all, const brim_update_range *range, const step *steps, int32_t count, int64_t first) {
  const brim_update u = *all->u;
  const brim_update_range r = *range;
  for (int64_t i = 0; i < r.row_size; i += VEC) {
    const int64_t left = r.row_size - i;
    lanes w = OF(load)(&u, &r, first + i, left);
    for (int32_t k = 0; k < count; k++)
      OF(advance)(&steps[k], vzero(), &w);
    OF(store)(&u, &r, &w, first + i, left);
  }
}

/* Some updates of a row that had no gradient in them. A decay that is part of the gradient gives the row states. */
static void OF(rest)(const update *all, const brim_update_range *range, int64_t row, const step *steps, int32_t count) {
  const int64_t first = range->offset + row * range->row_size;
  bool decays = false;
  for (int32_t k = 0; k < count && range->decay; k++)
    decays |= steps[k].decay;
  if (range->alive && decays && !FACT(RESTS))
    range->alive[row] = 1;
  if (!range->alive || range->alive[row])
    OF(replay)(all, range, steps, count, first);
  else if (decays)
    OF(decay)(all, range, steps, count, first);
}

static void OF(catch_up)(const update *all, const brim_update_range *range, int64_t row) {
  const int32_t done = range->done[row], count = all->u->past_count;
  if (done < count)
    OF(rest)(all, range, row, all->past + done, count - done);
  range->done[row] = (uint8_t)count;
}

static void OF(touch)(const update *all, const brim_update_range *range, int64_t row, const step *s) {
  if (range->done) {
    OF(catch_up)(all, range, row);
    range->done[row]++;
  }
  if (range->alive)
    range->alive[row] = 1;
  OF(values)(all, range, s, false, range->offset + row * range->row_size, range->row_size, NULL);
}

static void OF(task)(void *context, int64_t task, int worker) {
  (void)worker;
  const update *all = context;
  const piece p = piece_at(all->u, task);
  const brim_update_range *range = p.range;
  const step s = OF(step)(&all->u->step, all->u->step.lr * range->rate);
  if (range->row_size <= 0) {
    OF(values)(all, range, &s, all->u->leaves, range->offset + p.first, p.count, range->copy ? range->copy + p.first : NULL);
    return;
  }
  for (int64_t row = p.first; row < p.first + p.count; row++)
    if (!range->touched || range->touched[row])
      OF(touch)(all, range, row, &s);
    else if (!range->done)
      OF(rest)(all, range, row, &s, 1);
}

static void OF(catch_up_task)(void *context, int64_t task, int worker) {
  (void)worker;
  const update *all = context;
  const piece p = piece_at(all->u, task);
  for (int64_t row = p.first; p.range->done && row < p.first + p.count; row++)
    if (all->u->all || p.range->wanted[row])
      OF(catch_up)(all, p.range, row);
}

#undef OF
#undef OF_RULE
#undef OF_PASTED
#undef FACT
#undef FACT_RULE
#undef FACT_PASTED
