// Candidates are kept in a private list that takes one more than it holds.
#define KEEP 3
typedef struct {
  float score;
  int index;
} candidate_t;

__kernel void first_hits(__global const float *scores, __global int *out, const int count) {
  candidate_t list[KEEP];
  int used = 0;
  for (int i = 0; i < count; ++i) {
    if (scores[i] < 0.0f)
      continue;
#ifdef CLEAN
    if (used == KEEP)
      break;
#endif
    list[used].score = scores[i];
    list[used].index = i;
    used++;
  }
  for (int i = 0; i < KEEP; ++i)
    out[i] = list[i].index;
}
