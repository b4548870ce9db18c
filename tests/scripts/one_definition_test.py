"""Every class outside anonymous namespaces has one definition: two classes of one name share the code of their
inline members, and the linker takes either, which once crashed programs that GCC 14 had compiled.

  one_definition_test.py ROOT
"""
import collections
import pathlib
import re
import sys

LAYERS = ("core", "topology_models", "deploy", "cost_models", "collectives", "synthesis", "sim", "env", "agents",
          "experiments", "calibration", "cli")


def classes_in(text):
    """Names of the classes that a file defines at namespace scope, with their namespaces."""
    scopes = []
    for line in text.splitlines():
        opened = re.match(r"namespace ([\w:]*)\s*\{", line)
        if opened:
            scopes.append(opened.group(1) or "<anonymous>")
        elif re.match(r"\}\s*// namespace", line) and scopes:
            scopes.pop()
        found = re.match(r"(?:class|struct)\s+([A-Z]\w*)(?: final)?\s*(?::(?!:).*)?(?:\{.*)?$", line.rstrip())
        if found and "<anonymous>" not in scopes:
            yield "::".join([*scopes, found.group(1)])


def repeated(files):
    """Files of each class that is defined in several; `files` has texts by name."""
    where = collections.defaultdict(set)
    for name, text in files.items():
        for one in classes_in(text):
            where[one].add(name)
    return {one: sorted(names) for one, names in where.items() if len(names) > 1}


ONE = "namespace a {\nstruct B {\n};\nclass C;\n}  // namespace a\n"
TWO = "namespace a {\nclass B final : public D {\n};\n}  // namespace a\n"
INNER = "namespace a {\nnamespace {\nclass B {\n};\n}  // namespace\n}  // namespace a\n"
assert repeated({"1": ONE, "2": TWO}) == {"a::B": ["1", "2"]}
assert repeated({"1": ONE, "2": INNER}) == {}

root = pathlib.Path(sys.argv[1])
sources = {str(path.relative_to(root)): path.read_text(encoding="utf-8")
           for layer in LAYERS for path in (root / layer).rglob("*.[hc]pp")}
assert len(sources) > 500, f"only {len(sources)} sources"
bad = repeated(sources)
for one, names in bad.items():
    print(f"{one} is defined in {', '.join(names)}; rename one")
sys.exit(1 if bad else 0)
