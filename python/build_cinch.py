"""Builds the package for pip with the standard library alone: no network is needed."""

import ast
import os
import pathlib
import re
import zipfile

HERE = pathlib.Path(__file__).parent
VERSION = re.search('__version__ = "(.*)"', (HERE / "cinch/__init__.py").read_text()).group(1)
TAGS = "Wheel-Version: 1.0\nGenerator: cinch\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def metadata():
    """What pyproject.toml says of the package. Its texts and lists are Python's; a reader of TOML came with 3.11."""
    text = (HERE / "pyproject.toml").read_text().split("[project]\n")[1]
    said = {name: ast.literal_eval(value) for name, value in re.findall(r'^([\w-]+) = (".*"|\[[^]]*\])$', text, re.M)}
    license = re.search('^license = { text = "(.*)" }$', text, re.M).group(1)
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {said['name']}",
        f"Version: {VERSION}",
        f"Summary: {said['description']}",
        f"License: {license}",
        f"Keywords: {','.join(said['keywords'])}",
        *(f"Classifier: {each}" for each in said["classifiers"]),
        f"Requires-Python: {said['requires-python']}",
    ]
    return "\n".join(lines) + "\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = f"cinch-{VERSION}-py3-none-any.whl"
    info = f"cinch-{VERSION}.dist-info/"
    sources = [*sorted(HERE.glob("cinch/*.py")), HERE / "cinch/py.typed"]
    files = {f"cinch/{file.name}": file.read_text() for file in sources}
    files.update({info + "METADATA": metadata(), info + "WHEEL": TAGS})
    files[info + "RECORD"] = "".join(f"{file},,\n" for file in [*files, info + "RECORD"])
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    return name
