"""Soft-float fallbacks for processors without F16C or FMA: what LLVM calls there, with results identical to the bit.

The LLVM text uses only SSE2. Half conversions work on bit patterns. Fused multiply-add rounds an exact sum to odd in double
before the last rounding (Boldo and Melquiond); it is exact except for doubles near the ends of their range.
"""

from __future__ import annotations

EXTEND = """
define float @__extendhfsf2(half %h) {
entry:
  %bits = bitcast half %h to i16
  %wide = zext i16 %bits to i32
  %sign.low = and i32 %wide, 32768
  %sign = shl i32 %sign.low, 16
  %size = and i32 %wide, 32767
  %moved = shl i32 %size, 13
  %normal = add i32 %moved, 939524096
  %top = icmp uge i32 %size, 31744
  %beyond = add i32 %normal, 939524096
  %nan = icmp ugt i32 %size, 31744
  %quiet = or i32 %beyond, 4194304
  %special = select i1 %nan, i32 %quiet, i32 %beyond
  %large = select i1 %top, i32 %special, i32 %normal
  %tiny = icmp ult i32 %size, 1024
  %count = uitofp i32 %size to float
  %small = fmul float %count, 0x3E70000000000000
  %small.bits = bitcast float %small to i32
  %chosen = select i1 %tiny, i32 %small.bits, i32 %large
  %all = or i32 %chosen, %sign
  %result = bitcast i32 %all to float
  ret float %result
}
"""

TRUNCATE = """
define half @__truncsfhf2(float %f) {
entry:
  %bits = bitcast float %f to i32
  %sign.high = lshr i32 %bits, 16
  %sign = and i32 %sign.high, 32768
  %size = and i32 %bits, 2147483647
  %last = lshr i32 %size, 13
  %odd = and i32 %last, 1
  %up = add i32 %size, 4095
  %even = add i32 %up, %odd
  %rebased = sub i32 %even, 939524096
  %normal = lshr i32 %rebased, 13
  %tiny = icmp ult i32 %size, 947912704
  %positive = bitcast i32 %size to float
  %aligned = fadd float %positive, 5.000000e-01
  %aligned.bits = bitcast float %aligned to i32
  %denormal = sub i32 %aligned.bits, 1056964608
  %finite = select i1 %tiny, i32 %denormal, i32 %normal
  %huge = icmp uge i32 %size, 1199570944
  %bounded = select i1 %huge, i32 31744, i32 %finite
  %nan = icmp ugt i32 %size, 2139095040
  %payload = and i32 %last, 511
  %quiet = or i32 %payload, 32256
  %chosen = select i1 %nan, i32 %quiet, i32 %bounded
  %all = or i32 %chosen, %sign
  %word = trunc i32 %all to i16
  %result = bitcast i16 %word to half
  ret half %result
}
"""

ODD_SUM = """
define internal double @odd.sum(double %a, double %b) {
entry:
  %s = fadd double %a, %b
  %bb = fsub double %s, %a
  %aa = fsub double %s, %bb
  %db = fsub double %b, %bb
  %da = fsub double %a, %aa
  %error = fadd double %da, %db
  %bits = bitcast double %s to i64
  %inexact = fcmp one double %error, 0.0
  %low = and i64 %bits, 1
  %even = icmp eq i64 %low, 0
  %adjust = and i1 %inexact, %even
  %more = fcmp ogt double %error, 0.0
  %positive = fcmp ogt double %s, 0.0
  %away = icmp eq i1 %more, %positive
  %step = select i1 %away, i64 1, i64 -1
  %odd = add i64 %bits, %step
  %chosen = select i1 %adjust, i64 %odd, i64 %bits
  %result = bitcast i64 %chosen to double
  ret double %result
}
"""

FUSED_FLOAT = """
define float @fmaf(float %a, float %b, float %c) {
entry:
  %x = fpext float %a to double
  %y = fpext float %b to double
  %z = fpext float %c to double
  %product = fmul double %x, %y
  %sum = call double @odd.sum(double %product, double %z)
  %result = fptrunc double %sum to float
  ret float %result
}
"""

FUSED_DOUBLE = """
define double @fma(double %a, double %b, double %c) {
entry:
  %ta = fmul double %a, 1.342177290e+08
  %da = fsub double %ta, %a
  %ah = fsub double %ta, %da
  %al = fsub double %a, %ah
  %tb = fmul double %b, 1.342177290e+08
  %db = fsub double %tb, %b
  %bh = fsub double %tb, %db
  %bl = fsub double %b, %bh
  %p = fmul double %a, %b
  %hh = fmul double %ah, %bh
  %e1 = fsub double %hh, %p
  %hl = fmul double %ah, %bl
  %e2 = fadd double %e1, %hl
  %lh = fmul double %al, %bh
  %e3 = fadd double %e2, %lh
  %ll = fmul double %al, %bl
  %pe = fadd double %e3, %ll
  %s = fadd double %p, %c
  %cc = fsub double %s, %p
  %pp = fsub double %s, %cc
  %dc = fsub double %c, %cc
  %dp = fsub double %p, %pp
  %se = fadd double %dp, %dc
  %low = call double @odd.sum(double %pe, double %se)
  %result = fadd double %s, %low
  %known = fcmp ord double %result, 0.0
  %plain = fadd double %p, %c
  %chosen = select i1 %known, double %result, double %plain
  ret double %chosen
}
"""


def needed(features: str) -> bool:
    """Returns True if a processor with LLVM's `features` ("+avx,-fma,...") lacks F16C or FMA."""
    have = set(features.split(","))
    return "+f16c" not in have or "+fma" not in have


def text() -> str:
    """Returns the module that defines all fallbacks."""
    return EXTEND + TRUNCATE + ODD_SUM + FUSED_FLOAT + FUSED_DOUBLE
