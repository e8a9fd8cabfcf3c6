# mcp: the protocol as a library, the tools and the command in npuprof.
np_library(npmcp mcp/protocol npformat)
file(GLOB mcp_sources CONFIGURE_DEPENDS mcp/*.c)
target_sources(npuprof PRIVATE ${mcp_sources})
target_link_libraries(npuprof PRIVATE npmcp)
install(FILES doc/npuprof-mcp.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
