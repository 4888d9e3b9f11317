#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a text of the viewer has no Chinese translation, or one that cannot be right.

usage: check_translation.py LUPDATE SOURCE_TREE   (LUPDATE: Qt's program of that name; absent = skipped, status 77)

The English file holds the plural forms alone ("%n hit(s)") and is checked likewise. Texts are collected anew from the
sources, so a new one fails until it stands in the files; one that is gone from the sources fails until it is gone from
them. To bring the files up to date, from the top of the source tree:

  /usr/lib/qt6/bin/lupdate -I . -no-obsolete -locations none gui -ts gui/app/translations/graphdoctor_zh_CN.ts
  /usr/lib/qt6/bin/lupdate -I . -no-obsolete -locations none -pluralonly gui -ts gui/app/translations/graphdoctor_en.ts
"""
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

# Places that show a text, given one that does not go through tr(): a name for people has a space or a capital.
UNTRANSLATED = re.compile(
    r'(?:setText|setWindowTitle|setToolTip|setAccessibleName|setPlaceholderText|addAction|addMenu|showMessage)\('
    r'\s*(?:QStringLiteral|QLatin1String|QString::fromUtf8)?\(?"[^"%]*[A-Za-z]{3}'
)
PLACE = re.compile(r"%(?:\d|n)")


def messages(path):
    """{(context, source): (texts, state)} of a .ts file; state is None when finished."""
    out = {}
    for context in ElementTree.parse(path).getroot().iter("context"):
        name = context.findtext("name")
        for message in context.iter("message"):
            translation = message.find("translation")
            forms = [form.text or "" for form in translation.iter("numerusform")] or [translation.text or ""]
            out[name, message.findtext("source")] = (forms, translation.get("type"))
    return out


def check(lupdate, tree, language, options, problems):
    """Adds what is wrong with a language's file; returns how many texts it should hold."""
    file = tree / f"gui/app/translations/graphdoctor_{language}.ts"
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / file.name
        shutil.copy(file, fresh)
        subprocess.run(
            [lupdate, "-I", ".", "-locations", "none", "-silent", *options, "gui", "-ts", str(fresh)],
            cwd=tree, check=True, stderr=subprocess.DEVNULL,
        )
        wanted = messages(fresh)
    stored = messages(file)
    for (context, source), (texts, state) in wanted.items():
        shown = f"{language}: {context}: {source!r}"
        if state in ("vanished", "obsolete"):
            problems.append(f"{shown} is no longer in the sources")
        elif (context, source) not in stored or state == "unfinished" or not all(texts):
            problems.append(f"{shown} has no translation")
        elif any(sorted(PLACE.findall(text)) != sorted(PLACE.findall(source)) for text in texts):
            problems.append(f"{shown} has other places (%1, %n) than its translation")
    return len(wanted)


def main():
    lupdate, tree = sys.argv[1], Path(sys.argv[2])
    if not shutil.which(lupdate):
        print("skipped: Qt's lupdate is not installed (Debian: qt6-l10n-tools)")
        return 77
    problems = []
    count = check(lupdate, tree, "zh_CN", [], problems)
    plurals = check(lupdate, tree, "en", ["-pluralonly"], problems)
    for path in sorted((tree / "gui").rglob("*.cpp")):
        for match in UNTRANSLATED.finditer(path.read_text(encoding="utf-8")):
            problems.append(f"{path.relative_to(tree)}: {match.group(0)!r} does not go through tr()")
    for problem in problems:
        print(problem)
    print(f"{count} texts, {plurals} with plural forms, {len(problems)} problems")
    return 1 if problems or count < 100 or plurals < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
