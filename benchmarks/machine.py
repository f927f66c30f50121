"""Where and when a run was made, and with which versions."""

from __future__ import annotations

import datetime
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "lazyforest",
    "numpy",
    "numba",
    "scikit-learn",
    "scikit-learn-intelex",
    "ydf",
    "lightgbm",
    "xgboost",
    "pandas",
)


def describe_machine() -> dict[str, Any]:
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "load_at_start": round(os.getloadavg()[0], 2),
    }


def cpu_model() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "unknown"


def list_versions() -> dict[str, str | None]:
    return {"python": platform.python_version()} | {package: installed(package) for package in PACKAGES}


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def today() -> str:
    return datetime.date.today().isoformat()


def in_words(run: dict[str, Any]) -> str:
    """The machine, the date and the versions of a run, for a page."""
    machine = run["machine"]
    versions = ", ".join(f"{package} {number}" for package, number in run["versions"].items() if number)
    return (
        f"{run['date']}, {machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, "
        f"load {machine['load_at_start']} at the start. {versions}."
    )
