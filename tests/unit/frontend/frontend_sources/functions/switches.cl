int test_fall(int a, int b) {
  int r = 0;
  switch (a & 7) {
    case 0: r = 1;
    case 1: r += b;
    break;
    case 5: return 9;
    default: r = -1;
    case 2: r *= 2;
  }
  return r;
}

int test_narrow(int a, int b) {
  switch ((char)a) {
    case -1: return 1;
    case 127: return b;
  }
  switch ((long)a << 20) {
    case 3L << 20: return 5;
  }
  return 6;
}

int test_loop(int a, int b) {
  int s = 0;
  for (int i = 0; i < 6; i++) switch (i ^ (a & 3)) {
    case 1: s += 10;
    continue;
    case 2: i++;
    break;
    case 3: s += b;
  }
  return s;
}
