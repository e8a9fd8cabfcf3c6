# What an installation has beside programs and libraries, packages of it (cpack -G TGZ, DEB, RPM), and how to remove it.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY doc/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.json" PATTERN "*.svg"
  PATTERN "*.png")

# The header needs no library; its place is all that has to be known.
configure_file(cmake/npuprof.pc.in npuprof.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/npuprof.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)

# Completion is printed by the program itself: one of another machine needs an emulator for it.
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  set(np_completions "")
  foreach(shell bash zsh fish)
    set(file ${PROJECT_BINARY_DIR}/completion/npuprof.${shell})
    add_custom_command(OUTPUT ${file}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/completion
      COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:npuprof> completion ${shell} > ${file}
      DEPENDS npuprof VERBATIM)
    list(APPEND np_completions ${file})
  endforeach()
  add_custom_target(np-completions ALL DEPENDS ${np_completions})
  install(FILES ${PROJECT_BINARY_DIR}/completion/npuprof.bash RENAME npuprof
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${PROJECT_BINARY_DIR}/completion/npuprof.zsh RENAME _npuprof
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${PROJECT_BINARY_DIR}/completion/npuprof.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
else()
  np_left_out("completion scripts: CMAKE_CROSSCOMPILING_EMULATOR would make them")
endif()

# cmake --build build --target uninstall: the files that the last install wrote.
add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt -P ${PROJECT_SOURCE_DIR}/cmake/NpUninstall.cmake
  VERBATIM)

set(CPACK_PACKAGE_NAME npuprof)
set(CPACK_PACKAGE_VENDOR "the npuprof authors")
set(CPACK_PACKAGE_CONTACT "the npuprof authors <npuprof@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME npuprof-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_GENERATOR TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
# What is loaded when it is there is no need of the package: MPI and libxlsxwriter.
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
# Which C library is known when all is built: @GLIBC@ is filled in by then.
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/NpPackageNeeds.cmake)
set(CPACK_NPUPROF_BUILD ${PROJECT_BINARY_DIR})
if(NP_PORTABLE)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= @GLIBC@)")
else()
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= @GLIBC@), libsqlite3-0, libjansson4, libpcre2-8-0, zlib1g, libsodium23")
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libopenmpi3, libmpich12, libxlsxwriter4")
endif()
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_AUTOREQ OFF)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
if(NP_PORTABLE)
  set(CPACK_RPM_PACKAGE_REQUIRES "glibc >= @GLIBC@")
else()
  set(CPACK_RPM_PACKAGE_REQUIRES "glibc >= @GLIBC@, sqlite-libs, jansson, pcre2, zlib, libsodium")
endif()
# Directories of the system are not ours; those of shells may not be there, and packages of rpm can own them together.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/man /usr/share/man/man1 /usr/share/pkgconfig /usr/share/doc)
include(CPack)
