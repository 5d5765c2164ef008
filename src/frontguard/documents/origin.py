"""How something that is printed was made. Apart from the models, which take a while to import."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Origin:
    """How something was made, as far as is known: entries of several documents."""

    version: str | None = None
    command: str | None = None
    source: str | list[str] | None = None
    at: str | None = None
    seed: int | None = None
    spec: str | None = None

    @classmethod
    def of(cls, document: object) -> Origin:
        """What a document says of it."""
        said = {field.name: getattr(document, field.name, None) for field in fields(cls)}
        return cls(**said)
