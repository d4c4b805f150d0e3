"""Says what a report of pip-audit means: known vulnerabilities, and what was not checked at all.

pip-audit takes a package that its service does not know for one without vulnerabilities. Where no
service is reachable that is every package, and "none found" would be no news.

usage: audit.py REPORT.json
"""

import json
import sys
from collections.abc import Mapping
from typing import Any


def verdict(report: Mapping[str, Any]) -> tuple[list[str], int]:
    """Lines for people, and the exit status: 1 where a package has a known vulnerability."""
    checked, missed, lines = 0, list[str](), list[str]()
    for each in report["dependencies"]:
        if "skip_reason" in each:
            missed.append(each["name"])
            continue
        checked += 1
        for found in each["vulns"]:
            fixed = ", ".join(found["fix_versions"]) or "no version"
            lines.append(f"{each['name']} {each['version']}: {found['id']}, fixed in {fixed}")
    bad = len(lines)
    lines.append(f"{checked} packages checked, {bad} known vulnerabilities")
    if missed:
        lines.append(
            f"NOT CHECKED, since the vulnerability service knows nothing of them: {len(missed)}"
        )
        lines.append("  " + " ".join(sorted(missed)))
    return lines, 1 if bad else 0


def main(path: str) -> int:
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except (OSError, ValueError):
        print("NOT CHECKED: pip-audit made no report; no vulnerability service is reachable here")
        return 0
    lines, status = verdict(report)
    print("\n".join(lines))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
