"""fastjson's `{"$ref": …}`: the second mention of an object that the text holds already."""

import re
from collections.abc import Iterable, Iterator, MutableMapping, MutableSequence
from dataclasses import dataclass


class UnresolvableError(ValueError):
    """A reference to something that the text does not hold."""


@dataclass(frozen=True, slots=True, eq=False)
class ObjectKeyMap:
    """A map with objects as keys: `[key, value]` entries in the order of the text, equal keys kept."""

    entries: list[list[object]]


#: What a value stands in.
_Holder = MutableMapping[object, object] | MutableSequence[object]

#: `.name`, where special characters have a backslash before them, or `[position]`, in fastjson's paths.
_STEP = re.compile(r"\.((?:\\.|[^\\.\[])+)|\[(\d{1,9})\]", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def resolve_references(root: object, room: int) -> object:
    """The same value with every reference replaced by the value that it names.

    `$` is the root, `$.name[0]` a path from it, `@` the reference's container, `..` the one around that: these two make
    circles. Raises `UnresolvableError` if nothing or no container is there, or the named text exceeds `room`
    characters. Source: com.alibaba.fastjson.serializer.JSONSerializer.writeReference, SerialContext.toString.
    """
    if _reference(root) is not None:
        raise UnresolvableError("the whole text is a $ref")
    references: list[tuple[_Holder, int, object]] = []
    pending: list[tuple[object, object]] = [(root, None)]
    while pending:
        container, parent = pending.pop()
        for holder, place, child in _slots(container):
            path = _reference(child)
            if path is not None:
                references.append((holder, place, _target(path, root, container, parent)))
            else:
                pending.append((child, container))
    _check_length((target for _, _, target in references), room)
    for holder, place, target in references:
        holder[place] = target
    return root


def _check_length(targets: Iterable[object], room: int) -> None:
    """Return the value as it is: while no reference is replaced, there are no circles."""
    lengths: dict[int, int] = {}
    characters_left = room
    for target in targets:
        if id(target) not in lengths:
            lengths[id(target)] = _length(target, room)
        characters_left -= lengths[id(target)]
        if characters_left < 0:
            raise UnresolvableError(f"what $ref stands for has more than {room} characters")


def _length(value: object, enough: int) -> int:
    """About how many characters a value was written with, or any number beyond `enough`."""
    length, pending = 0, [value]
    while pending and length <= enough:
        item = pending.pop()
        length += len(item) if isinstance(item, str) else 1
        if isinstance(item, dict):
            length += sum(len(name) for name in item if isinstance(name, str))
        pending += (child for _, _, child in _slots(item))
    return length


def _slots(container: object) -> Iterator[tuple[_Holder, int, object]]:
    """Every place that holds a value: (dict or list, key or position, value)."""
    if isinstance(container, dict):
        yield from ((container, name, child) for name, child in list(container.items()))
    elif isinstance(container, list):
        yield from ((container, position, child) for position, child in enumerate(container))
    elif isinstance(container, ObjectKeyMap):
        for entry in container.entries:
            yield from ((entry, side, entry[side]) for side in (0, 1))


def _reference(value: object) -> str | None:
    if not isinstance(value, dict) or "$ref" not in value:
        return None
    path = value["$ref"]
    if len(value) != 1 or not isinstance(path, str):
        raise UnresolvableError("$ref with something other than one path")
    return path


def _target(path: str, root: object, container: object, parent: object) -> object:
    if path == "@":
        return container
    if path == ".." and parent is not None:
        return parent
    target = _follow(path, root)
    if _reference(target) is not None:
        raise UnresolvableError(f"the reference {path!a} names another reference")
    if not isinstance(target, dict | list | ObjectKeyMap):
        raise UnresolvableError(f"the reference {path!a} names no object or array")
    return target


def _follow(path: str, root: object) -> object:
    """The value that a path from the root names."""
    value, at = root, 1
    while path.startswith("$") and at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            break
        name = int(step[2]) if step[2] else _ESCAPED.sub(r"\1", step[1])
        value, at = _child(value, name, path), step.end()
    if not path.startswith("$") or at < len(path):
        raise UnresolvableError(f"the reference {path!a} is not understood")
    return value


def _child(value: object, name: str | int, path: str) -> object:
    if isinstance(value, dict) and name in value:
        return value[name]
    if isinstance(value, list) and isinstance(name, int) and name < len(value):
        return value[name]
    raise UnresolvableError(f"the reference {path!a} names nothing in the text")
