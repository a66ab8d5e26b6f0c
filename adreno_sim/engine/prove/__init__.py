"""Proofs about a launch: accesses in range, disjoint accesses, single writers, local arrays without races, known factors."""
