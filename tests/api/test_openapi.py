"""The contract: stored beside the code, and good enough to write a client from."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.api.application import application
from app.api.document import text

STORED = Path(__file__).parents[2] / "openapi" / "openapi.json"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    made = json.loads(text(application()))
    assert isinstance(made, dict)
    return made


def test_the_stored_contract_is_the_applications() -> None:
    assert STORED.read_text(encoding="utf-8") == text(application()), "run: make openapi"


def test_every_version_is_in_the_changelog(document: dict[str, Any]) -> None:
    changelog = (STORED.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {document['info']['version']}" in changelog


def test_every_operation_says_what_it_does_and_who_may_call(document: dict[str, Any]) -> None:
    names = []
    tags = {each["name"] for each in document["tags"]}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            place = f"{method} {path}"
            assert operation["summary"], place
            assert operation["description"], place
            assert set(operation["tags"]) <= tags, place
            names.append(operation["operationId"])
            assert all(each["description"] for each in operation["responses"].values()), place
            if operation["security"]:
                assert operation["x-roles"], place
                assert {"401", "403", "422", "503"} <= operation["responses"].keys(), place
            for each in operation.get("parameters", []):
                assert each.get("description"), f"{place} {each['name']}"
    assert len(names) == len(set(names))


def test_every_refusal_is_a_problem(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    assert list(response["content"]) == ["application/problem+json"], (path, method)


def test_every_field_is_described_with_an_example(document: dict[str, Any]) -> None:
    bare = [
        f"{name}.{field}"
        for name, schema in document["components"]["schemas"].items()
        for field, shape in schema.get("properties", {}).items()
        if not shape.get("description")
        or not ("examples" in shape or "$ref" in json.dumps(shape) or "default" in shape)
    ]
    assert bare == []


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for found in json.dumps(document).split('"$ref": "')[1:]:
        target = found.partition('"')[0]
        assert target.removeprefix("#/components/schemas/") in schemas
