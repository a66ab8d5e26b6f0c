// the intrinsic llvm.trap
kernel void k(global int *a) {
  if (a[0]) __builtin_trap();
  a[1] = 1;
}
