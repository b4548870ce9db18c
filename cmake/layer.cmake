# cclgym_room(LIST ROOM NAMES...): appends the sources of one room (a folder inside a layer;
# docs/architecture.md), ROOM/NAME.cpp for each name, to LIST.
macro(cclgym_room list room)
  foreach(name ${ARGN})
    list(APPEND ${list} ${room}/${name}.cpp)
  endforeach()
endmacro()

# cclgym_unite(TARGET): compiles the sources of each room together, a few at a time, so that headers and
# templates, which take most of a build's time, are read once for all of them (docs/development.md). Names
# in anonymous namespaces must therefore differ within a room.
# cclgym_alone(SOURCES...): excludes sources from this; call it before cclgym_unite.
function(cclgym_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
option(CCLGYM_UNITY "Compile the sources of a room together" ON)
set(CCLGYM_UNITY_SIZE 6 CACHE STRING "Sources that are compiled together at most")
mark_as_advanced(CCLGYM_UNITY CCLGYM_UNITY_SIZE)
function(cclgym_unite target)
  if(NOT CCLGYM_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_filename_component(room ${source} DIRECTORY)
    string(MAKE_C_IDENTIFIER "room_${room}" room)
    if(NOT DEFINED ${room}_count)
      set(${room}_count 0)
    endif()
    math(EXPR part "${${room}_count} / ${CCLGYM_UNITY_SIZE}")
    math(EXPR ${room}_count "${${room}_count} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room}_${part})
  endforeach()
endfunction()

# cclgym_layer(NAME SOURCES ... LINKS ...): the static library cclgym_NAME of one layer. Headers of the
# layer are included as "folder/header.hpp". Only headers of linked layers can be included, because the
# include path of each layer is a folder with a symbolic link to the layer's folder.
function(cclgym_layer name)
  cmake_parse_arguments(LAYER "COLD" "FOLDER" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  if(NOT LAYER_FOLDER)
    get_filename_component(LAYER_FOLDER ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  endif()
  set(include_dir ${CMAKE_BINARY_DIR}/layers/${name})
  file(MAKE_DIRECTORY ${include_dir})
  if(NOT EXISTS ${include_dir}/${LAYER_FOLDER})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${include_dir}/${LAYER_FOLDER} SYMBOLIC)
  endif()
  add_library(cclgym_${name} STATIC ${LAYER_SOURCES})
  cclgym_unite(cclgym_${name})
  target_include_directories(cclgym_${name} PUBLIC ${include_dir})
  target_link_libraries(cclgym_${name} PUBLIC ${LAYER_LINKS} PRIVATE cclgym_flags ${LAYER_PRIVATE_LINKS})
  if(CCLGYM_PYTHON)
    # The layers become part of a shared library (env/python). Without interposition, calls inside a
    # layer can be inlined as in a program.
    set_target_properties(cclgym_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(cclgym_${name} PRIVATE -fno-semantic-interposition)
  endif()
  cclgym_use_headers(cclgym_${name} ${LAYER_COLD})
endfunction()
