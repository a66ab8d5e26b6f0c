"""Kernels of the shape of boda's convolutions, in words of our own: the same tiles, loops, local memory and barriers.

A work-item computes `pels` pixels times `out_chan` channels in registers. `conv`, `k1conv` and `tconv` first load pixels and
weights into local memory, the whole group together; `conv_simd` reads global memory, and its work-items never wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from records import Launch

_HEAD = "kernel void k(global const float *w, global const float *bias, global const float *in, global float *out, int flags) {"
_WAIT = "barrier(CLK_LOCAL_MEM_FENCE);"


def make_kernel(launch: Launch) -> str:
    """Returns the source of the kernel of a launch."""
    return _MAKERS[launch.function](launch)


def make_product(tile: int, block: int, size: int, vector: int = 1) -> str:
    """Returns a product of two square matrices by tiles, without local memory, as boda's `sgemm_no_local` and `sgemm_simd`."""
    parts, rows = tile // vector, size // vector
    type = f"float{vector}" if vector > 1 else "float"
    loads = _lines(
        f"p[{i}] = ((global const {type} *)in)[ao + {i}]; q[{i}] = ((global const {type} *)w)[bo + {i}];" for i in range(parts)
    )
    return f"""{_HEAD}
  int l = get_local_id(0), g = get_group_id(0), lx = l / {block}, ly = l % {block};
  int gx = g / {size // block // tile}, gy = g % {size // block // tile};
  float c[{tile * tile}] = {{0}}; {type} p[{parts}], q[{parts}];
  int ao = (gx * {block} + lx) * {parts}, bo = (gy * {block} + ly) * {parts};
  for (int k = 0; k < {size}; k++) {{ {loads} {_multiply_adds(tile, tile, vector)} ao += {rows}; bo += {rows}; }}
  int co = ((gx * {block} + lx) * {tile * size} + (gy * {block} + ly) * {tile}) / {vector};
  for (int i = 0; i < {tile}; i++) {{
    switch (i) {{ {_pick_rows(tile, vector)} }}
    {_lines(f"((global {type} *)out)[co + {j}] = q[{j}];" for j in range(parts))} co += {rows};
  }}
}}"""


def make_local_product(tile: int, block: int, size: int, vector: int, steps: int) -> str:
    """Returns a product of two square matrices by tiles in local memory, `steps` of the sum at once, as boda's
    `sgemm_simd_local`."""
    parts, rows, width = tile // vector, size // vector, block * tile // vector
    type = f"float{vector}"
    fill = _lines(
        f"if (l + {at} < {width * steps}) {local}[l + {at}] = ((global const {type} *){array})"
        f"[{start} + {at} + (l + {at}) / {width} * {rows - width}];"
        for local, array, start in (("sa", "in", "ao"), ("sb", "w", "bo"))
        for at in range(0, width * steps, block * block)
    )
    inner = _lines(
        _lines(
            f"p[{i}] = sa[lx * {parts} + {i + step * width}]; q[{i}] = sb[ly * {parts} + {i + step * width}];"
            for i in range(parts)
        )
        + _multiply_adds(tile, tile, vector)
        for step in range(steps)
    )
    return f"""{_HEAD}
  local {type} sa[{width * steps}], sb[{width * steps}];
  int l = get_local_id(0), g = get_group_id(0), lx = l / {block}, ly = l % {block};
  int gx = g / {size // block // tile}, gy = g % {size // block // tile};
  float c[{tile * tile}] = {{0}}; {type} p[{parts}], q[{parts}];
  int ao = gx * {width} + l, bo = gy * {width} + l;
  for (int k = 0; k < {size}; k += {steps}) {{ {fill} {_WAIT} {inner} ao += {steps * rows}; bo += {steps * rows}; {_WAIT} }}
  int co = ((gx * {block} + lx) * {tile * size} + (gy * {block} + ly) * {tile}) / {vector};
  for (int i = 0; i < {tile}; i++) {{
    switch (i) {{ {_pick_rows(tile, vector)} }}
    {_lines(f"((global {type} *)out)[co + {j}] = q[{j}];" for j in range(parts))} co += {rows};
  }}
}}"""


