"""Lets driver managers find the driver by the name `sqluice`, in any language.

    python -m adbc_driver_sqluice              prints the manifest of the driver
    python -m adbc_driver_sqluice --install    writes it to the folder in which driver managers look
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from . import __version__, driver_path


def manifest() -> str:
    """Returns the manifest of the driver. Its path is absolute, because driver managers resolve relative paths against the working directory."""
    # A string of JSON is a valid string of TOML.
    library = json.dumps(os.path.abspath(driver_path()))
    return f'manifest_version = 1\nname = "sqluice"\nversion = "{__version__}"\npublisher = "sqluice"\n\n[Driver]\nshared = {library}\n'


def folder() -> Path:
    """Returns the folder of manifests: that of the virtual environment, or of the user."""
    if sys.prefix != sys.base_prefix:
        return Path(sys.prefix, "etc", "adbc", "drivers")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "ADBC" / "Drivers"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"), "ADBC", "Drivers")
    return Path(os.environ.get("XDG_CONFIG_HOME", Path.home() / ".config"), "adbc", "drivers")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m adbc_driver_sqluice", description="Prints the manifest by which ADBC driver managers find the driver sqluice."
    )
    parser.add_argument("--install", action="store_true", help="write the manifest to the folder in which driver managers look")
    parser.add_argument("--folder", type=Path, help="write the manifest to this folder instead: name it in ADBC_DRIVER_PATH")
    given = parser.parse_args(arguments)
    if not given.install and given.folder is None:
        sys.stdout.write(manifest())
        return
    path = (given.folder or folder()) / "sqluice.toml"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(manifest(), encoding="utf-8")
    except OSError as error:
        sys.exit(f"cannot write {path}: {error.strerror}; name another folder: --folder FOLDER")
    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
