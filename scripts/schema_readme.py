# SPDX-License-Identifier: Apache-2.0
"""Writes analyzer/schema/README.md from the comments of analyzer/schema/*.sql.

schema_readme.py           writes the file
schema_readme.py --check   changes nothing; one line for each table or column without a comment and for a stale file,
                           exit status 1 when there is one
"""

import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "analyzer" / "schema"
README = FOLDER / "README.md"
CREATE = re.compile(r"^CREATE (TABLE|VIEW) (\w+)\b")
COLUMN = re.compile(r"^  (\w+) (INTEGER|TEXT|REAL|BLOB)\b([^,]*?),?(?: -- (.*))?$")


class Table:
    def __init__(self, name: str, kind: str, comment: str, place: str):
        self.name, self.kind, self.comment, self.place = name, kind, comment, place
        self.columns: list[tuple[str, str, str, str]] = []  # name, type, comment, place


def parse(path: pathlib.Path) -> tuple[str, list[Table]]:
    """The head comment of a file, and its tables with the comment right above each."""
    head, tables, comment, table = [], [], [], None
    in_head = True
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        place = f"{path.relative_to(FOLDER.parent.parent)}:{number}"
        if table is not None:
            if line.startswith(")") or (table.kind == "VIEW" and line.endswith(";")):
                table = None
            elif table.kind == "TABLE" and (match := COLUMN.match(line)):
                constraint = match.group(3)
                null = "" if "NOT NULL" in constraint or "PRIMARY KEY" in constraint else ", may be NULL"
                table.columns.append((match.group(1), match.group(2) + null, match.group(4) or "", place))
            elif table.kind == "TABLE" and not line.strip().startswith(("PRIMARY KEY", "UNIQUE", "CHECK", "--")):
                raise SystemExit(f"{place}: expected a column, found: {line.strip()}")
            continue
        if match := CREATE.match(line):
            table = Table(match.group(2), match.group(1), " ".join(comment), place)
            tables.append(table)
            comment = []
        elif line.startswith("--"):
            text = line[2:].strip()
            if in_head and not text.startswith("SPDX-"):
                head.append(text)
            elif not in_head:
                comment.append(text)
        else:
            in_head = False
            comment = []
    return " ".join(head), tables


def escaped(text: str) -> str:
    return text.replace("|", "\\|")


def render(files: list[tuple[pathlib.Path, str, list[Table]]]) -> str:
    out = ["# Tables of a trace", "",
           "Generated from the comments in this folder by `scripts/schema_readme.py`; do not edit.", ""]
    for path, head, tables in files:
        out += [f"## {path.name}", "", head, ""]
        out += [", ".join(f"[{t.name}](#{t.name})" for t in tables), ""]
        for table in tables:
            out += [f"### {table.name}", "", table.comment, ""]
            if table.columns:
                out += ["| column | type | meaning |", "|---|---|---|"]
                out += [f"| `{name}` | {kind} | {escaped(comment)} |" for name, kind, comment, _ in table.columns]
                out += [""]
    return "\n".join(out).rstrip() + "\n"


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        print(__doc__, file=sys.stderr)
        return 2
    paths = sorted(FOLDER.glob("[0-9][0-9][0-9]_*.sql")) + [FOLDER / "facts.sql"]
    files = [(path, *parse(path)) for path in paths]
    problems = []
    for _, _, tables in files:
        for table in tables:
            if not table.comment:
                problems.append(f"{table.place}: {table.kind.lower()} {table.name} has no comment above it")
            problems += [f"{place}: column {table.name}.{name} has no comment"
                         for name, _, comment, place in table.columns if not comment]
    text = render(files)
    if check:
        if not README.is_file() or README.read_text(encoding="utf-8") != text:
            problems.append("analyzer/schema/README.md is stale: run scripts/schema_readme.py")
    else:
        README.write_text(text, encoding="utf-8")
    print("\n".join(problems) if problems
          else f"schema: {sum(len(t) for _, _, t in files)} tables and views, all documented")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