def _conv(launch: Launch) -> str:
    work, filters, given, pad, stride, out = (launch.dimensions[n] for n in ("work", "filts", "in", "in_pad", "stride", "out"))
    T, U, pt, ot = work["pels"], work["out_chan"], work["pels_tile"], work["out_chan_tile"]
    area, taps, items = out["y"] * out["x"], filters["y"] * filters["x"], launch.items
    pixels, weights = pt * T, ot * U
    loads = _lines(f"q[{j}] = wf[lc + {j * ot}];" for j in range(U)) + _lines(f"p[{i}] = pf[lp * {T} + {i}];" for i in range(T))
    place = f"(lp + gp * {pt}) * {T}"
    return f"""{_HEAD}
  local float pf[{pixels}], wf[{weights}]; float c[{T * U}] = {{0}}, q[{U}], p[{T}];
  {_ids(ot, work["out_chan_blk"])} int base = gp * {pixels}, wo = gc * {given["chan"] * taps * weights} + l;
  for (int e = 0; e != {given["chan"] * taps}; e++) {{
    {_WAIT} {_fill("wf", "w", weights, items, "wo")}
    for (int i = 0; i != {-(-pixels // items)}; i++) if (l + {items} * i < {pixels}) {{
      int o = base + l + {items} * i;
      int y = o % {area} / {out["x"]} * {stride["y"]} + e % {taps} / {filters["x"]} - {pad["y"]};
      int x = o % {out["x"]} * {stride["x"]} + e % {filters["x"]} - {pad["x"]};
      if (y >= 0 && x >= 0 && o / {area} < {given["img"]} && x < {given["x"]} && y < {given["y"]})
        pf[l + {items} * i] = in[(o / {area} * {given["chan"]} + e / {taps}) * {given["y"] * given["x"]} + y * {given["x"]} + x];
    }}
    wo += {weights}; {_WAIT} {loads} {_multiply_adds(T, U)}
  }}
  {_WAIT} {_fill("wf", "bias", weights, items, f"gc * {weights} + l")} {_WAIT} {loads}
  {_store_by_places(T, U, place, f"(lc + gc * {ot}) * {U}", area, out)}
}}"""


def _k1conv(launch: Launch) -> str:
    work, given, out = (launch.dimensions[n] for n in ("work", "in", "out_ref"))
    T, U, pt, ot, chans = work["pels"], work["out_chan"], work["pels_tile"], work["out_chan_tile"], given["blk_iter_chan"]
    weights, pixels, items = ot * U, pt * T, launch.items
    inner = _lines(
        _lines(f"q[{j}] = wl[{k * weights + j * ot}];" for j in range(U))
        + _lines(f"p[{i}] = pl[{k * pixels + i}];" for i in range(T))
        + _multiply_adds(T, U)
        for k in range(chans)
    )
    return f"""{_HEAD}
  local float all[{max((weights + pixels) * chans, items * T)}]; local float *wf = all, *pf = all + {weights * chans};
  float c[{T * U}] = {{0}}, q[{U}], p[{T}]; {_ids(ot, work["out_chan_blk"])}
  local float *wl = wf + lc, *pl = pf + lp * {T};
  int wo = gc * {given["blk_iter"] * chans * weights} + l, po = gp * {given["blk_iter"] * chans * pixels} + l;
  for (int b = 0; b != {given["blk_iter"]}; b++) {{
    {_WAIT} {_fill("wf", "w", weights * chans, items, "wo")} {_fill("pf", "in", pixels * chans, items, "po")} {_WAIT}
    wo += {weights * chans}; po += {pixels * chans}; {inner}
  }}
  if (flags == 2) return;
  {_WAIT} {_fill("wf", "bias", weights, items, f"gc * {weights} + l")} {_WAIT}
  {_lines(f"q[{j}] = wl[{j * ot}];" for j in range(U))}
  if (flags == 1) {{ {_lines(f"out[l + {n * items}] = c[{n}];" for n in range(T * U))} return; }}
  {_store_by_places(T, U, f"(lp + gp * {pt}) * {T}", f"(lc + gc * {ot}) * {U}", out["y"] * out["x"], out)}
}}"""


