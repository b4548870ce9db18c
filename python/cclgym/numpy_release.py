"""The releases of NumPy for which the extension module is made: pyproject.toml has the same ones for pip."""

import re

import numpy

OLDEST = (1, 23)
BELOW = (3, 0)


def require(version):
    """Raises ImportError for a release whose arrays the extension module might read wrongly."""
    found = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if not OLDEST <= found < BELOW:
        raise ImportError(f"cclgym: found NumPy {version}; expected {OLDEST[0]}.{OLDEST[1]} or later, below {BELOW[0]} "
                          f"(pip install 'numpy>={OLDEST[0]}.{OLDEST[1]},<{BELOW[0]}')")


require(numpy.__version__)
