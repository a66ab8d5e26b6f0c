/* Values without rounding, each with the variance that a device's roundings give it. See docs/findings.md for the model. */
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef uint8_t bool_t;

void *calloc(unsigned long, unsigned long);
void free(void *);
double exp(double), exp2(double), log(double), log2(double), log10(double), log1p(double);
double sin(double), cos(double), tan(double), asin(double), acos(double), atan(double), sinh(double), cosh(double);
double tanh(double), asinh(double), acosh(double), atanh(double), erf(double), pow(double, double);
double floor(double), ceil(double), trunc(double), nearbyint(double), fmod(double, double);
#define sqrt __builtin_sqrt
#define fabs __builtin_fabs
#define INF __builtin_inf()
#define QUIET __builtin_nan("")
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define FN static inline __attribute__((always_inline)) double

/* One float type. rel: u * u / 3 for its unit roundoff u; floor: the least variance of a rounding; largest: its largest number;
   flushed: what is smaller may be taken for zero; half: 1 where arithmetic is that of halves, else 0; lost: the variance whose 8
   sigma reach the largest number that is flushed. */
typedef struct { double rel, floor, half_largest, largest, flushed, half, lost; } Unit;

/* In this order: clang makes loops of a third of the speed of it where it may choose another. */
FN square_by(double v, double share) {
#pragma clang fp reassociate(off)
  return v * v * share;
}

/* The variance of v after one more rounding; n scales that of a correct one. Out of the type's range nothing is known. least: the
   variance of a rounding at least; share: the part of the square of a number that may be flushed that is its variance.
   Without branches, so that loops over elements become vectors. */
FN rounded_by(double v, double q, double n, double least, double share, const Unit *u) {
  double a = fabs(v), r = v * v * u->rel * n, left = u->largest - a;
  r = r > least ? r : least;
  double small = square_by(v, share);
  r = a < u->flushed ? small : r;
  int lost = (a > u->largest) | (64 * q > left * left);
  double after = lost ? INF : q + r;
  return a < INF ? after : q;
}
FN rounded(double v, double q, double n, const Unit *u) { return rounded_by(v, q, n, u->floor, 1.0 / 16, u); }

/* The same of a product or a partial sum on the way to a sum. In an order of its own a device may have a denormal number between,
   and lose it: part: one by the number of terms, so that what they are given together reaches one such. share: terms that are all
   denormal may be lost together, which is not a random walk. */
FN rounded_in_sum(double v, double q, double n, double part, double share, const Unit *u) {
  return rounded_by(v, q, n, u->floor + u->lost * part, share, u);
}

/* The variance of an operand of such a sum as memory holds it. */
FN loaded_in_sum(double v, double q, double share, const Unit *u) {
  double small = square_by(v, share), r = fabs(v) < u->flushed ? small : 0;
  return r > q ? r : q;
}

/* Elements that are computed side by side. */
typedef double lanes_t __attribute__((vector_size(32)));

/* Inside a term of a sum. Terms are added up in any order; a term that went apart in it would take x - y + y for x. */
#define APART_FROM_SUMS(type, name, operation) \
  static inline __attribute__((always_inline)) type name(type x, type y) { \
    _Pragma("clang fp reassociate(off)") return x operation y; \
  }
APART_FROM_SUMS(double, plus, +)
APART_FROM_SUMS(double, minus, -)
APART_FROM_SUMS(lanes_t, lanes_plus, +)
APART_FROM_SUMS(lanes_t, lanes_minus, -)
typedef double doubles_t __attribute__((vector_size(32), aligned(8), may_alias));
typedef float floats_t __attribute__((vector_size(16), aligned(4), may_alias));
static inline __attribute__((always_inline)) lanes_t load_doubles(const void *p) { return *(const doubles_t *)p; }
static inline __attribute__((always_inline)) lanes_t load_floats(const void *p) {
  return __builtin_convertvector(*(const floats_t *)p, lanes_t);
}
#define SIDE_BY_SIDE(p) _Generic(p, float *: load_floats, default: load_doubles)(p)
#define APART(p, by) (lanes_t){(p)[0], (p)[by], (p)[2 * by], (p)[3 * by]}
#define ALL(x) (lanes_t){x, x, x, x}

