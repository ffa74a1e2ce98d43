"""Patterns of `rearrange` and `repeat`: einops' notation, with errors worded as einops words them."""

from __future__ import annotations

import keyword
import math
import re
import sys
import warnings
from functools import lru_cache
from operator import index
from typing import Any, NamedTuple

from cornerturn._arrays import shown
from cornerturn._frameworks import is_traced

_ELLIPSIS = "…"
_ANONYMOUS = "#"  # after the length of an axis that has no name
_Group = tuple[str, ...]


class EinopsError(ValueError, RuntimeError):
    """A pattern is wrong, or does not fit the shape. Where einops is imported it is an
    `einops.EinopsError` as well."""


class PatternError(ValueError):
    """What is wrong, without the pattern and the shape that it is wrong for."""


def _error() -> type[EinopsError]:
    einops = sys.modules.get("einops")
    return EinopsError if einops is None else _error_of(einops.EinopsError)


@lru_cache(maxsize=None)
def _error_of(einops_error: type[Exception]) -> type[EinopsError]:
    return type("EinopsError", (EinopsError, einops_error), {"__doc__": EinopsError.__doc__})


class Layout(NamedTuple):
    """What a pattern means for one shape."""

    groups: tuple[tuple[int, ...], ...]  # each axis of the array, taken apart
    new: tuple[int, ...]  # extents along which all is repeated, after those of the groups
    order: tuple[int, ...]  # of the parts, in the result
    shape: tuple[int, ...]  # of the result, with parts merged

    @property
    def split(self) -> tuple[int, ...]:
        return tuple([extent for group in self.groups for extent in group])


class _Side(NamedTuple):
    groups: tuple[_Group, ...]
    names: frozenset[str]


def layout_of(
    pattern: str, shape: tuple[int, ...], lengths: dict[str, int], repeats: bool = False
) -> Layout:
    """Raises EinopsError, in einops' words, when the pattern is wrong or does not fit. Where it
    `repeats`, names and numbers on the right may be new axes."""
    try:
        fit = _fit if is_traced() else _fit_once
        return fit(pattern, shape, tuple(lengths.items()), repeats)
    except PatternError as error:
        # Dynamo knows errors of Python's own only, and then calls again without tracing.
        raise (ValueError if is_traced() else _error())(
            f' Error while processing {"repeat" if repeats else "rearrange"}-reduction pattern "{pattern}".'
            f"\n Input tensor shape: {shape}. Additional info: {lengths}.\n {error}"
        ) from None


def measure(extent: int, group: _Group, known: dict[str, int]) -> None:
    """Finds the length of the one axis of a group that is not known, or checks those that are."""
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


def extent_of(name: str, value: Any) -> int:
    # An integer is taken as it is: index() of one that torch.compile leaves open would fix it.
    try:
        extent = value if isinstance(value, int) else index(value)
    except TypeError:
        raise TypeError(f"{name} = {shown(value)}: the length of an axis has to be an integer") from None
    if extent < 0:
        raise ValueError(f"{name} = {extent} is negative")
    return extent


def _fit(
    pattern: str, shape: tuple[int, ...], lengths: tuple[tuple[str, int], ...], repeats: bool
) -> Layout:
    left, right = sides_of(pattern, len(shape), tuple([name for name, _ in lengths]), repeats)
    known = dict(lengths)
    for extent, group in zip(shape, left, strict=True):
        measure(extent, group, known)
    names = [name for group in left for name in group]
    new = [name for group in right for name in group if name not in names]
    for name in new:
        if name not in known:
            known[name] = int(name.partition(_ANONYMOUS)[0])
    names += new
    return Layout(
        tuple([tuple([known[name] for name in group]) for group in left]),
        tuple([known[name] for name in new]),
        tuple([names.index(name) for group in right for name in group]),
        tuple([math.prod([known[name] for name in group]) for group in right]),
    )


_fit_once = lru_cache(maxsize=1024)(_fit)


def sides_of(
    pattern: str, rank: int, given: tuple[str, ...], repeats: bool
) -> tuple[tuple[_Group, ...], tuple[_Group, ...]]:
    """Both sides of a pattern for arrays of `rank` axes, the ellipsis spelled out."""
    found = _read(pattern, rank, given, repeats)
    if isinstance(found, str):
        raise PatternError(found)
    return found


def _read(
    pattern: str, rank: int, given: tuple[str, ...], repeats: bool
) -> tuple[tuple[_Group, ...], tuple[_Group, ...]] | str:
    """Both sides, or what is wrong."""
    try:
        return _sides_once(pattern, rank, given, repeats)
    except PatternError as error:
        return str(error)


# torch.compile calls it while it traces, and takes what it returns as a constant.
_read._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _check_identifiers(
    left: frozenset[str], right: frozenset[str], given: tuple[str, ...], repeats: bool
) -> None:
    """Both sides name the same axes; a `repeat` may have more on the right."""
    if repeats:
        if lost := left - right:
            raise PatternError(f"Unexpected identifiers on the left side of repeat: {set(lost)}")
        unsized = {
            name
            for name in right - left
            if name not in given and _ANONYMOUS not in name and name != _ELLIPSIS
        }
        if unsized:
            raise PatternError(f"Specify sizes for new axes in repeat: {unsized}")
    elif one_sided := left ^ right:
        raise PatternError(
            f"Identifiers only on one side of expression (should be on both): {set(one_sided)}"
        )


@lru_cache(maxsize=256)
def _sides_once(
    pattern: str, rank: int, given: tuple[str, ...], repeats: bool
) -> tuple[tuple[_Group, ...], tuple[_Group, ...]]:
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
    if any(_ANONYMOUS in name for name in left.names | (frozenset() if repeats else right.names)):
        raise PatternError(
            "Non-unitary anonymous axes are not supported in rearrange (exception is length 1)"
        )
    _check_identifiers(left.names, right.names, given, repeats)
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
        if name not in left.names | right.names:
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
                _check_token(name)
                if name.isdecimal() and not _is_one(name):  # each is an axis of its own
                    name = f"{name}{_ANONYMOUS}{len(names)}"
                group: _Group = () if _is_one(name) else (name,)
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
        _warn(f"It is discouraged to use axes names that are keywords: {name}", RuntimeWarning)
    if name == "axis":
        _warn("It is discouraged to use 'axis' as an axis name and will raise an error in future", FutureWarning)


def _warn(message: str, category: type[Warning]) -> None:
    if not is_traced():
        warnings.warn(message, category, stacklevel=2)
