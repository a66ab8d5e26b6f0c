"""Validators of the JSON that the commands write, with every schema at hand that another one refers to."""

from __future__ import annotations

import jsonschema
import referencing

from adreno_sim import schemas


def validator(name: str) -> jsonschema.Draft202012Validator:
    """The validator of the schema `name`, which is one itself."""
    registry = referencing.Registry().with_resources(
        (schema["$id"], referencing.Resource.from_contents(schema)) for schema in map(schemas.load, schemas.NAMES)
    )
    jsonschema.Draft202012Validator.check_schema(schemas.load(name))
    return jsonschema.Draft202012Validator(schemas.load(name), registry=registry)
