"""A state as pieces of bytes, and back: compressed JSON, small enough that each is made and written in a moment.

The first piece has everything but the partitions, of which there may be millions. The others have those of one
table each, by columns: building and reading them takes about a second for 200,000 partitions.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, get_args, get_origin

from attrs import fields
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from cattrs.preconf.json import JsonConverter

from headwater.engine.requests.index import rebuilt
from headwater.model.partition import Slice, Version
from headwater.model.state import PartitionRecord, State, TableRecord
from headwater.store import codec

FORMAT = 4
"""The shape of the pieces. Another one is a number more."""

CHUNK = 20_000
"""Partitions of a piece."""


def encode(state: State) -> Iterator[bytes]:
    """The pieces of a state that no thread changes meanwhile."""
    yield _packed(_CONVERTER.unstructure(state))
    for name, record in state.tables.items():
        found = iter(record.partitions.items())
        while chunk := list(islice(found, CHUNK)):
            yield _packed({"table": name, **_columns(chunk)})


def decode(pieces: Sequence[bytes], count: int) -> State:
    """The state that ``encode`` took apart into these pieces, with what is derived from it.

    Raises:
        ValueError: a piece is missing or damaged.
    """
    if len(pieces) != count:
        raise ValueError(f"{len(pieces)} of {count} pieces are there")
    try:
        found = iter(pieces)
        state = _CONVERTER.structure(_unpacked(next(found)), State)
        for piece in found:
            chunk = _unpacked(piece)
            state.tables[chunk["table"]].partitions.update(_partitions(chunk))
    except Exception as error:  # whatever a damaged text raises in zlib, JSON, cattrs or here
        raise ValueError(f"not a snapshot: {type(error).__name__} {error}") from error
    state.index = rebuilt(state)
    return state


def _packed(body: Any) -> bytes:
    return zlib.compress(json.dumps(body, separators=(",", ":")).encode(), 1)


def _unpacked(piece: bytes) -> Any:
    return json.loads(zlib.decompress(piece))


def _columns(chunk: list[tuple[Slice, PartitionRecord]]) -> dict[str, Any]:
    """Partitions by columns. Equal names and equal inputs are written once."""
    names: dict[tuple[str, ...], int] = {}
    inputs: dict[tuple[tuple[str, Version], ...], int] = {}
    records = [record for _, record in chunk]
    return {
        "named": [names.setdefault(each.names, len(names)) for each, _ in chunk],
        "values": [[value for _, value in each.bound] for each, _ in chunk],
        "version": [each.version for each in records],
        "fingerprint": [each.fingerprint for each in records],
        "rows": [each.rows for each in records],
        "input": [inputs.setdefault(each.inputs, len(inputs)) for each in records],
        "content": [each.content for each in records],
        "names": list(names),
        "inputs": list(inputs),
    }


def _partitions(chunk: dict[str, Any]) -> Iterator[tuple[Slice, PartitionRecord]]:
    names = chunk["names"]
    inputs = [tuple((source, version) for source, version in each) for each in chunk["inputs"]]
    columns = (chunk[each] for each in ("named", "values", "version", "fingerprint", "rows", "input", "content"))
    for named, values, version, fingerprint, rows, place, content in zip(*columns, strict=True):
        bound = tuple(zip(names[named], values, strict=True))
        yield Slice(bound), PartitionRecord(version, fingerprint, rows, inputs[place], content)


def _converter() -> JsonConverter:
    """That of events, and mappings whose keys are no text as lists of pairs."""
    made = codec.converter()

    def unstructure_pairs(of: Any) -> Any:
        key, value = get_args(of)
        return lambda mapping: [
            [made.unstructure(each, unstructure_as=key), made.unstructure(mapping[each], unstructure_as=value)]
            for each in mapping
        ]

    def structure_pairs(of: Any) -> Any:
        key, value = get_args(of)
        return lambda found, _: {made.structure(each, key): made.structure(held, value) for each, held in found}

    made.register_unstructure_hook_factory(_has_other_keys, unstructure_pairs)
    made.register_structure_hook_factory(_has_other_keys, structure_pairs)
    derived: dict[str, Any] = {each.name: override(omit=True) for each in fields(State) if not each.eq}
    for of, left_out in ((TableRecord, {"partitions": override(omit=True)}), (State, derived)):  # in this order
        made.register_unstructure_hook(of, make_dict_unstructure_fn(of, made, _cattrs_omit_if_default=True, **left_out))
        made.register_structure_hook(of, make_dict_structure_fn(of, made, **left_out))
    return made


def _has_other_keys(of: Any) -> bool:
    return get_origin(of) is dict and get_args(of)[0] is not str


_CONVERTER = _converter()
