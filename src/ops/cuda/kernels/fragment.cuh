/* fragment.cuh: what tensor cores take, from sm_80 on: fragments of matrices of 16-bit values, two a word, and rows that are copied into
 * shared memory while a block computes. Which lane has which element is PTX's: of a warp's lane,
 *
 *   line = lane / 4, pair = lane % 4 (columns 2 pair and 2 pair + 1):
 *   left, 16 x 16:   word 0: rows line, columns of the first 8; 1: row line + 8; 2, 3: the same of the last 8 columns
 *   right, 16 x 8:   word 0: rows 2 pair and 2 pair + 1, column line; word 1: rows + 8
 *   sums, 16 x 8:    0, 1: row line; 2, 3: row line + 8
 *
 * multiply_add, fetch, fetch_turned, copy_row, close_copies and await_copies have a second body in the emulation. */
#define HAS_MATRICES 1
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#undef HAS_MATRICES
#endif

enum { MATRIX = 16, MATRIX_WARPS = 4, MATRIX_TILE = MATRIX * MATRIX_WARPS };

/* A left side; or two right sides, whose 8 columns follow one another. */
struct fragment {
  unsigned of[4];
};

struct sums {
  float of[4];
};

#if !defined(BRIM_EMULATED) && defined(HAS_MATRICES)
DEVICE unsigned shared_address(const unsigned *at) {
  return (unsigned)__cvta_generic_to_shared(at);
}

/* y += a b; fp16 is alike for all calls of a kernel's body, and known when it is compiled. */
DEVICE void multiply_add(int fp16, sums &y, const fragment &a, unsigned b0, unsigned b1) {
#define MULTIPLY_ADD(type)                                                                                                       \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "  \
      "%3};"                                                                                                                     \
      : "+f"(y.of[0]), "+f"(y.of[1]), "+f"(y.of[2]), "+f"(y.of[3])                                                               \
      : "r"(a.of[0]), "r"(a.of[1]), "r"(a.of[2]), "r"(a.of[3]), "r"(b0), "r"(b1))
  if (fp16)
    MULTIPLY_ADD("f16");
  else
    MULTIPLY_ADD("bf16");
}

/* Four matrices of 8 x 8: lanes 8 i to 8 i + 7 say where the rows of the i-th are. */
DEVICE fragment fetch(const unsigned *row) {
  fragment f;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(f.of[0]), "=r"(f.of[1]), "=r"(f.of[2]), "=r"(f.of[3])
               : "r"(shared_address(row))
               : "memory");
  return f;
}

/* The same of the matrices turned. */
DEVICE fragment fetch_turned(const unsigned *row) {
  fragment f;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(f.of[0]), "=r"(f.of[1]), "=r"(f.of[2]), "=r"(f.of[3])
               : "r"(shared_address(row))
               : "memory");
  return f;
}

/* 16 bytes, or zeros where they are not there: they come some time, at the latest when their group is awaited. */
DEVICE void copy_row(unsigned *to, const unsigned short *from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(shared_address(to)), "l"(__cvta_generic_to_global(from)), "r"(there ? 16 : 0)
               : "memory");
}

/* The copies of this thread since the last call become a group. */
DEVICE void close_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/* This thread's groups are there, but for the last `but`, 0 or 1. */
DEVICE void await_copies(int but) {
  if (but)
    asm volatile("cp.async.wait_group 1;" ::: "memory");
  else
    asm volatile("cp.async.wait_group 0;" ::: "memory");
}

/* Two values as a word, the first one below. */
DEVICE unsigned packed(int fp16, float x, float y) {
  unsigned both;
  if (fp16)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
  return both;
}

DEVICE unsigned *word_at(unsigned short *at) {
  return (unsigned *)at;
}
#endif
