# The Python package (python/): on if pybind11 is found, off under sanitizers, whose libraries Python
# would have to load first. The interpreter is the system's, for which apt installs pybind11 and numpy;
# -DPython_EXECUTABLE=… selects another one.
set(python_found OFF)
if(NOT CCLGYM_SANITIZE AND NOT CCLGYM_FUZZ)
  if(NOT Python_EXECUTABLE AND EXISTS /usr/bin/python3)
    set(Python_EXECUTABLE /usr/bin/python3)
  endif()
  find_package(Python COMPONENTS Interpreter Development.Module QUIET)
  set(PYBIND11_FINDPYTHON ON)
  if(Python_FOUND)
    find_package(pybind11 CONFIG QUIET)
  endif()
  if(pybind11_FOUND)
    execute_process(COMMAND ${Python_EXECUTABLE} -c "import numpy"
      RESULT_VARIABLE numpy_missing OUTPUT_QUIET ERROR_QUIET)
    if(NOT numpy_missing)
      set(python_found ON)
    endif()
  endif()
endif()
cclgym_found_option(CCLGYM_PYTHON "Build the Python package" ${python_found})
if(CCLGYM_PYTHON AND NOT python_found)
  message(FATAL_ERROR "CCLGYM_PYTHON is ON, but Python's headers, pybind11 or numpy are missing (install "
    "python3-dev, pybind11-dev, python3-numpy), or the build is one with sanitizers")
endif()
