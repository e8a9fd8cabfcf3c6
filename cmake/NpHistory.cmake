# history: its engine as a library, its command in npuprof.
np_library(nphistory history/engine npmeasure)
file(GLOB history_sources CONFIGURE_DEPENDS history/*.c history/present/*.c)
target_sources(npuprof PRIVATE ${history_sources})
target_link_libraries(npuprof PRIVATE nphistory)
install(FILES doc/npuprof-history.1 doc/npuprof-watch.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

# For pipelines and for agents.
install(PROGRAMS ci/gate.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/npuprof/ci)
install(FILES ci/action.yml ci/gitlab.yml ci/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/npuprof/ci)
install(FILES skills/npuprof/SKILL.md skills/AGENTS.md DESTINATION ${CMAKE_INSTALL_DATADIR}/npuprof/skills)
