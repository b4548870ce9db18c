# cclgym_lazy(NAME ROOM LIBRARIES ... INCLUDES ...): code for libraries of others that take long to load. Three sources
# of ROOM, a folder of the layer that calls it:
#   NAME_adapter.cpp  the only source that uses the libraries; it has one export, in C
#   NAME_direct.cpp   calls it, for programs that contain it: cclgym_NAME_direct, which the layer links
#   NAME_lazy.cpp     loads libcclgym-NAME.so, which is the adapter, when it is first needed
# All programs contain the adapter, except those to which cclgym_load_lazily was applied.
function(cclgym_lazy name room)
  cmake_parse_arguments(LAZY "" "" "LIBRARIES;INCLUDES" ${ARGN})
  set(adapter cclgym_${name}_adapter)
  set(direct cclgym_${name}_direct)
  set(lazy cclgym_${name}_lazy)
  add_library(${adapter} OBJECT ${room}/${name}_adapter.cpp)
  cclgym_position_independent(${adapter})
  target_include_directories(${adapter} SYSTEM PRIVATE ${LAZY_INCLUDES})
  add_library(${direct} STATIC ${room}/${name}_direct.cpp $<TARGET_OBJECTS:${adapter}>)
  cclgym_position_independent(${direct})
  add_library(${lazy} OBJECT ${room}/${name}_lazy.cpp)
  foreach(target ${adapter} ${direct} ${lazy})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} PRIVATE cclgym_flags)
  endforeach()
  target_link_libraries(${direct} PRIVATE ${LAZY_LIBRARIES})
  add_library(cclgym-${name} MODULE $<TARGET_OBJECTS:${adapter}>)
  target_link_libraries(cclgym-${name} PRIVATE ${LAZY_LIBRARIES} cclgym_flags)
  set_target_properties(cclgym-${name} PROPERTIES LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  # What cmake/install.cmake installs.
  set_property(GLOBAL APPEND PROPERTY cclgym_parts ${adapter} ${direct})
  set_property(GLOBAL APPEND PROPERTY cclgym_lazy_names ${name})
endfunction()

# cclgym_load_lazily(PROGRAM): the program is linked without the libraries of cclgym_lazy. Its own objects define
# what NAME_direct.cpp defines, so that the linker needs neither this nor, with --as-needed, the libraries.
function(cclgym_load_lazily program)
  get_property(names GLOBAL PROPERTY cclgym_lazy_names)
  target_link_options(${program} PRIVATE -Wl,--as-needed)
  foreach(name ${names})
    target_sources(${program} PRIVATE $<TARGET_OBJECTS:cclgym_${name}_lazy>)
    add_dependencies(${program} cclgym-${name})
  endforeach()
endfunction()
