"""``python -m benchmarks``."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import benchmarks
from benchmarks import (
    browser,
    capture,
    drawing,
    importing,
    lab,
    memory,
    peers,
    player,
    recording,
    report,
    scale,
    showing,
)

SECTIONS: dict[str, ModuleType] = {
    "capture": capture,
    "memory": memory,
    "peers": peers,
    "scale": scale,
    "importing": importing,
    "recording": recording,
    "drawing": drawing,
    "showing": showing,
    "browser": browser,
    "player": player,
    "lab": lab,
}
NOT_QUICK = ("lab",)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for, print tables, write JSON."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=benchmarks.__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="a few seconds, to see that it runs")
    parser.add_argument("--only", choices=[*SECTIONS], action="append", help="may be repeated")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the numbers here")
    parser.add_argument("--plot", type=Path, metavar="PATH", help="draw the growth (scale) here")
    parser.add_argument("--page", type=Path, metavar="PATH", help="put the table of peers here")
    parser.add_argument(
        "--workers",
        type=int,
        default=min(2, os.cpu_count() or 1),
        help="processes side by side (peers and scale); 2 if there are as many processors",
    )
    options = parser.parse_args(arguments)
    chosen = options.only or [n for n in SECTIONS if not (options.quick and n in NOT_QUICK)]
    found: dict[str, Any] = {"machine": report.machine()}
    print(", ".join(f"{key}: {value}" for key, value in found["machine"].items()), flush=True)
    for name in chosen:
        section = SECTIONS[name]
        workers = (options.workers,) if section in (peers, scale) else ()
        found[name] = section.run(options.quick, *workers)
        for table in section.tables(found[name]):
            print(f"\n{table}", flush=True)
        if section is scale and options.plot:
            _draw(options.plot, found[name])
        if section is peers and options.page:
            given = shlex.join(sys.argv[1:] if arguments is None else arguments)
            how = f"`make bench BENCH_ARGS={shlex.quote(given)}` with {report.versions()}."
            peers.write_page(options.page, found[name], how, options.plot)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


def _draw(path: Path, results: list[dict[str, Any]]) -> None:
    """Draw the growth, if anything was measured."""
    if drawn := scale.growth(results):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(drawn, encoding="utf-8")
        print(f"\ngrowth: {path}")


if __name__ == "__main__":
    main()
