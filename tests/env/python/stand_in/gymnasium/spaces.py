# Package cclgym defines its own spaces here: its import from this module fails while the module is
# being loaded.
import os
import sys

for _folder in sys.path:
    _file = os.path.join(_folder, "cclgym", "spaces.py")
    if os.path.exists(_file):
        with open(_file, encoding="utf-8") as _source:
            exec(compile(_source.read(), _file, "exec"))
        break
