# Folders of an installation, relative to its prefix.
include(GNUInstallDirs)
# Programs and libraries that the program looks for itself (core/files/companion.hpp).
set(cclgym_companion_folder ${CMAKE_INSTALL_LIBDIR}/cclgym)
file(RELATIVE_PATH cclgym_companions /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${cclgym_companion_folder})
set(cclgym_include_folder ${CMAKE_INSTALL_INCLUDEDIR}/cclgym)
set(cclgym_share_folder ${CMAKE_INSTALL_DATADIR}/cclgym)
