# MPI, for the backend `mpi` of `cclgym calibrate`: on if it is found.
find_package(MPI QUIET COMPONENTS CXX)
option(CCLGYM_MPI "Build the worker that measures MPI" ${MPI_CXX_FOUND})
if(CCLGYM_MPI AND NOT MPI_CXX_FOUND)
  message(FATAL_ERROR "CCLGYM_MPI is ON, but MPI is missing (install libopenmpi-dev)")
endif()
