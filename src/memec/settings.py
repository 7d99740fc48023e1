"""The one base of everything that can be set, and how to say what is wrong with a setting."""

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, ClassVar, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from memec.errors import MemecError, unknown_name

S = TypeVar("S", bound="Settings")
NO_PART = ("union_tag_invalid", "union_tag_not_found", "model_type", "model_attributes_type")
"""What pydantic calls it when something is given for a part that cannot be one."""
FOREIGN = "foreign"
"""How the settings of what is none of memec's are told from its own."""
PLAIN = (str, int, float, dict, list, type(None))


class Settings(BaseModel):
    """Frozen, typed and validated: an unknown name or a bad value is an error, never ignored."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True, use_attribute_docstrings=True
    )

    tag: ClassVar[str] = ""
    """What tells these settings from others in the same place, where their name does not."""

    @classmethod
    def read(cls, content: Any) -> Self:
        """Make settings from plain data; what is wrong with them is said in one sentence."""
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise _explained(cls, error) from None

    def changed(self, changes: dict[str, Any]) -> Self:
        """Return these settings with some changed; None means as it was.

        Nested ones may be given in part, and a strategy by its name alone.
        """
        content = self.model_dump(mode="json")
        _merge(content, changes)
        changed = type(self).read(content)
        given = dict(self) | {name: value for name, value in changes.items() if value is not None}
        for name, value in given.items():
            if isinstance(value, Settings) and type(value) is not type(getattr(changed, name)):
                raise _foreign(name, value)  # a class of the user's own, which read as data became its parent
        return changed


def setting_names(settings: type[Settings], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield every setting by its dotted name, nested ones included."""
    for name, field in settings.model_fields.items():
        nested = list(_models_in(field.annotation))
        if not nested:
            yield prefix + name, field
        for model in (model for model in nested if model.tag != FOREIGN):
            yield from setting_names(model, f"{prefix}{name}.")


def flat(content: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield plain settings by their dotted names."""
    for name, value in content.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _merge(content: dict[str, Any], changes: dict[str, Any]) -> None:
    for name, value in changes.items():
        plain = value.model_dump(mode="json") if isinstance(value, Settings) else value
        known = content.get(name)
        if plain is None:
            continue
        if isinstance(plain, str) and isinstance(known, dict) and "name" in known:
            plain = {"name": plain}
        # a part that is told apart by its name (a strategy) is changed in place only while the name stays
        if (
            isinstance(known, dict)
            and isinstance(plain, dict)
            and plain.get("name", known.get("name")) == known.get("name")
        ):
            _merge(known, plain)
        else:
            content[name] = plain


def _models_in(annotation: Any) -> Iterator[type[Settings]]:
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        yield annotation
    elif get_origin(annotation) in (Union, UnionType, Annotated):
        for part in get_args(annotation):
            yield from _models_in(part)


def _explained(root: type[Settings], error: ValidationError) -> MemecError:
    """Turn pydantic's list into one sentence about the first mistake, with the nearest valid name."""
    first = error.errors()[0]
    message = first["msg"].removeprefix("Value error, ")
    path = [str(part) for part in first["loc"]]
    models = [root]
    names: list[str] = []
    for part in path:
        tagged = [model for model in models if part == _tag(model)]
        if tagged:  # pydantic names the member of a union, which is no part of the setting's name
            models = tagged
            continue
        names.append(part)
        fields = [model.model_fields[part] for model in models if part in model.model_fields]
        models = [inner for field in fields for inner in _models_in(field.annotation)] or models
    setting = ".".join(names)
    if first["type"] == "extra_forbidden":
        known = [name for model in models for name in model.model_fields if name != "name"]
        parent = ".".join(names[:-1])
        return unknown_name(f"setting of {parent}" if parent else "setting", names[-1], known)
    if first["type"] in NO_PART and not isinstance(first["input"], PLAIN):
        return _foreign(setting, first["input"])
    if first["type"] == "union_tag_invalid":
        tags = [tag for model in models if (tag := _tag(model)) is not None]
        return unknown_name(setting, str(first["input"].get("name")), tags)
    if not setting:
        return MemecError(f"{message[0].upper()}{message[1:].rstrip('.')}.")
    if first["type"] == "value_error":
        return MemecError(f"{setting}: {message.rstrip('.')}.")
    return MemecError(f"{setting} cannot be {first['input']!r}: {message[0].lower()}{message[1:].rstrip('.')}.")


def _foreign(setting: str, value: Any) -> MemecError:
    """Say that an object given for a part is none of ours, or a class."""
    what = f"the class {value.__name__}" if isinstance(value, type) else f"an object of {type(value).__name__}"
    return MemecError(
        f"{setting} cannot be {what}: within settings it must be plain data or an object of memec's own classes."
    )


def _tag(model: type[Settings]) -> str | None:
    if model.tag:
        return model.tag
    field = model.model_fields.get("name")
    return field.default if field is not None and isinstance(field.default, str) else None
