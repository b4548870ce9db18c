"""The backend of pyproject.toml: pip imports modules, and scripts/wheel has no ending .py."""

import importlib.machinery
import importlib.util
import pathlib

_path = str(pathlib.Path(__file__).resolve().parent / "wheel")
_loader = importlib.machinery.SourceFileLoader("cclgym_wheel", _path)
_module = importlib.util.module_from_spec(importlib.util.spec_from_loader("cclgym_wheel", _loader))
_loader.exec_module(_module)
build_wheel = _module.build_wheel
build_sdist = _module.build_sdist
