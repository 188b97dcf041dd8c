/* rules.h: the rules by which an update changes a value, once:
 *
 *   X(RULE, name, states of a value, rests, starts)
 *
 * A rule works value by value: of nothing but the value, its gradient, its states and its value at the start of training. So what
 * a row without a gradient misses is made up for later, with gradients of 0. An optimizer (model/run/optimizer.c) is a rule and
 * the numbers of a step. To add a rule: a line here, `advance` of the reference (ref/rules.h) and of the processor (cpu/rules.h),
 * and a row among the optimizers.
 *
 * rests: without gradient and states only decay changes a value, as if it had no optimizer. starts: it looks at the value at the
 * start.
 *
 * ADAMW    Loshchilov and Hutter, "Decoupled weight decay regularization", in PyTorch's order
 * SGD      PyTorch's SGD with momentum: the decay is part of the gradient, and the first momentum is the gradient
 * MADGRAD  Defazio and Jelassi, "Adaptivity without compromise", as their own code has it: the decay is part of the gradient;
 * with weights w of the steps, s the sum of w g and q that of w g^2, a value moves towards start - s / (cbrt(q) + eps) */
#ifndef BRIM_OPS_RULES_H
#define BRIM_OPS_RULES_H
#define BRIM_RULES_LIST(X)                                                                                                       \
  X(ADAMW, adamw, 2, 1, 0)                                                                                                       \
  X(SGD, sgd, 1, 0, 0)                                                                                                           \
  X(MADGRAD, madgrad, 2, 0, 1)

enum { BRIM_MOST_STATES = 2 };

#define BRIM_RULE_NAME(RULE, name, states, rests, starts) BRIM_RULE_##RULE,
#define BRIM_RULE_FACTS(RULE, name, states, rests, starts)                                                                       \
  BRIM_STATES_OF_##name = (states), BRIM_RESTS_##name = (rests), BRIM_STARTS_##name = (starts),
typedef enum brim_rule { BRIM_RULES_LIST(BRIM_RULE_NAME) BRIM_RULES } brim_rule;
enum { BRIM_RULES_LIST(BRIM_RULE_FACTS) BRIM_RULE_FACTS_END };
#endif
