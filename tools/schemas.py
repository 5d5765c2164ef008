"""The JSON schema of answers: python -m tools.schemas writes docs/schemas/answer.json.

With `--check` nothing is written; it fails if the file is not what `frontguard.schema` says.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import Field, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from frontguard.schema import Amount, AnswerEntries, AnyAnswer, Pair, Text, Values


class ReviewsAnswer(AnyAnswer):
    """The analysis of the bundled review log, and the truth beside it."""

    bombed: list[Text] = Field(default_factory=list)
    """The movies that a campaign was against."""
    true_means: Values
    true_mean_set: list[Text] = Field(default_factory=list)
    """The front of means had there been no campaign, and endless reviews."""


class DemoAnswer(AnyAnswer):
    """The JSON of `demo`: the robust answer, the mean-based one and the truth, two logs."""

    true_pareto_set: list[Text]
    mean_based: AnyAnswer
    minutes: dict[Text, Pair]
    """The true minutes of each treatment above and below the safe range."""
    reviews: ReviewsAnswer
    compiler_flags: AnyAnswer
    seconds: Amount
    """That measuring the treatments took."""


FILE = Path(__file__).parents[1] / "docs" / "schemas" / "answer.json"

PRINTED: dict[str, Any] = {"run": AnyAnswer, "analyze": AnyAnswer, "gate": AnyAnswer, "demo": DemoAnswer}
"""What commands that answer print."""


class Printed(GenerateJsonSchema):
    """Schemas of what is printed: every entry is there, so that none has a default; readers are more lenient."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Every one."""
        return True

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """What is there instead of the default."""
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        """A title would say the name again."""
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """With what the source says of each entry."""
        return described(schema["cls"], super().model_schema(schema))

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """The same, without the examples that our docstrings have."""
        made = described(schema["cls"], super().dataclass_schema(schema))
        return made | {"description": " ".join(made["description"].split("\n\n")[0].split())}


def described(kind: type, made: JsonSchemaValue) -> JsonSchemaValue:
    """A schema whose entries have the docstrings of the attributes.

    pydantic can do so by itself, but reads and parses the source of all models whenever they are imported: a third of a
    second for every command that prints JSON.
    """
    said: dict[str, str] = {}
    for each in kind.__mro__[:-1][::-1]:
        if each.__module__.startswith(("frontguard.", "tools.", "__main__")):
            said |= attribute_docstrings(each)
    for name, entry in made["properties"].items():
        if name in said:
            entry["description"] = said[name]
    return made


def attribute_docstrings(kind: type) -> dict[str, str]:
    """What a class says of its attributes: texts right below them."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    return {
        attribute.target.id: inspect.cleandoc(below.value.value)
        for attribute, below in pairwise(tree.body)
        if isinstance(attribute, ast.AnnAssign)
        and isinstance(attribute.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }


@cache
def schema() -> str:
    """The text of the schema."""
    found = TypeAdapter(AnyAnswer | DemoAnswer).json_schema(mode="serialization", schema_generator=Printed)
    kinds = found["$defs"]
    # Entries of what commands print alone.
    optional = AnyAnswer.model_fields.keys() - AnswerEntries.model_fields.keys()
    for name in ("AnyAnswer", "ReviewsAnswer", "DemoAnswer"):
        kinds[name]["required"] = [each for each in kinds[name]["required"] if each not in optional]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "frontguard --json"}
    return json.dumps(head | found, indent=1) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Write the schema, or say that it is out of date."""
    text = schema()
    if FILE.is_file() and FILE.read_text(encoding="utf-8") == text:
        return 0
    if "--check" in (sys.argv[1:] if arguments is None else arguments):
        print(f"out of date: {FILE.name}; python -m tools.schemas writes it anew", file=sys.stderr)
        return 1
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
