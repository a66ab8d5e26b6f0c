"""TVM seen in one way for every version: class names, reading IR, cutting pipelines."""
