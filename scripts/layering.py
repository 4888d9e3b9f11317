# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom. One line per violation as file:line: sentence; exit status 1 when there is one."""

import pathlib
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

# Folder prefix -> prefixes of our own headers it may include. The longest matching folder decides.
ALLOWED = {
    "collector/api/": ["collector/api/"],
    "collector/raw/": ["collector/api/", "collector/raw/"],
    "collector/": ["collector/"],
    "analyzer/base/": ["analyzer/base/"],
    "analyzer/schema/": ["analyzer/base/", "analyzer/schema/"],
    "analyzer/store/": ["analyzer/base/", "analyzer/schema/", "analyzer/store/"],
    "analyzer/import/": ["analyzer/base/", "analyzer/schema/", "analyzer/store/", "analyzer/import/",
                         "collector/raw/", "collector/api/"],
    "analyzer/facts/": ["analyzer/base/", "analyzer/schema/", "analyzer/store/", "analyzer/facts/"],
    "analyzer/rules/": ["analyzer/base/", "analyzer/schema/", "analyzer/store/", "analyzer/rules/"],
    "analyzer/report/": ["analyzer/base/", "analyzer/schema/", "analyzer/store/", "analyzer/facts/", "analyzer/rules/",
                         "analyzer/report/"],
    "cli/": ["cli/", "analyzer/"],
    "cli/run/": ["cli/run/", "analyzer/", "collector/raw/", "collector/api/"],
    "cli/self_check/": ["cli/self_check/", "collector/api/"],
    "gui/model/": ["gui/model/", "analyzer/"],
    "gui/": ["gui/", "analyzer/"],
    "reference-trainer/": ["collector/api/"],
}
OWN = ("collector/", "analyzer/", "cli/", "gui/", "rules/", "reference-trainer/", "tests/")

# System header pattern -> folders that may include it.
SYSTEM = [
    (re.compile(r"^sqlite3\.h$"), ["analyzer/base/", "analyzer/store/"]),
    (re.compile(r"^Q[A-Z]"), ["gui/", "tests/gui/", "tests/bench/gui/"]),
    (re.compile(r"^cupti"), ["collector/cupti/", "tests/support/activity_builder", "tests/unit/collector/", "tests/unit/cupti/",
                             "tests/e2e/"]),
    (re.compile(r"^((cuda|cuda_runtime|cuda_runtime_api|cublasLt|nccl)\.h$|nvtx3/)"),
     ["collector/cupti/", "cli/self_check/", "collector/nvtx/", "collector/nccl/", "reference-trainer/src/runtime/cuda/",
      "reference-trainer/src/kernels/cuda/", "reference-trainer/src/comm/nccl", "tests/"]),
    (re.compile(r"^(elfutils/|dwarf\.h|libelf\.h)"), ["analyzer/import/symbolizer", "analyzer/import/symbol_index"]),
]

# (file, header) -> reason. Each exception is named here or does not exist.
EXCEPTIONS: dict[tuple[str, str], str] = {}


def violations(path: str, text: str):
    folder = max((f for f in ALLOWED if path.startswith(f)), key=len, default=None)
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match or (path, match.group(2)) in EXCEPTIONS:
            continue
        header = match.group(2)
        if folder and header.startswith(OWN) and not any(header.startswith(a) for a in ALLOWED[folder]):
            yield f"{path}:{number}: {folder} may not include {header}"
        for pattern, places in SYSTEM:
            if pattern.match(header) and not any(path.startswith(place) for place in places):
                yield f"{path}:{number}: <{header}> may only be included in {', '.join(places)}"


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "*.h", "*.cpp", "*.c", "*.cu", "*.cuh"],
                            capture_output=True, text=True, check=True).stdout.split()
    if not listed:
        print("layering: no sources found", file=sys.stderr)
        return 1
    found = [v for name in listed if (root / name).is_file()
             for v in violations(name, (root / name).read_text(encoding="utf-8"))]
    print("\n".join(found) if found else f"layering: {len(listed)} files in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
