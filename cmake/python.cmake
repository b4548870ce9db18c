# The Python package (python/): on if pybind11 is found, off under sanitizers, whose libraries Python would have to load
# first. The interpreter is the system's; -DPython_EXECUTABLE=… selects another one. pybind11 is that of pip's build
# environment (pyproject.toml), of .venv (scripts/setup python) or of the system. Before 2.13 it reads NumPy 2's dtypes
# wrongly: item size 0, so that all elements of an array are its first.
set(pybind11_oldest 2.13)
set(python_found OFF)
if(NOT CCLGYM_SANITIZE AND NOT CCLGYM_FUZZ)
  if(NOT Python_EXECUTABLE AND EXISTS /usr/bin/python3)
    set(Python_EXECUTABLE /usr/bin/python3)
  endif()
  find_package(Python COMPONENTS Interpreter Development.Module QUIET)
  set(PYBIND11_FINDPYTHON ON)
  if(Python_FOUND)
    set(venv_python ${PROJECT_SOURCE_DIR}/.venv/bin/python3)
    set(venv_pybind11 "")
    if(EXISTS ${venv_python})
      execute_process(COMMAND ${venv_python} -m pybind11 --cmakedir
        OUTPUT_VARIABLE venv_pybind11 OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
    find_package(pybind11 ${pybind11_oldest} CONFIG QUIET HINTS ${venv_pybind11})
  endif()
  if(pybind11_FOUND)
    set(python_found ON)
  endif()
endif()
cclgym_found_option(CCLGYM_PYTHON "Build the Python package" ${python_found})
if(CCLGYM_PYTHON AND NOT python_found)
  message(FATAL_ERROR "CCLGYM_PYTHON is ON, but Python's headers (python3-dev) or pybind11 ${pybind11_oldest} or later "
    "(scripts/setup python) are missing, or the build is one with sanitizers")
endif()
