// The wheel has no <tvm/support/io.h>; nothing of it is needed to read a graph.
#pragma once