def _tconv(launch: Launch) -> str:
    names = ("work", "filts", "in", "in_pad", "stride", "out", "in_ref")
    work, filters, given, pad, stride, out, whole = (launch.dimensions[name] for name in names)
    T, U, ot, items = work["pels"], work["out_chan"], work["out_chan_tile"], launch.items
    step, taps, width = stride["y"], filters["x"], given["blk_x"]
    weights, pixels = ot * U * taps, given["blk_y"] * width
    inner = _lines(f"p[{i}] = po[{i}];" for i in range(width)) + _lines(
        _lines(f"q[{j}] = wl[{x * ot * U + j * ot}];" for j in range(U)) + _multiply_adds(T, U, step=stride["x"], start=x)
        for x in range(taps)
    )
    area = out["y"] * out["x"]
    stores = _lines(
        f"if (x + {i} >= {out['x']}) return; "
        + _lines(f"if (ch + {j} < {out['chan']}) to[{j * area + i}] = {_result(i, j, U)};" for j in range(U))
        for i in range(T)
    )
    return f"""{_HEAD}
  local float all[{weights + pixels}]; local float *wf = all, *pf = all + {weights};
  float c[{T * U}] = {{0}}, q[{U}], p[{width}];
  int l = get_local_id(0), g = get_group_id(0), ly = l / {ot}, lc = l % {ot}, blocks = g / {work["out_chan_blk"]};
  int gc = g % {work["out_chan_blk"]}, gx = blocks % {work["blk_bx"]}, gl = blocks / {work["blk_bx"]};
  int io = blocks * {pixels * given["blk_in_chan"]} + l, wo = gc * {weights * filters["y"] * given["blk_in_chan"]} + l;
  local float *wl = wf + lc; int line = gl * {work["blk_y"]}; int first = line / {out["y"]}; line += ly;
  int gap = (line / {out["y"]} - first) * {filters["y"] - step}, iy = line % {out["y"]} * {step} - {pad["y"]};
  if (flags == 3) return;
  for (int channel = 0; channel != {given["blk_in_chan"]}; channel++) {{
    {_WAIT} {_fill("pf", "in", pixels, items, "io")} io += {pixels};
    for (int ky = 0; ky != {filters["y"]}; ky++) {{
      if (ky != 0) {_WAIT} {_fill("wf", "w", weights, items, "wo")} wo += {weights}; {_WAIT}
      if (line / {out["y"]} >= {out["img"]}) continue; if (iy + ky < 0 || iy + ky > {whole["y"]}) continue;
      local float *po = pf + (ly * {step} + ky + gap) * {width}; {inner}
    }}
  }}
  if (flags == 2) return;
  {_WAIT} {_fill("wf", "bias", ot * U, items, f"gc * {ot * U} + l")} {_WAIT} {_lines(f"q[{j}] = wl[{j * ot}];" for j in range(U))}
  if (flags == 1) return; if (line / {out["y"]} >= {out["img"]}) return;
  int x = gx * {T}, ch = (gc * {ot} + lc) * {U};
  global float *to = out + line / {out["y"]} * {out["chan"] * area} + ch * {area} + line % {out["y"]} * {out["x"]} + x; {stores}
}}"""


