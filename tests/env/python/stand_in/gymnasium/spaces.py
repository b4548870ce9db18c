# Package cclgym's own: while this module is being loaded, their import from here fails, so that
# they are defined.
import os
import sys

for _folder in sys.path:
    _file = os.path.join(_folder, "cclgym", "spaces.py")
    if os.path.exists(_file):
        with open(_file, encoding="utf-8") as _source:
            exec(compile(_source.read(), _file, "exec"))
        break
