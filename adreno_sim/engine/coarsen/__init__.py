"""Work-group coarsening: a kernel that runs several neighbouring work-groups as one, with a group in each lane of a vector.

Where a group computes a single number, as in a reduction of TVM's, its work-items read memory far apart, while the same work-item
of the next group reads the next element. So the lanes are groups: the coarse kernel's local id along x says which of the launch's
groups, its other axes are those of the launch's own groups. It is a kernel like any other, which all analyses and the vector
emitter take unchanged.
"""