def _conv_simd(launch: Launch) -> str:
    work, filters, given, stride = (launch.dimensions[n] for n in ("work", "filts", "in", "stride"))
    T, U, pt, ot, V = work["pels"], work["out_chan"], work["pels_tile"], work["out_chan_tile"], 8
    shape = launch.dimensions.get("in_pels") or launch.dimensions["out_ref"]
    taps, step = filters["y"] * filters["x"], stride["x"]
    inner = _lines(f"{_part('p', i, V)} = in[io + {i * step}];" for i in range(T))
    inner += _lines(f"q[{j}] = ((global const float{V} *)w)[wo + {j}];" for j in range(U // V)) + _multiply_adds(T, U, V)
    cases = _lines(
        f"case {j}: "
        + _lines(f"{_part('p', i, V)} = max(0.0f, c[{i * U + j}] + {_part('q', j, V)});" for i in range(T))
        + " break;"
        for j in range(U)
    )
    return f"""{_HEAD}
  {_ids(ot, work["out_chan_blk"])} float c[{T * U}] = {{0}}; float{V} q[{U // V}], p[{T // V}];
  int wo = (gc * {ot} + lc) * {U // V}, o = (gp * {pt} + lp) * {T};
  int base = o % {shape["x"]} * {step} + o / {shape["x"]} * {shape["x"] * step};
  for (int e = 0; e < {given["chan"] * taps}; e++) {{
    int io = base + e / {taps} * {given["pel"]} + e % {taps} / {filters["x"]} * {shape["x"]} + e % {filters["x"]};
    {inner} wo += {filters["out_chan"] // V};
  }}
  int ch = (gc * {ot} + lc) * {U // V}, to = (gp * {pt} + lp) * {T // V} + ch * {given["pel"]};
  for (int j = 0; j < {U // V}; j++) q[j] = ((global const float{V} *)bias)[ch + j];
  for (int j = 0; j < {U}; j++) {{
    switch (j) {{ {cases} }}
    {_lines(f"((global float{V} *)out)[to + {i}] = p[{i}];" for i in range(T // V))} to += {given["pel"] // V};
  }}
}}"""


_MAKERS: dict[str, Callable[[Launch], str]] = {
    "conv": _conv, "k1conv": _k1conv, "tconv": _tconv, "conv_simd": _conv_simd, "k1conv_simd": _conv_simd,
}  # fmt: skip


def _lines(parts: Iterable[str]) -> str:
    return " ".join(parts)


def _part(name: str, number: int, vector: int) -> str:
    return f"{name}[{number // vector}].s{number % vector:x}" if vector > 1 else f"{name}[{number}]"


def _multiply_adds(T: int, U: int, vector: int = 1, step: int = 1, start: int = 0) -> str:
    return _lines(
        f"c[{i * U + j}] += {_part('q', j, vector)} * {_part('p', i * step + start, vector)};" for i in range(T) for j in range(U)
    )


def _pick_rows(tile: int, vector: int) -> str:
    """A case for each row of the tile, which it moves to where stores take it from."""
    return _lines(
        _lines([f"case {i}:", *(f"{_part('q', j, vector)} = c[{i * tile + j}];" for j in range(tile)), "break;"])
        for i in range(tile)
    )


def _ids(columns: int, blocks: int) -> str:
    own = f"int l = get_local_id(0), g = get_group_id(0), lp = l / {columns}, lc = l % {columns}"
    return f"{own}, gp = g / {blocks}, gc = g % {blocks};"


def _fill(local: str, array: str, size: int, items: int, start: str) -> str:
    """The group's work-items load `size` elements together; a condition where they do not divide."""
    return _lines(
        (f"if (l + {at} < {size}) " if at + items > size else "") + f"{local}[l + {at}] = {array}[{start} + {at}];"
        for at in range(0, size, items)
    )


def _result(i: int, j: int, U: int) -> str:
    return f"max(0.0f, c[{i * U + j}] + q[{j}])"


def _store_by_places(T: int, U: int, pixel: str, channel: str, area: int, out: dict[str, int]) -> str:
    whole = out["chan"] * area
    stores = _lines(
        f"if ({pixel} + {i} >= {out['img'] * area}) return; "
        + _lines(f"if (tc[{j}] < {whole}) out[tp[{i}] + tc[{j}]] = {_result(i, j, U)};" for j in range(U))
        for i in range(T)
    )
    places = _lines(f"tp[{i}] = ({pixel} + {i}) / {area} * {whole} + ({pixel} + {i}) % {area};" for i in range(T))
    channels = _lines(f"tc[{j}] = ({channel} + {j}) * {area};" for j in range(U))
    return f"int tp[{T}], tc[{U}]; {places} {channels} {stores}"
