# cclgym_portable(TARGET MAP): a shared library that any Linux with glibc 2.28 or newer can load. It has the C++
# library linked in, exports only the symbols of the version script MAP, and takes functions of the C library in
# old versions (old_glibc.cpp); the test portable_libraries checks it.
set(portable_folder ${CMAKE_CURRENT_LIST_DIR})
set(wrapped
  pthread_create pthread_join pthread_detach pthread_once pthread_key_create __pthread_key_create pthread_key_delete
  pthread_setspecific pthread_getspecific pthread_mutex_trylock pthread_rwlock_rdlock pthread_rwlock_wrlock
  pthread_rwlock_unlock pthread_cond_clockwait log exp pow __isoc23_strtol __isoc23_strtoul __isoc23_strtoll
  __isoc23_strtoull fstat stat lstat fstat64 stat64 lstat64 __libc_single_threaded arc4random _dl_find_object)
function(cclgym_portable target map)
  target_link_options(${target} PRIVATE LINKER:--version-script=${map} LINKER:--no-undefined LINKER:--gc-sections)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  if(CCLGYM_SANITIZE OR CCLGYM_FUZZ)
    # The program that loads it provides the sanitizers' functions.
    target_link_options(${target} PRIVATE LINKER:-z,undefs)
    return()
  endif()
  target_sources(${target} PRIVATE ${portable_folder}/old_glibc.cpp)
  set_source_files_properties(${portable_folder}/old_glibc.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
    COMPILE_OPTIONS -ffunction-sections)
  list(TRANSFORM wrapped PREPEND LINKER:--wrap= OUTPUT_VARIABLE wraps)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc ${wraps})
  # Before glibc 2.34, threads were in a library of their own.
  target_link_libraries(${target} PRIVATE -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -Wl,--pop-state)
endfunction()
