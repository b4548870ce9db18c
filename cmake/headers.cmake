# Precompiled headers: the headers of the C++ library and of fmt that most sources include, compiled once
# for all layers (cclgym_use_headers) and once with Catch2 for all tests (tests/CMakeLists.txt).
find_package(fmt REQUIRED)
option(CCLGYM_PCH "Precompile headers" ON)
set(cclgym_common_headers
  <algorithm> <array> <cmath> <cstddef> <cstdint> <filesystem> <fmt/format.h> <fmt/ranges.h> <fstream> <functional> <limits>
  <map> <memory> <numeric> <optional> <set> <span> <sstream> <stdexcept> <string> <string_view> <tuple>
  <unordered_map> <utility> <variant> <vector>)

# cclgym_precompile(NAME FLAGS...): headers for layers that are compiled with the additional FLAGS.
function(cclgym_precompile name)
  set(source ${CMAKE_BINARY_DIR}/headers/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Carries the precompiled headers.\n")
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE cclgym_flags fmt::fmt)
  cclgym_position_independent(${name})
  target_compile_options(${name} PRIVATE ${ARGN})
  target_precompile_headers(${name} PRIVATE ${cclgym_common_headers})
endfunction()

# Sources whose speed does not matter (COLD, cmake/layer.cmake) are compiled with -O1 in a release,
# which takes two thirds of the compile time. With GCC's sanitizers -Og takes 0.6 times as long as -O1.
set(cclgym_cold_flags $<$<CONFIG:Release>:-O1>)
if(CCLGYM_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  list(APPEND cclgym_cold_flags -Og)
endif()
if(CCLGYM_PCH)
  cclgym_precompile(cclgym_headers)
  cclgym_precompile(cclgym_cold_headers ${cclgym_cold_flags})
endif()

# cclgym_use_headers(TARGET COLD): makes TARGET, which has the flags of a layer, use the precompiled headers.
function(cclgym_use_headers target cold)
  target_link_libraries(${target} PRIVATE fmt::fmt)
  set(headers cclgym_headers)
  if(cold)
    target_compile_options(${target} PRIVATE ${cclgym_cold_flags})
    set(headers cclgym_cold_headers)
  endif()
  if(CCLGYM_PCH)
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()
