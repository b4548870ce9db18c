# cclgym_found_option(NAME TEXT FOUND): an option whose default is whether its libraries were found. If
# they are installed later, the next configuration turns it on, unless the user has set it.
macro(cclgym_found_option name text found)
  if(DEFINED CACHE{${name}} AND DEFINED CACHE{${name}_default}
      AND "$CACHE{${name}}" STREQUAL "$CACHE{${name}_default}")
    set(${name} ${found} CACHE BOOL "${text}" FORCE)
  endif()
  option(${name} "${text}" ${found})
  set(${name}_default ${found} CACHE INTERNAL "Default of ${name} at the last configuration")
endmacro()

# Compiler flags of all targets of the project.
add_library(cclgym_flags INTERFACE)
target_compile_options(cclgym_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Werror
  # GCC 12 warns wrongly about std::string concatenation (GCC bug 105651).
  # GCC does not recognise precompiled headers of the C++ library as system headers.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow;-Wno-array-bounds>
  # GCC 13 and 14 wrongly report dangling references for an element of a temporary std::span and for
  # the result of a look-up by a temporary string_view.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-dangling-reference>
  # GCC collects garbage from half a gigabyte on, not from an eighth: 5 to 10 % less time for large sources.
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=524288>"
  # The same bits in every build type: no contraction to fused multiply-add, no fast-math.
  -ffp-contract=off)
if(CCLGYM_SANITIZE)
  target_compile_options(cclgym_flags INTERFACE -fsanitize=${CCLGYM_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(cclgym_flags INTERFACE -fsanitize=${CCLGYM_SANITIZE})
endif()
if(CCLGYM_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    message(FATAL_ERROR "CCLGYM_FUZZ needs clang: cmake --preset fuzz")
  endif()
  # Coverage for libFuzzer in every layer; its main comes with the targets in tests/fuzz.
  # Clang warns where GCC does not, e.g. of constants that hide those of another source that is compiled
  # together with theirs.
  target_compile_options(cclgym_flags INTERFACE -fsanitize=fuzzer-no-link -Wno-shadow -Wno-error)
endif()
find_program(CCACHE ccache)
if(CCACHE)
  # ccache caches sources with precompiled headers (cmake/headers.cmake) only if it may take macros and
  # times in them for unchanged, and if GCC names the header in what it preprocesses. Checkouts in other
  # folders share its results: paths are relative to the checkout, and the working folder does not count.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  target_compile_options(cclgym_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()
