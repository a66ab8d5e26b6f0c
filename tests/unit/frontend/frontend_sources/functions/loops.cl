int test_do(int a, int b) {
  int i = 0, n = 0, s = a & 15;
  do {
    s += i * b;
    if (++n & 1) continue;
    i++;
  } while (i < 5 || n < a && n < 20);
  return s;
}

int test_nest(int a, int b) {
  int s = 0;
  for (int i = 0; i < (a & 7); ++i) {
    for (int j = i; ; ++j) {
      if (j > (b & 7)) break;
      if (j & 1) continue;
      s += i * j;
    }
    s ^= i;
  }
  return s;
}

int test_swap(int a, int b) {
  for (int i = 0; i < (a & 3); ++i) {
    int t = a;
    a = b;
    b = t + 1;
  }
  return a * 31 + b;
}

int test_goto(int a, int b) {
  int n = 0;
  again: if (n++ < (b & 7)) {
    a = a * 3 + n;
    if (a & 8) goto again;
    a--;
    goto again;
  }
  return a;
}
