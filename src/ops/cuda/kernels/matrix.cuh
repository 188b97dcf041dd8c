/* matrix.cuh: where the fragments of fragment.cuh lie in shared memory, which lane fetches what, and sums over lanes. */
#ifdef HAS_MATRICES
/* Words of a row of so many values in shared memory: four more, so that eight rows are in different banks. */
#define MATRIX_ROOM(width) ((width) / 2 + 4)

/* A left side that lies row by row from word `at` on; and right sides that lie turned: column by column, or row by row. */
DEVICE fragment left_at(SHARED_AT(unsigned) at, int room, int lane) {
  return fetch(at + (lane % 8 + lane / 8 % 2 * 8) * room + lane / 16 * 4);
}

DEVICE fragment columns_at(SHARED_AT(unsigned) at, int room, int lane) {
  return fetch(at + (lane % 8 + lane / 16 * 8) * room + lane / 8 % 2 * 4);
}

DEVICE fragment rows_at(SHARED_AT(unsigned) at, int room, int lane) {
  return fetch_turned(at + (lane % 8 + lane / 8 % 2 * 8) * room + lane / 16 * 4);
}

/* Sums of 16 x 16 as a left side of 16 bits. */
DEVICE fragment left_of(int fp16, const sums &first, const sums &last) {
  const fragment f = {{packed(fp16, first.of[0], first.of[1]), packed(fp16, first.of[2], first.of[3]),
                       packed(fp16, last.of[0], last.of[1]), packed(fp16, last.of[2], last.of[3])}};
  return f;
}

/* Over the four lanes of a row. */
DEVICE float line_sum(float x) {
  for (int apart = 2; apart > 0; apart /= 2)
    x += __shfl_xor_sync(ALL_LANES, x, apart);
  return x;
}

DEVICE float line_max(float x) {
  for (int apart = 2; apart > 0; apart /= 2)
    x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, apart));
  return x;
}
#endif
