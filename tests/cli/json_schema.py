#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hold JSON documents against the schemas of doc/schema.

	json_schema.py [--schema NAME] SCHEMAS FILE...     each document against the schema that it names
	json_schema.py --mutate [--schema NAME] SCHEMAS FILE...

A document says which schema is its own ("schema": "npuprof.cluster/1" is cluster.json). The keywords that the
schemas use are the ones known here: any other is an error, so that nothing is left unchecked. With --mutate each
field is left out once, and a field nobody knows is put into every object: what is accepted all the same is printed.
"""
import copy
import json
import os
import re
import sys

TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
PLAIN = {"$schema", "$defs", "title", "description"}
CHECKED = {"$ref", "anyOf", "type", "enum", "const", "properties", "required", "additionalProperties", "items"}


class Schemas:
    def __init__(self, directory):
        self.files = {}
        for name in sorted(os.listdir(directory)):
            if name.endswith(".json"):
                with open(os.path.join(directory, name), encoding="utf-8") as file:
                    self.files[name] = json.load(file)

    def find(self, home, ref):
        """The schema that a reference in the file `home` points to, and its file."""
        name, _, path = ref.partition("#")
        name = name or home
        schema = self.files[name]
        for part in path.strip("/").split("/"):
            schema = schema[part]
        return schema, name

    def errors(self, schema, home, value, where):
        """What is wrong with a value, as texts."""
        unknown = set(schema) - PLAIN - CHECKED
        if unknown:
            raise SystemExit(f"{home}: keywords that are not checked: {sorted(unknown)}")
        found = []
        if "$ref" in schema:
            target, name = self.find(home, schema["$ref"])
            found += self.errors(target, name, value, where)
        if "anyOf" in schema:
            tried = [self.errors(each, home, value, where) for each in schema["anyOf"]]
            if all(tried):
                found += min(tried, key=len)
        if "const" in schema and value != schema["const"]:
            found.append(f"{where}: {value!r} instead of {schema['const']!r}")
        if "enum" in schema and value not in schema["enum"]:
            found.append(f"{where}: {value!r} is none of {schema['enum']}")
        if "type" in schema:
            types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            if not any(TYPES[each](value) for each in types):
                found.append(f"{where}: {json.dumps(value)[:60]} is no {' or '.join(types)}")
        if isinstance(value, dict):
            found += self.object_errors(schema, home, value, where)
        if isinstance(value, list) and "items" in schema:
            for index, each in enumerate(value):
                found += self.errors(schema["items"], home, each, f"{where}[{index}]")
        return found

    def object_errors(self, schema, home, value, where):
        properties = schema.get("properties", {})
        others = schema.get("additionalProperties", True)
        found = [f"{where}: no field '{name}'" for name in schema.get("required", []) if name not in value]
        for name, each in value.items():
            if name in properties:
                found += self.errors(properties[name], home, each, f"{where}.{name}")
            elif others is False:
                found.append(f"{where}: unknown field '{name}'")
            elif others is not True:
                found += self.errors(others, home, each, f"{where}.{name}")
        return found

    def check(self, document, name):
        name = name or re.sub(r"^npuprof\.|/1$", "", document.get("schema", ""))
        file = name + ".json"
        if file not in self.files:
            return [f"no schema '{name}'"]
        return self.errors(self.files[file], file, document, "")


def objects(value, path=()):
    """Every object in a value, with the way to it; of an array the first of each set of fields."""
    if isinstance(value, dict):
        yield path
        for name, each in value.items():
            yield from objects(each, path + (name,))
    elif isinstance(value, list):
        seen = set()
        for index, each in enumerate(value):
            fields = frozenset(each) if isinstance(each, dict) else None
            if fields not in seen:
                seen.add(fields)
                yield from objects(each, path + (index,))


def at(value, path):
    for part in path:
        value = value[part]
    return value


def mutations(document):
    """Copies with one field too few or too many, and what was done."""
    for path in objects(document):
        shown = ".".join("[]" if isinstance(part, int) else part for part in path)
        for name in list(at(document, path)) + [None]:
            changed = copy.deepcopy(document)
            if name is None:
                at(changed, path)["a_field_nobody_knows"] = 1
            else:
                del at(changed, path)[name]
            yield (f"+ {shown}" if name is None else f"- {shown}.{name}".replace(" .", " ")), changed


def main(words):
    mutate = "--mutate" in words
    words = [word for word in words if word != "--mutate"]
    name = None
    if words and words[0] == "--schema":
        name, words = words[1], words[2:]
    schemas = Schemas(words[0])
    failed = False
    for path in words[1:]:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        if mutate:
            accepted = {text for text, changed in mutations(document) if not schemas.check(changed, name)}
            for text in sorted(accepted):
                print(text)
            continue
        for error in schemas.check(document, name)[:10]:
            print(f"{path}: {error}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
