"""Settings from their sources: options before environment before `.env` before `config/memex.toml` before defaults.

A field of a section is `MEMEX_<SECTION>_<FIELD>` in the environment and `[section] field` in the
file. The names of the reference service work too, in upper or lower case.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
import platformdirs

from memex.errors import SettingsInvalid
from memex.settings.names import FOREIGN_PREFIXES, HOME, LEGACY, SECTIONS, names
from memex.settings.sections import Settings

Values = dict[str, dict[str, Any]]
WORDING = {
    "`int`": "a whole number",
    "`float`": "a number",
    "`float | null`": "a number",
    "`bool`": "true or false",
    "`str`": "text",
    ", got `str`": "",
}
# Half a character is what a byte of the environment becomes that is no UTF-8.
UNFIT = re.compile("[\0\ud800-\udfff]")
WORDS = dict.fromkeys(("y", "yes", "t", "on"), True) | dict.fromkeys(("n", "no", "f", "off"), False)


def load(environment: Mapping[str, str], options: Values, home: Path) -> Settings:
    """All sources merged. `environment` already holds what `.env` adds; `options` come from the command line.

    Raises SettingsInvalid naming the setting.
    """
    file = home / "config" / "memex.toml"
    merged: Values = {section: {} for section in SECTIONS}
    for values in (from_file(file), from_environment(environment), options):
        for section, fields in values.items():
            merged[section].update(fields)
    return convert(merged, home)


def home_of(environment: Mapping[str, str]) -> Path:
    """`MEMEX_HOME`, or the platform's folder for a user's data."""
    named = next((value for name, value in environment.items() if name.upper() == HOME), "")
    return Path(named).expanduser() if named else Path(platformdirs.user_data_dir("memex"))


def from_environment(environment: Mapping[str, str]) -> Values:
    """Our names and the reference's. An unknown `MEMEX_` name is refused, so that a typo cannot pass unseen."""
    ours, values = names(), Values()
    for raw, value in environment.items():
        name = raw.upper()
        place = ours.get(name) or LEGACY.get(name)
        if place and not (name in LEGACY and place in named_by_us(environment, ours)):
            values.setdefault(place[0], {})[place[1]] = value
        elif place is None and name.startswith("MEMEX_") and name != HOME and not name.startswith(FOREIGN_PREFIXES):
            raise SettingsInvalid(unknown(raw))
    return values


def named_by_us(environment: Mapping[str, str], ours: Mapping[str, tuple[str, str]]) -> set[tuple[str, str]]:
    """The places that a `MEMEX_` name sets: it wins over the reference's name for the same thing."""
    return {ours[raw.upper()] for raw in environment if raw.upper() in ours}


def from_file(file: Path) -> Values:
    """`config/memex.toml` if there is one."""
    if not file.is_file():
        return {}
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsInvalid(f"config/memex.toml cannot be read: {error}") from error
    for section, fields in values.items():
        if section not in SECTIONS:
            raise SettingsInvalid(f"config/memex.toml: [{section}] is not a section of memex.")
        if not isinstance(fields, dict):
            raise SettingsInvalid(
                f"config/memex.toml: {section} must be a section: write [{section}], then its fields."
            )
        known = {f.name for f in msgspec.structs.fields(SECTIONS[section])}
        if unknown := sorted(set(fields) - known):
            raise SettingsInvalid(f"config/memex.toml: [{section}] has no {unknown[0]}.")
    return values


def convert(values: Values, home: Path) -> Settings:
    """Text to typed settings; the first bad value is named the way it was given."""
    sections = {}
    for section, kind in SECTIONS.items():
        fields = dict(values[section])
        if isinstance(fields.get("allowed_hosts"), str):
            fields["allowed_hosts"] = [h.strip() for h in fields["allowed_hosts"].split(",") if h.strip()]
        fields = {name: value for name, value in fields.items() if value != "" or not optional(kind, name)}
        fields |= {name: truth(fields[name]) for name in fields if kind.__annotations__[name] is bool}
        if unfit := [name for name, value in fields.items() if not is_sayable(value)]:
            raise SettingsInvalid(complaint(kind, section, f"Expected text in UTF-8 without NUL - at `$.{unfit[0]}`"))
        try:
            sections[section] = msgspec.convert(fields, kind, strict=False)
        except msgspec.ValidationError as error:
            raise SettingsInvalid(complaint(kind, section, str(error))) from error
    return Settings(home=home, **sections)


def optional(kind: type[msgspec.Struct], name: str) -> bool:
    """Whether a field may be left unset, which is what an empty text of the environment means there."""
    return next(field.default is None for field in msgspec.structs.fields(kind) if field.name == name)


def is_sayable(value: Any) -> bool:
    """Whether a text, or each of a list, can be sent, shown and handed to the system."""
    texts = value if isinstance(value, list) else [value]
    return not any(isinstance(text, str) and UNFIT.search(text) for text in texts)


def truth(value: Any) -> Any:
    """The words for yes and no that the reference takes; anything else is judged with the other settings."""
    return WORDS.get(value.lower(), value) if isinstance(value, str) else value


def complaint(kind: type[msgspec.Struct], section: str, error: str) -> str:
    """`Expected int >= 1 - at $.workers` → the setting's names and what they take."""
    what, _, where = error.partition(" - at `$.")
    if not where:
        return f"{what}."
    field = where.rstrip("`").split("[")[0]
    legacy = [name for name, place in LEGACY.items() if place == (section, field)]
    named = " or ".join([f"MEMEX_{section}_{field}".upper(), *legacy])
    return f"{named}: {taken(kind.__annotations__[field], what)}."


def taken(field: Any, what: str) -> str:
    """What a field takes, in words for people."""
    if isinstance(field, type) and issubclass(field, StrEnum):
        return f"expected one of {', '.join(field)}, not {what.removeprefix('Invalid enum value ')}"
    for code, words in WORDING.items():
        what = what.replace(code, words)
    return what[:1].lower() + what[1:]


def unknown(name: str) -> str:
    """What to say of a name that is no setting, with the nearest that is."""
    near = difflib.get_close_matches(name.upper(), [*names(), HOME], n=1)
    hint = f"did you mean {near[0]}?" if near else "`memex check` without it lists them all."
    return f"{name} is not a setting of memex: {hint}"
