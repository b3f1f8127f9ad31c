"""Words for facts, the same in picture, outline, inspector and table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradviz.model.facts import Attribute, Hook, Number, SavedTensor, TensorInfo, ValueSummary
from gradviz.model.words import plural as plural
from gradviz.model.words import size as size
from gradviz.view.text import clean, shorten


def number(value: Number) -> str:
    """A value as Python would write it, floats with four significant digits.

    Examples:
        >>> number(2.0), number(1 / 3), number(True), number("nan"), number(1e-9)
        ('2.0', '0.3333', 'True', 'nan', '1e-09')
    """
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.4g}"
    return text if any(sign in text for sign in ".en") else text + ".0"


def shape(sizes: Sequence[int] | None) -> str:
    """A shape as a tuple, ``?`` when it is not known."""
    return "?" if sizes is None else str(tuple(sizes))


def numbers(values: Sequence[Number], sizes: Sequence[int], room: int = 1000) -> str:
    """Few values; a scalar without brackets, and without the middle what is too long.

    Examples:
        >>> numbers((2.0,), ()), numbers((1, 2, 3), (3,)), numbers((1, 2, 3, 4), (4,), 10)
        ('2.0', '[1, 2, 3]', '[1, …, 4]')
    """
    words = [*map(number, values)]
    if not sizes and len(words) == 1:
        return words[0]
    text = f"[{', '.join(words)}]"
    left = len(words) - 1
    while len(text) > room and left > 1:
        left -= 1
        text = f"[{', '.join(words[:left])}, …, {words[-1]}]"
    return text


def summary(found: ValueSummary | None) -> str:
    """What ``.grad`` holds in a few words: values, or minimum, mean and maximum."""
    if found is None:
        return "None"
    if found.values is not None:
        text = numbers(found.values, found.shape)
    else:
        pairs = (("min", found.min), ("mean", _mean(found)), ("max", found.max))
        text = " ".join(f"{word} {number(v)}" for word, v in pairs if v is not None)
        text = text or f"values not read, {shape(found.shape)}"
    bad = " and ".join(
        w for w, is_there in (("nan", found.has_nan), ("inf", found.has_inf)) if is_there
    )
    return f"{text} (has {bad})" if bad else text


def _mean(found: ValueSummary) -> Number | None:
    """The mean; what is only the rounding of a sum, which differs between devices, is 0."""
    parts = (found.min, found.mean, found.max)
    if not all(isinstance(part, float) for part in parts):
        return found.mean
    low, mean, high = (float(part) for part in parts if part is not None)
    return 0.0 if abs(mean) < 1e-6 * max(abs(low), abs(high)) else found.mean


def dtype(name: str | None) -> str:
    """The dtype, empty for float32, which goes without saying."""
    return "" if name in (None, "float32") else clean(str(name))


def version(saved: int | None, now: int | None) -> str:
    """``v0``; when they differ, both; what torch does not tell is called unknown."""
    if saved is None:
        return "" if now is None else f"saved version unknown, now v{now}"
    return f"v{saved}" if now in (None, saved) else f"saved v{saved}, now v{now}"


def join(parts: Iterable[str], between: str = " · ") -> str:
    """The parts that are not empty."""
    return between.join(part for part in parts if part)


def tensor_name(info: TensorInfo) -> str:
    """The name of a tensor, else its id."""
    return clean(info.name) if info.name else info.id


def flags(info: TensorInfo) -> tuple[str, ...]:
    """What is true of a tensor, in torch's words."""
    leaf = {True: "leaf", False: "not a leaf", None: "leaf not known"}[info.is_leaf]
    return tuple(
        filter(
            None,
            (
                leaf,
                "requires grad" if info.requires_grad else "does not require grad",
                "retain_grad" if info.retains_grad else "",
                "view" if info.is_view else "",
                "inference tensor" if info.is_inference else "",
            ),
        )
    )


HOOK_KINDS = {
    "tensor": "hook",
    "post_accumulate_grad": "post-accumulate-grad hook",
    "node_pre": "node prehook",
    "node_post": "node hook",
}


def hook(found: Hook, room: int = 1000) -> str:
    """A hook by kind and name, the name shortened to what the kind leaves of ``room``."""
    kind = HOOK_KINDS.get(found.kind, clean(found.kind))
    return f"{kind} {shorten(clean(found.name), max(8, room - len(kind) - 1))}"


def attribute(value: Attribute) -> str:
    """A saved scalar or size."""
    if isinstance(value, tuple):
        inside = ", ".join(map(attribute, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, float):
        return number(value)
    return clean(str(value))


def saved_name(slot: SavedTensor, names: dict[str, str]) -> str:
    """The slot and, when it is a known tensor or a view of one, which: ``self = b``."""
    known = saved_tensor(slot, names)
    return f"{clean(slot.name)} = {known}" if known else clean(slot.name)


def saved_tensor(slot: SavedTensor, names: dict[str, str]) -> str:
    """Name of the tensor in a slot: ``b``, ``view of x``, or empty when it is not known."""
    if slot.view_of in names:
        return f"view of {names[slot.view_of]}"
    return names.get(slot.tensor or "", "")


def saved_state(slot: SavedTensor) -> str:
    """State and versions of a slot: ``v0``, ``⚠ saved v0, now v1``, ``freed``, ``packed by f``."""
    if slot.state == "packed":
        return f"packed by {clean(slot.packed_by)}" if slot.packed_by else "packed"
    versions = version(slot.saved_version, slot.current_version)
    if slot.state == "modified":
        return f"⚠ {versions or 'modified'}"
    if slot.state == "held":
        return versions
    return join((slot.state, versions), " ")