/* Whether the variance of a sum of exact values is that of a type without ends, to 40 digits. squares: the sum of those of all that
   was rounded, at most two numbers a term. What is so small that another rule gives its variance has none that counts beside the
   others', and nothing is so large that the largest number is within reach. */
static inline int is_plain(double squares, double terms, const Unit *u) {
#pragma clang fp reassociate(off)
  double share = terms < 4 ? 1.0 / 16 : terms / 64, flushed = u->flushed * u->flushed * share, least = u->floor + u->lost / terms;
  double lost = 2 * terms * (flushed > least ? flushed : least);
  return ((squares * u->rel >= 0x1p40 * lost) & (4 * squares < u->largest * u->largest)) | ((squares == 0) & (flushed > 0));
}

/* A value that every device takes out of its type's range is infinite. Not for the steps of a sum: another order may stay within. */
static inline void overflow(double *v, double before, double *q, const Unit *u) {
  double left = fabs(*v) - u->largest;
  int out = (left > 0) & (left * left > 64 * before);
  *v = out ? (*v > 0 ? INF : -INF) : *v;
  *q = out ? 0 : *q;
}

/* x to the nearest multiple of the number whose last digit `step` shows. */
FN to_multiple(double x, double step) {
#pragma clang fp reassociate(off)
  double shift = x < 0 ? -step : step, sum = x + shift;
  return sum - shift;
}

/* The variance of an operand as memory holds it, and the operand as a device may take it: denormal numbers may be zero. */
FN flushed_q(double v, const Unit *u) { return UNLIKELY(fabs(v) < u->flushed / 2) ? v * v / 16 : 0; }
FN flushed(double v, const Unit *u) { return UNLIKELY(fabs(v) < u->flushed / 2) ? 0 : v; }

/* x rounded to a type with `digits` bits whose smallest normal number is `tiny`; beyond `largest` it is infinite. */
FN to_type(double x, int digits, double tiny, double largest, double flushed) {
  union { double x; uint64_t bits; } u = {x};
  uint64_t low = ((uint64_t)1 << (53 - digits)) - 1;
  u.bits = (u.bits + (low >> 1) + (u.bits >> (53 - digits) & 1)) & ~low;
  double a = fabs(x), far = x > 0 ? INF : -INF, small = flushed > 0 ? 0 : to_multiple(x, tiny * (double)((uint64_t)1 << (53 - digits)));
  double normal = fabs(u.x) > largest ? far : u.x;
  normal = a < tiny ? small : normal;
  return x == x ? normal : x;
}
FN to_half(double x, const Unit *u) { return to_type(x, 11, 0x1p-14, 65504, u->flushed); }
FN to_bfloat(double x, const Unit *u) { return to_type(x, 8, 0x1p-126, 0x1.fep127, u->flushed); }

/* Whether a type holds x as it is; denormal numbers but zero count as others. */
static inline int is_half(double x) { return (x == 0) | ((fabs(x) >= 0x1p-14) & (to_type(x, 11, 0x1p-14, 65504, 0) == x)); }
static inline int is_float(double x) { return (x == 0) | ((fabs(x) >= 0x1p-126) & ((double)(float)x == x)); }

/* Whether a and b may be in the other order on a device. What is surely NaN is in none. */
static inline int near(double a, double b, double q) {
  if (q == 0) return 0;
  if (UNLIKELY(a != a || b != b)) return !(q < INF);
  if (a == b) return fabs(a) != INF;
  return !((a - b) * (a - b) > 64 * q);
}

/* The variance of a decision; of a step that a device takes in an order of its own, which decides what becomes of NaN. */
FN decision_q(double a, double b, double q) { return near(a, b, q) ? 1 : 0; }
FN step_order_q(double a, double b, double q) { return a != a || b != b ? INF : decision_q(a, b, q); }

/* Either of two values may have been chosen: 8 sigma reach twice from one to the other. */
FN either(double a, double qa, double b, double qb) {
  double d = a == b ? 0 : a - b, q = qa > qb ? qa : qb;
  return q + d * d / 16;
}

/* How far rounding takes a value at most. */
FN reach(double q) { return 8 * sqrt(q); }

