# memory: its engine as a library, its command in npuprof.
np_library(npmemory memory/engine npmeasure)
file(GLOB memory_sources CONFIGURE_DEPENDS memory/*.c)
target_sources(npuprof PRIVATE ${memory_sources})
target_link_libraries(npuprof PRIVATE npmemory)
install(FILES doc/npuprof-memory.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
