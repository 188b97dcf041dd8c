// fake_cublaslt.cpp: what brim calls of cuBLASLt, in the library of the false driver: products that the processor computes when the
// stream comes to them. What the interface asks for is checked: types that go together, shapes, leading dimensions, alignment as it was
// promised, an algorithm that was given out for this product, working memory that is there, no reduction in place.
#include "fake_cublaslt.h"

#include <cstdio>
#include <cstring>
#include <vector>

#include "emulated.hpp"
#include "fake_cuda.h"

struct matrix {
  int type;
  uint64_t rows, columns;
  int64_t stride;
};
struct operation {
  bool tf32;
  int32_t turned[2];
  uint32_t epilogue;
  const void *bias; // of the result's type
};
struct preference {
  uint64_t workspace;
  uint32_t reduction, aligned[4];
};
struct algorithm {
  uint64_t word, n, k, turned, types; // of the weight: the result's columns, or the sum's length, may change
  uint64_t rest[3];
};
struct heuristic {
  algorithm chosen;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
enum : uint64_t { WORD = 0xb0bcab1e, NEEDED = 4096 };
enum { GOOD = 0, NOT_SUPPORTED = 15, INVALID = 7, R_32F = 0, R_16F = 2, R_16BF = 14, COMPUTE_32F = 68, COMPUTE_TF32 = 77, BIAS = 4, IN_PLACE = 1 };

static long products, chosen;
static int handle;

static int wrong(const char *what) {
  fprintf(stderr, "# false cuBLASLt: %s\n", what);
  return INVALID;
}

static size_t size_of(int type) {
  return type == R_32F ? 4 : 2;
}

static float number_at(const void *x, int type, int64_t i) {
  if (type == R_32F)
    return static_cast<const float *>(x)[i];
  const uint16_t bits = static_cast<const uint16_t *>(x)[i];
  return type == R_16F ? emulate::of_half(bits) : emulate::float_of(unsigned(bits) << 16);
}

static void set_number(void *x, int type, int64_t i, float value) {
  if (type == R_32F)
    static_cast<float *>(x)[i] = value;
  else
    static_cast<uint16_t *>(x)[i] = type == R_16F ? emulate::half_of(value) : emulate::bfloat_of(value);
}

// Of D = op(A) op(B): single precision from single precision; from 16 bits, the same type or single precision.
static bool fits(const operation *o, const matrix *a, const matrix *b, const matrix *d) {
  if (o->tf32 && a->type != R_32F)
    return false;
  if (a->type != b->type || (d->type != a->type && d->type != R_32F))
    return false;
  const uint64_t n = o->turned[0] ? a->columns : a->rows, k = o->turned[0] ? a->rows : a->columns;
  return d->rows == n && d->columns == (o->turned[1] ? b->rows : b->columns) && k == (o->turned[1] ? b->columns : b->rows);
}

static algorithm algorithm_for(const operation *o, const matrix *a, const matrix *d) {
  return {WORD, 0, 0, uint64_t(o->turned[0] * 2 + o->turned[1]) | uint64_t(o->epilogue) << 8 | uint64_t(o->tf32) << 16, uint64_t(a->type * 16 + d->type), {}};
}

static bool is_there(const void *at, const matrix *m) {
  return m->rows == 0 || m->columns == 0 ||
         emulate::is_inside(at, (size_t(m->stride) * (m->columns - 1) + m->rows) * size_of(m->type));
}

static float at(const void *x, const matrix &m, bool turned, uint64_t row, uint64_t column) {
  return number_at(x, m.type, turned ? int64_t(row) * m.stride + int64_t(column) : int64_t(column) * m.stride + int64_t(row));
}

// To the nearest of ten bits after the point, to even between two.
static float tf32_of(float x) {
  const unsigned bits = emulate::bits_of(x);
  return emulate::float_of((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu);
}

static double product_of(bool tf32, float x, float y) {
  return tf32 ? double(tf32_of(x)) * double(tf32_of(y)) : double(x) * double(y);
}

static void compute(const operation &o, const void *a, const matrix &am, const void *b, const matrix &bm, float beta, void *d,
                    const matrix &dm) {
  const uint64_t k = o.turned[0] ? am.rows : am.columns;
  for (uint64_t column = 0; column < dm.columns; column++)
    for (uint64_t row = 0; row < dm.rows; row++) {
      double sum = 0;
      for (uint64_t i = 0; i < k; i++)
        sum += product_of(o.tf32, at(a, am, o.turned[0], row, i), at(b, bm, o.turned[1], i, column));
      const int64_t to = int64_t(column) * dm.stride + int64_t(row);
      set_number(d, dm.type, to,
                 float(sum) + (beta != 0 ? beta * number_at(d, dm.type, to) : 0) +
                     (o.epilogue == BIAS ? number_at(o.bias, dm.type, int64_t(row)) : 0));
    }
}

#pragma GCC visibility push(default)
extern "C" {

long fake_cuda_products(void) {
  return products;
}
long fake_cuda_chosen(void) {
  return chosen;
}

size_t cublasLtGetVersion(void) {
  return 130100;
}
int cublasLtCreate(void **out) {
  *out = &handle;
  return GOOD;
}
int cublasLtDestroy(void *h) {
  return h == &handle ? GOOD : wrong("another handle");
}
int cublasLtMatmulDescCreate(void **out, int compute, int scale) {
  if ((compute != COMPUTE_32F && compute != COMPUTE_TF32) || scale != R_32F)
    return wrong("not a product of fp32");
  *out = new operation{compute == COMPUTE_TF32, {0, 0}, 1, nullptr};
  return GOOD;
}
int cublasLtMatmulDescDestroy(void *o) {
  delete static_cast<operation *>(o);
  return GOOD;
}
int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t size) {
  operation *o = static_cast<operation *>(desc);
  if (attribute == 3 || attribute == 4)
    return size == 4 ? (memcpy(&o->turned[attribute - 3], value, 4), int(GOOD)) : wrong("size of an operation");
  if (attribute == 7)
    return size == 4 ? (memcpy(&o->epilogue, value, 4), int(GOOD)) : wrong("size of an epilogue");
  if (attribute == 8)
    return size == 8 ? (memcpy(&o->bias, value, 8), int(GOOD)) : wrong("size of an address");
  return wrong("an attribute of an operation");
}
int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns, int64_t stride) {
  if ((type != R_32F && type != R_16F && type != R_16BF) || stride % int64_t(16 / size_of(type)) != 0)
    return wrong("type of a matrix, or rows that are not of 16 bytes");
  *out = new matrix{type, rows, columns, stride};
  return GOOD;
}
int cublasLtMatrixLayoutDestroy(void *m) {
  delete static_cast<matrix *>(m);
  return GOOD;
}
int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t size) {
  matrix *m = static_cast<matrix *>(layout);
  if ((attribute != 2 && attribute != 3) || size != 8)
    return wrong("an attribute of a matrix");
  memcpy(attribute == 2 ? &m->rows : &m->columns, value, 8);
  return GOOD;
}
int cublasLtMatmulPreferenceCreate(void **out) {
  *out = new preference{0, 7, {256, 256, 256, 256}};
  return GOOD;
}
int cublasLtMatmulPreferenceDestroy(void *p) {
  delete static_cast<preference *>(p);
  return GOOD;
}
int cublasLtMatmulPreferenceSetAttribute(void *of, int attribute, const void *value, size_t size) {
  preference *p = static_cast<preference *>(of);
  if (attribute == 1 && size == 8)
    memcpy(&p->workspace, value, 8);
  else if (attribute == 3 && size == 4)
    memcpy(&p->reduction, value, 4);
  else if (attribute >= 5 && attribute <= 8 && size == 4)
    memcpy(&p->aligned[attribute - 5], value, 4);
  else
    return wrong("an attribute of a preference");
  return GOOD;
}
int cublasLtMatmulAlgoGetHeuristic(void *h, void *desc, void *a, void *b, void *c, void *d, void *of, int most, void *found, int *count) {
  const operation *o = static_cast<operation *>(desc);
  const preference *p = static_cast<preference *>(of);
  if (h != &handle || most < 1 || c != d || !fits(o, static_cast<matrix *>(a), static_cast<matrix *>(b), static_cast<matrix *>(d)))
    return wrong("shapes do not fit");
  if (p->reduction & IN_PLACE)
    return wrong("sums in place have no order");
  for (uint32_t aligned : p->aligned)
    if (aligned != 16)
      return wrong("addresses are multiples of 16");
  *count = p->workspace >= NEEDED;
  const heuristic h1 = {algorithm_for(o, static_cast<matrix *>(a), static_cast<matrix *>(d)), NEEDED, GOOD, 1, {}};
  if (*count)
    memcpy(found, &h1, sizeof h1);
  chosen++;
  return GOOD;
}
int cublasLtMatmulAlgoCheck(void *h, void *desc, void *a, void *b, void *c, void *d, const void *algorithm_at, void *result) {
  const operation *o = static_cast<operation *>(desc);
  const algorithm want = algorithm_for(o, static_cast<matrix *>(a), static_cast<matrix *>(d));
  if (h != &handle || c != d || !fits(o, static_cast<matrix *>(a), static_cast<matrix *>(b), static_cast<matrix *>(d)))
    return wrong("shapes do not fit the check");
  if (static_cast<matrix *>(d)->columns == FAKE_REFUSED_ROWS)
    return NOT_SUPPORTED;
  const heuristic h1 = {want, NEEDED, GOOD, 1, {}};
  memcpy(result, &h1, sizeof h1);
  return memcmp(algorithm_at, &want, sizeof want) == 0 ? int(GOOD) : wrong("an algorithm of another product");
}
int cublasLtMatmul(void *h, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout, const void *beta,
                   const void *c, void *c_layout, void *d, void *d_layout, const void *algorithm_at, void *workspace, size_t size, void *stream) {
  const operation o = *static_cast<operation *>(desc);
  const matrix am = *static_cast<matrix *>(a_layout), bm = *static_cast<matrix *>(b_layout), dm = *static_cast<matrix *>(d_layout);
  const float kept = *static_cast<const float *>(beta);
  const algorithm want = algorithm_for(&o, &am, &dm);
  const uintptr_t addresses = reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b) | reinterpret_cast<uintptr_t>(d);
  if (h != &handle || *static_cast<const float *>(alpha) != 1 || c != d || c_layout != d_layout || !fits(&o, &am, &bm, &dm))
    return wrong("operands of a product");
  if (memcmp(algorithm_at, &want, sizeof want) != 0 || addresses % 16 != 0 || am.stride < int64_t(am.rows) || bm.stride < int64_t(bm.rows) ||
      dm.stride < int64_t(dm.rows))
    return wrong("algorithm, addresses or leading dimensions");
  products++;
  return fake_cuda_enqueue(stream, [=] {
    if (!is_there(a, &am) || !is_there(b, &bm) || !is_there(d, &dm) || !emulate::is_inside(workspace, size) || size < NEEDED ||
        (o.epilogue == BIAS && !emulate::is_inside(o.bias, dm.rows * size_of(dm.type))))
      return wrong("memory of a product is not all there");
    memset(workspace, 0xff, size);
    compute(o, a, am, b, bm, kept, d, dm);
    return int(GOOD);
  });
}
} // extern "C"
