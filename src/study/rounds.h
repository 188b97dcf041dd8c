/* rounds.h: what rounds say of how fast modes are. */
#ifndef BRIM_STUDY_ROUNDS_H
#define BRIM_STUDY_ROUNDS_H
#include "brim/study.h"

/* Which of `count` modes has the turn of that number in a round. Every other round goes backwards, and each pair of rounds begins
 * with another mode: what grows or falls steadily hits all alike. */
int brim_rounds_order(int count, int round, int turn);
/* From rounds, tokens and slots of all modes: speeds, and seconds and tokens a second that agree with them. */
void brim_rounds_judge(brim_mode_result *results, int count);
#endif
