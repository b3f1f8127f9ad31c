"""``python -m tests.skipped JUNIT.xml`` fails if a test was skipped that must run in CI.

Browser and front end are there. The tracers of other Pythons are tested where there is one: only a
Python that does not start here may be skipped.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET

from tests.pythons import python


def not_to_be_skipped(file: str) -> list[str]:
    """Names of the tests of a report that were skipped, and may not be."""
    skipped = [
        f"{case.get('classname')}.{case.get('name')}"
        for case in ET.parse(file).iter("testcase")
        for outcome in case.findall("skipped")
        if outcome.get("type") != "pytest.xfail"
    ]
    return [name for name in skipped if _must_run(name)]


def _must_run(name: str) -> bool:
    version = re.search(r"every_python.*\[(3\.\d+)", name)
    is_there = version is not None and python(version[1]) is not None
    return is_there or "browser" in name or "front_end" in name


if __name__ == "__main__":
    names = not_to_be_skipped(sys.argv[1])
    sys.exit("Skipped, and may not be:\n" + "\n".join(names) if names else 0)
