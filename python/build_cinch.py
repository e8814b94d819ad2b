"""Builds the package for pip with the standard library alone: no network is needed."""

import os
import pathlib
import re
import zipfile

HERE = pathlib.Path(__file__).parent
VERSION = re.search('__version__ = "(.*)"', (HERE / "cinch/__init__.py").read_text()).group(1)
METADATA = f"Metadata-Version: 2.1\nName: cinch\nVersion: {VERSION}\nRequires-Python: >=3.9\n"
TAGS = "Wheel-Version: 1.0\nGenerator: cinch\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = f"cinch-{VERSION}-py3-none-any.whl"
    info = f"cinch-{VERSION}.dist-info/"
    files = {f"cinch/{file.name}": file.read_text() for file in sorted(HERE.glob("cinch/*.py"))}
    files.update({info + "METADATA": METADATA, info + "WHEEL": TAGS})
    files[info + "RECORD"] = "".join(f"{file},,\n" for file in [*files, info + "RECORD"])
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    return name
