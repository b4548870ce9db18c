# Runs cclgym/spaces.py as this module. It defines its own spaces, because its import from
# gymnasium.spaces fails while this module is being loaded.
import os
import sys

for _folder in sys.path:
    _file = os.path.join(_folder, "cclgym", "spaces.py")
    if os.path.exists(_file):
        with open(_file, encoding="utf-8") as _source:
            exec(compile(_source.read(), _file, "exec"))
        break
