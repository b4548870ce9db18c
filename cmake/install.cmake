# `cmake --install` (docs/install.md), in components: program, train, mpi, development. cmake/package.cmake
# makes a package of each.
set(files ${cclgym_companion_folder})

# The program, and what it looks for beside itself.
install(TARGETS cclgym RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(TARGETS nccl-tuner-cclgym LIBRARY DESTINATION ${files} COMPONENT program)
set(cclgym_components program development)
get_property(lazy_names GLOBAL PROPERTY cclgym_lazy_names)
foreach(name ${lazy_names})
  install(TARGETS cclgym-${name} LIBRARY DESTINATION ${files} COMPONENT program)
endforeach()
if(CCLGYM_TORCH)
  install(TARGETS cclgym-train RUNTIME DESTINATION ${files} COMPONENT train)
  list(APPEND cclgym_components train)
endif()
if(CCLGYM_MPI)
  install(TARGETS cclgym-mpi-worker RUNTIME DESTINATION ${files} COMPONENT mpi)
  install(TARGETS cclgym-ranks LIBRARY DESTINATION ${files} COMPONENT mpi)
  list(APPEND cclgym_components mpi)
endif()
if(CCLGYM_CUDA)
  install(TARGETS cclgym-cuda-worker cclgym-nccl-worker RUNTIME DESTINATION ${files} COMPONENT program)
endif()

# Data: only what git has of an experiment, not the sources of the layer of this name.
install(DIRECTORY experiments DESTINATION ${cclgym_share_folder} COMPONENT program
  FILES_MATCHING PATTERN *.yaml PATTERN *.csv
  PATTERN report EXCLUDE PATTERN run EXCLUDE PATTERN schedules EXCLUDE PATTERN summary EXCLUDE
  PATTERN sweep EXCLUDE PATTERN training EXCLUDE)
install(PROGRAMS scripts/netlab scripts/netlab-agent DESTINATION ${cclgym_share_folder}/scripts COMPONENT program)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program
  FILES_MATCHING PATTERN *.md PATTERN *.png PATTERN *.svg PATTERN *.cpp PATTERN *.py)

# Manual pages and completions, written by the program from its own options.
set(reference ${PROJECT_BINARY_DIR}/reference)
add_custom_command(OUTPUT ${reference}/made
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${reference}
  COMMAND cclgym reference ${reference}
  COMMAND ${CMAKE_COMMAND} -E touch ${reference}/made
  DEPENDS cclgym VERBATIM)
add_custom_target(cclgym_reference ALL DEPENDS ${reference}/made)
install(DIRECTORY ${reference}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
install(FILES ${reference}/cclgym.bash RENAME cclgym COMPONENT program
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${reference}/cclgym.zsh RENAME _cclgym COMPONENT program
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${reference}/cclgym.fish COMPONENT program
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# All layers below the command line in one archive, from which a linker takes what a program needs. Agents are
# trained by the program: the archive has no LibTorch.
get_property(parts GLOBAL PROPERTY cclgym_parts)
list(FILTER parts EXCLUDE REGEX "^cclgym_cli")
set(objects "")
foreach(part ${parts} cclgym_gradient_none cclgym_onnx_none)
  list(APPEND objects $<TARGET_OBJECTS:${part}>)
endforeach()
add_library(cclgym_installed STATIC ${objects})
set_target_properties(cclgym_installed PROPERTIES OUTPUT_NAME cclgym EXPORT_NAME archive LINKER_LANGUAGE CXX
  ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/installed)
target_include_directories(cclgym_installed INTERFACE $<INSTALL_INTERFACE:${cclgym_include_folder}>)
target_compile_features(cclgym_installed INTERFACE cxx_std_20)

# Libraries that the archive needs, by name: an outside project finds them on its own machine.
set(names fmt yaml-cpp pugixml)
foreach(path ${CBC_LIBRARY} ${OSI_CLP_LIBRARY} ${OSI_LIBRARY} ${CLP_LIBRARY} ${COIN_UTILS_LIBRARY} ${CADICAL_LIBRARY}
    ${SVM_LIBRARY} ${NLOPT_LIBRARY} ${PROTOBUF_WIRE_LIBRARY} ${ZLIB_LIBRARY})
  get_filename_component(name ${path} NAME_WE)
  string(REGEX REPLACE "^lib" "" name ${name})
  list(APPEND names ${name})
endforeach()
if(CCLGYM_SIMGRID)
  list(APPEND names simgrid)
endif()
set(cclgym_libraries ${names})

# The policy runtime for programs in C: a shared library that needs only the C library.
install(TARGETS cclgym_installed cclgym-policy EXPORT cclgymTargets COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT program NAMELINK_COMPONENT development)
get_property(folders GLOBAL PROPERTY cclgym_layer_folders)
foreach(folder ${folders})
  get_filename_component(layer ${folder} NAME)
  if(NOT layer STREQUAL cli)
    install(DIRECTORY ${folder} DESTINATION ${cclgym_include_folder} COMPONENT development
      FILES_MATCHING PATTERN *.hpp PATTERN *.h PATTERN python EXCLUDE)
  endif()
endforeach()

include(CMakePackageConfigHelpers)
set(config ${CMAKE_INSTALL_LIBDIR}/cmake/cclgym)
install(EXPORT cclgymTargets NAMESPACE cclgym:: DESTINATION ${config} COMPONENT development)
configure_package_config_file(cmake/cclgymConfig.cmake.in ${PROJECT_BINARY_DIR}/installed/cclgymConfig.cmake
  INSTALL_DESTINATION ${config})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/installed/cclgymConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/installed/cclgymConfig.cmake
  ${PROJECT_BINARY_DIR}/installed/cclgymConfigVersion.cmake DESTINATION ${config} COMPONENT development)

# pkg-config finds the prefix from the place of its own file, so that an installation can be moved.
file(RELATIVE_PATH cclgym_prefix_of_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
list(TRANSFORM cclgym_libraries PREPEND -l OUTPUT_VARIABLE flags)
list(JOIN flags " " cclgym_library_flags)
foreach(name cclgym cclgym-policy)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/installed/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/installed/${name}.pc COMPONENT development
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

include(cmake/package.cmake)
