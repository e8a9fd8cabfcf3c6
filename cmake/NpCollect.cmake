# Collecting: what launcher and injection library share, the library, the launcher.

# The contract between the two, and the binding of AscendCL.
file(GLOB collect_shared_sources CONFIGURE_DEPENDS collect/*.c collect/acl/*.c)
add_library(npprotocol STATIC ${collect_shared_sources})
target_link_libraries(npprotocol PUBLIC npbase ${CMAKE_DL_LIBS})

# The injection library without its hooks, so that tests can use it.
file(GLOB inject_sources CONFIGURE_DEPENDS collect/inject/*.c)
set(hook_sources ${inject_sources})
list(FILTER inject_sources EXCLUDE REGEX "/(hooks_[a-z]+|preload|real)\\.c$")
list(FILTER hook_sources INCLUDE REGEX "/(hooks_[a-z]+|preload|real)\\.c$")
add_library(npinject STATIC ${inject_sources})
target_link_libraries(npinject PUBLIC npprotocol npformat)

# The injection library is loaded into other people's programs: it needs nothing but the
# C library, shows nothing but its hooks, and is never instrumented.
set(inject_core core/base/buf.c core/base/err.c core/base/realtime.c core/base/text.c core/base/text_number.c
  core/base/vec.c core/base/arena.c core/format/out/jsonout.c core/format/text/pattern.c
  core/format/out/relation.c)
find_library(PCRE2_STATIC libpcre2-8.a HINTS ${PCRE2_LIBRARY_DIRS})
if(NOT PCRE2_STATIC)
  np_left_out("PCRE2 inside libnpuprof_inject.so, which needs libpcre2-8.so wherever applications run: libpcre2-8.a was not found")
  set(PCRE2_STATIC PkgConfig::PCRE2)
endif()
# Compiled once for both libraries that are loaded into programs of others.
add_library(npguest OBJECT ${collect_shared_sources} ${inject_core})
target_include_directories(npguest PRIVATE ${PCRE2_INCLUDE_DIRS})
target_compile_definitions(npguest PRIVATE $<$<BOOL:${NP_SIM_CLOCK}>:NP_SIM_CLOCK>)
target_link_libraries(npguest PRIVATE np_warnings)
add_library(npuprof_inject SHARED ${hook_sources} ${inject_sources} $<TARGET_OBJECTS:npguest>)
target_compile_definitions(npuprof_inject PRIVATE $<$<BOOL:${NP_SIM_CLOCK}>:NP_SIM_CLOCK>)
target_link_libraries(npuprof_inject PRIVATE np_warnings Threads::Threads ${CMAKE_DL_LIBS} m
  ${PCRE2_STATIC})
target_link_options(npuprof_inject PRIVATE -Wl,-z,defs,-z,relro,-z,now,-z,nodelete
  -Wl,--exclude-libs,ALL -Wl,--version-script,${PROJECT_SOURCE_DIR}/collect/inject/inject.map)
set_target_properties(npuprof_inject PROPERTIES
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/collect/inject/inject.map)
install(TARGETS npuprof_inject LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/npuprof_step.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# The launcher without MPI and main(), so that tests and the front door can use it.
file(GLOB_RECURSE launch_sources CONFIGURE_DEPENDS collect/launch/*.c)
set(launch_own main coord/join coord/coord_mpi cmd_collect cmd_ctl ctl_watch)
foreach(own ${launch_own})
  list(REMOVE_ITEM launch_sources ${PROJECT_SOURCE_DIR}/collect/launch/${own}.c)
endforeach()
# What launchers prove each other with is linked by who uses it: npuprof itself shall not need libsodium.
pkg_check_modules(SODIUM IMPORTED_TARGET libsodium)
list(REMOVE_ITEM launch_sources ${PROJECT_SOURCE_DIR}/collect/launch/coord/proof.c)
if(SODIUM_FOUND)
  add_library(npproof STATIC collect/launch/coord/proof.c)
  target_link_libraries(npproof PUBLIC npbase PkgConfig::SODIUM)
else()
  np_left_out("npuprof-collect: libsodium was not found")
endif()
# What goes into Python programs, as text.
set(launch_python ${PROJECT_SOURCE_DIR}/collect/launch/backend/memory_history.py)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/launch_python.c
  COMMAND ${CMAKE_COMMAND} -DOUT=${PROJECT_BINARY_DIR}/launch_python.c -DFILES=${launch_python}
    -P ${PROJECT_SOURCE_DIR}/cmake/NpEmbed.cmake
  DEPENDS ${launch_python} ${PROJECT_SOURCE_DIR}/cmake/NpEmbed.cmake ${PROJECT_SOURCE_DIR}/cmake/NpLiteral.cmake VERBATIM)
add_library(nplaunch STATIC ${launch_sources} ${PROJECT_BINARY_DIR}/launch_python.c)
target_compile_definitions(nplaunch PRIVATE NP_LIBRARY_DIR="${CMAKE_INSTALL_LIBDIR}")
target_link_libraries(nplaunch PUBLIC npcli npformat npprotocol)

target_sources(npuprof PRIVATE collect/launch/cmd_collect.c collect/launch/cmd_ctl.c
  collect/launch/ctl_watch.c)
target_link_libraries(npuprof PRIVATE nplaunch)

if(TARGET npproof)
  add_executable(npuprof-collect collect/launch/main.c collect/launch/coord/join.c collect/launch/cmd_collect.c)
  target_link_libraries(npuprof-collect PRIVATE nplaunch npproof)
  install(TARGETS npuprof-collect RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# For applications that are MPI programs: tells the launchers of each other in MPI_Init.
foreach(family ${np_mpis})
  add_library(npuprof_inapp-${family} SHARED collect/mpi/npuprof_inapp.c collect/launch/coord/mpi_address.c
    $<TARGET_OBJECTS:npguest>)
  target_link_libraries(npuprof_inapp-${family} PRIVATE np_warnings np_mpi_${family} Threads::Threads
    ${CMAKE_DL_LIBS} m ${PCRE2_STATIC})
  target_link_options(npuprof_inapp-${family} PRIVATE -Wl,-z,defs,-z,relro,-z,now -Wl,--exclude-libs,ALL)
  install(TARGETS npuprof_inapp-${family} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(TARGET npuprof-collect)
    add_dependencies(npuprof-collect npuprof_mpi-${family} npuprof_inapp-${family})
  endif()
endforeach()
install(FILES doc/npuprof-collect.1 doc/npuprof-ctl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
