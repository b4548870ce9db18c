# cclgym_room(LIST ROOM NAMES...): appends ROOM/NAME.cpp of every name to LIST: the sources of one room (a
# folder inside a layer; docs/architecture.md).
macro(cclgym_room list room)
  foreach(name ${ARGN})
    list(APPEND ${list} ${room}/${name}.cpp)
  endforeach()
endmacro()

# cclgym_layer(NAME SOURCES ... LINKS ...): the static library cclgym_NAME of one layer. Headers of the
# layer are included as "folder/header.hpp"; only those of linked layers can be, because each layer's
# include path is a folder that holds links to the folders below it.
function(cclgym_layer name)
  cmake_parse_arguments(LAYER "" "FOLDER" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  if(NOT LAYER_FOLDER)
    get_filename_component(LAYER_FOLDER ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  endif()
  set(include_dir ${CMAKE_BINARY_DIR}/layers/${name})
  file(MAKE_DIRECTORY ${include_dir})
  if(NOT EXISTS ${include_dir}/${LAYER_FOLDER})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${include_dir}/${LAYER_FOLDER} SYMBOLIC)
  endif()
  add_library(cclgym_${name} STATIC ${LAYER_SOURCES})
  target_include_directories(cclgym_${name} PUBLIC ${include_dir})
  target_link_libraries(cclgym_${name} PUBLIC ${LAYER_LINKS} PRIVATE cclgym_flags ${LAYER_PRIVATE_LINKS})
  if(CCLGYM_PYTHON)
    # The layers end up in a shared library (env/python). Without interposition, calls inside a layer
    # are inlined as they are otherwise.
    set_target_properties(cclgym_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(cclgym_${name} PRIVATE -fno-semantic-interposition)
  endif()
endfunction()