/* a, where b is as right: one standard deviation reaches it, as sums of many such are of either. */
FN also(double a, double qa, double b, double qb) {
  double d = a == b ? 0 : a - b, q = qa > qb ? qa : qb;
  return q + d * d;
}

/* OpenCL leaves open the result for NaN. */
FN max_q(double a, double qa, double b, double qb) {
  if (UNLIKELY(a != a || b != b)) return INF;
  if (near(a, b, qa + qb)) return qa > qb ? qa : qb;
  return a > b ? qa : qb;
}

FN min_q(double a, double qa, double b, double qb) { return max_q(-a, qa, -b, qb); }

FN mul_q(double a, double qa, double b, double qb) { return b * b * qa + a * a * qb + qa * qb; }

FN div_q(double a, double qa, double b, double qb) {
  if (UNLIKELY(!(b * b > 64 * qb))) return qb == 0 ? 0 : INF;
  return (qa + a / b * (a / b) * qb) / (b * b);
}

/* The remainder of a division, with the sign of the divisor. */
FN floored_mod(double a, double b) {
  double r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* A device may take a remainder from a rounded quotient: next to a whole one its error is a divisor. Of whole numbers that the
   type holds, all but that is exact. */
FN mod_q(double a, double qa, double b, double qb, const Unit *u) {
  double t = a / b, size = t * t, edge = nearbyint(t), away = (t - edge) * (t - edge);
  double turns = (qa + size * qb) / (b * b) + 25 * size * u->rel;
  int exact = (qa == 0) & (qb == 0) & (nearbyint(a) == a) & (nearbyint(b) == b) & (3 * a * a * u->rel < 1);
  double q = qa + size * qb + (exact ? 0 : 3 * a * a * u->rel);
  return b == 0 || turns == 0 ? q : !(away > 64 * turns) ? q + b * b / 16 : q;
}

/* A step function between whole numbers: next to an edge, the neighbour is as good. */
FN step_q(double x, double q, double shift) {
  double y = x + shift, edge = nearbyint(y);
  return q == 0 ? 0 : !((y - edge) * (y - edge) > 64 * q) ? q + 1.0 / 16 : 0;
}

/* Functions whose value a device may lose near the edge x = 0 of their domain. */
FN edge_q(double x, double q, double slope) { return q == 0 ? 0 : !(x > 0 && x * x > 64 * q) ? INF : slope * slope * q; }

/* A number just outside of such a domain, where rounding alone took it there: the edge. */
FN at_edge(double x, double q) { return x < 0 && !(x * x > 64 * q) ? 0 : x; }
FN within_one(double x) { return fabs(x) > 1 && fabs(x) < 1 + 1e-12 ? x > 0 ? 1 : -1 : x; }
FN above_one(double x) { return x < 1 && x > 1 - 1e-12 ? 1 : x; }

/* By the slope of a function. */
FN slope_q(double slope, double q) { return q == 0 ? 0 : slope * slope * q; }

FN pow_q(double a, double qa, double b, double qb, double v) {
  return slope_q(a == 0 ? b * pow(a, b - 1) : b * v / a, qa) + slope_q(a > 0 ? log(a) * v : 0, qb);
}

FN sigmoid(double x) { return 1 / (1 + exp(-x)); }
FN rsqrt(double x) { return 1 / sqrt(x); }
FN exp10(double x) { return pow(10, x); }

static inline int64_t floordiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
static inline int64_t floormod(int64_t a, int64_t b) { return b == 0 ? 0 : a - floordiv(a, b) * b; }
static inline int64_t truncdiv(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? -(uint64_t)a : a / b; }
static inline int64_t truncmod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static inline uint64_t unsigned_div(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }
static inline uint64_t unsigned_mod(uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }

/* A conversion to an integer of the range [low, high]; outside it devices differ. */
static inline int64_t whole(double x, double low, double high) { return x >= low && x <= high ? (int64_t)x : 0; }
static inline uint64_t whole_unsigned(double x, double high) { return x > -1 && x <= high ? (uint64_t)x : 0; }
FN whole_q(double x, double q, double low, double high) { return x > low - 1 && x < high + 1 ? step_q(x, q, 0) : INF; }
