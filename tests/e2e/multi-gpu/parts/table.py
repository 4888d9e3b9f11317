# SPDX-License-Identifier: Apache-2.0
"""The results as tables for docs/measurements.md: one a part, its columns in the order in which rows bring them."""


def markdown(results):
    lines = ["%d ranks on %s%s" % (results["gpus"], results["machine"], ", rehearsed" if results["rehearsed"] else "")]
    for part in dict.fromkeys(row["part"] for row in results["rows"]):
        rows = [row for row in results["rows"] if row["part"] == part]
        columns = list(dict.fromkeys(key for row in rows for key in row if key != "part"))
        lines += ["", "### " + part, "", "| %s |" % " | ".join(columns), "|%s" % ("---|" * len(columns))]
        lines += ["| %s |" % " | ".join(str(row.get(column, "–")).replace("|", "/").replace("\n", " ") for column in columns)
                  for row in rows]
    return "\n".join(lines) + "\n"
