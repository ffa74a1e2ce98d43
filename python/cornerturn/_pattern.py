"""Patterns of `rearrange`: einops' notation, with errors worded as einops words them."""

from __future__ import annotations

import keyword
import math
import re
from functools import lru_cache
from typing import NamedTuple

_ELLIPSIS = "…"
_Group = tuple[str, ...]


class PatternError(ValueError):
    """What is wrong, without the pattern and the shape that it is wrong for."""


class Layout(NamedTuple):
    """What a pattern means for one shape."""

    groups: tuple[tuple[int, ...], ...]  # each axis of the array, taken apart
    order: tuple[int, ...]  # of the parts, in the result
    shape: tuple[int, ...]  # of the result, with parts merged

    @property
    def split(self) -> tuple[int, ...]:
        return tuple([extent for group in self.groups for extent in group])


class _Side(NamedTuple):
    groups: tuple[_Group, ...]
    names: frozenset[str]


def layout_of(pattern: str, shape: tuple[int, ...], lengths: dict[str, int]) -> Layout:
    """Raises ValueError, in einops' words, when the pattern is wrong or does not fit."""
    try:
        return _layout(pattern, shape, tuple(lengths.items()))
    except PatternError as error:
        raise ValueError(
            f' Error while processing rearrange-reduction pattern "{pattern}".'
            f"\n Input tensor shape: {shape}. Additional info: {lengths}.\n {error}"
        ) from None


@lru_cache(maxsize=1024)
def _layout(pattern: str, shape: tuple[int, ...], lengths: tuple[tuple[str, int], ...]) -> Layout:
    left, right = _sides(pattern, len(shape), tuple([name for name, _ in lengths]))
    known = dict(lengths)
    for extent, group in zip(shape, left, strict=True):
        unknown = [name for name in group if name not in known]
        product = math.prod([known[name] for name in group if name in known])
        if not unknown:
            if extent != product:
                raise PatternError(f"Shape mismatch, {extent} != {product}")
        elif len(unknown) > 1:
            raise PatternError(f"Could not infer sizes for {set(unknown)}")
        elif product == 0 or extent % product != 0:
            raise PatternError(
                f"Shape mismatch, can't divide axis of length {extent} in chunks of {product}"
            )
        else:
            known[unknown[0]] = extent // product
    names = [name for group in left for name in group]
    return Layout(
        tuple([tuple([known[name] for name in group]) for group in left]),
        tuple([names.index(name) for group in right for name in group]),
        tuple([math.prod([known[name] for name in group]) for group in right]),
    )


@lru_cache(maxsize=256)
def _sides(
    pattern: str, rank: int, given: tuple[str, ...]
) -> tuple[tuple[_Group, ...], tuple[_Group, ...]]:
    """Both sides of a pattern for arrays of `rank` axes, the ellipsis spelled out."""
    parts = pattern.split("->")
    if len(parts) != 2:
        raise PatternError("Pattern should have two sides with one '->' between them")
    left, right = _parse(parts[0]), _parse(parts[1])
    if _ELLIPSIS in right.names and _ELLIPSIS not in left.names:
        raise PatternError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if any(_ELLIPSIS in group for group in left.groups if group != (_ELLIPSIS,)) or re.search(
        r"\(\s*\.\.\.\s*\)", parts[0]
    ):
        raise PatternError(f"Ellipsis inside parenthesis in the left side is not allowed: {pattern}")
    if any(name.isdecimal() for name in left.names | right.names):
        raise PatternError(
            "Non-unitary anonymous axes are not supported in rearrange (exception is length 1)"
        )
    if one_sided := left.names ^ right.names:
        raise PatternError(
            f"Identifiers only on one side of expression (should be on both): {set(one_sided)}"
        )
    of_ellipsis: _Group = ()
    if _ELLIPSIS in left.names:
        others = len(left.groups) - 1
        if rank < others:
            raise PatternError(
                f"Wrong shape: expected >={others} dims. Received {rank}-dim tensor."
            )
        of_ellipsis = tuple([f"{_ELLIPSIS}{i}" for i in range(rank - others)])
    elif rank != len(left.groups):
        raise PatternError(
            f"Wrong shape: expected {len(left.groups)} dims. Received {rank}-dim tensor."
        )
    for name in given:
        _check_name(name)
        if name not in left.names:
            raise PatternError(f"Axis {name} is not used in transform")
    bare_on_the_right = not re.search(r"\([^)]*\.\.\.", parts[1])
    return (
        _spell_out(left.groups, of_ellipsis, True),
        _spell_out(right.groups, of_ellipsis, bare_on_the_right),
    )


def _spell_out(
    groups: tuple[_Group, ...], of_ellipsis: _Group, bare: bool
) -> tuple[_Group, ...]:
    """With the axes that an ellipsis stands for: each of its own, or all in the group it is in."""
    result: list[_Group] = []
    for group in groups:
        if _ELLIPSIS not in group:
            result.append(group)
        elif bare:
            result.extend([(name,) for name in of_ellipsis])
        else:
            at = group.index(_ELLIPSIS)
            result.append(group[:at] + of_ellipsis + group[at + 1 :])
    return tuple(result)


def _parse(side: str) -> _Side:
    text = side.replace("...", _ELLIPSIS)
    if "." in text:
        raise PatternError("Expression may contain dots only inside ellipsis (...)")
    if text.count(_ELLIPSIS) > 1:
        raise PatternError(
            "Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor "
        )
    groups: list[_Group] = []
    names: set[str] = set()
    open_group: list[str] | None = None
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            if open_group is not None:
                raise PatternError(
                    "Axis composition is one-level (brackets inside brackets not allowed)"
                )
            open_group = []
        elif token == ")":
            if open_group is None:
                raise PatternError("Brackets are not balanced")
            groups.append(tuple(open_group))
            open_group = None
        else:
            for name in re.findall(f"{_ELLIPSIS}|[^{_ELLIPSIS}]+", token):
                if name in names:
                    raise PatternError(
                        f'Indexing expression contains duplicate dimension "{name}"'
                    )
                group: _Group = () if _is_one(name) else (name,)
                _check_token(name)
                names.update(group)
                if open_group is None:
                    groups.append(group)
                else:
                    open_group.extend(group)
    if open_group is not None:
        raise PatternError(f'Imbalanced parentheses in expression: "{side}"')
    return _Side(tuple(groups), frozenset(names))


def _is_one(name: str) -> bool:
    return name.isdecimal() and int(name) == 1


def _check_token(name: str) -> None:
    if name == _ELLIPSIS or name.isdecimal():
        if name.isdecimal() and int(name) == 0:
            raise PatternError("Anonymous axis should have positive length, not 0")
        return
    for char in name:
        if not (char.isalnum() or char == "_"):
            raise PatternError(f"Unknown character '{char}'")
    _check_name(name)


def _check_name(name: str) -> None:
    if not name.isidentifier():
        raise PatternError(f"Invalid axis identifier: {name}\nnot a valid python identifier")
    if name.startswith("_") or name.endswith("_"):
        raise PatternError(
            f"Invalid axis identifier: {name}\n"
            "axis name should should not start or end with underscore"
        )
    if keyword.iskeyword(name):
        raise PatternError(f"Invalid axis identifier: {name}\nit is a keyword of Python")
