# The advisor: its engine as a library, its commands in npuprof, its rules beside it.
np_library(npadvisor advisor/engine npmeasure np_sqlite)

file(GLOB advisor_sources CONFIGURE_DEPENDS advisor/*.c advisor/present/*.c)
target_sources(npuprof PRIVATE ${advisor_sources})
target_link_libraries(npuprof PRIVATE npadvisor)

# A program that is alone has them inside.
set(rule_packs_source ${PROJECT_BINARY_DIR}/rule_packs.c)
file(GLOB rule_packs CONFIGURE_DEPENDS rules/*.json)
list(FILTER rule_packs EXCLUDE REGEX "/schema\\.json$")
string(REPLACE ";" "$<SEMICOLON>" rule_pack_list "${rule_packs}")
add_custom_command(OUTPUT ${rule_packs_source}
  COMMAND ${CMAKE_COMMAND} -DOUT=${rule_packs_source} "-DFILES=${rule_pack_list}"
    -P ${PROJECT_SOURCE_DIR}/cmake/NpEmbedRules.cmake
  DEPENDS ${rule_packs} ${PROJECT_SOURCE_DIR}/cmake/NpEmbedRules.cmake ${PROJECT_SOURCE_DIR}/cmake/NpLiteral.cmake VERBATIM)
target_sources(npadvisor PRIVATE ${rule_packs_source})

# A program in a build tree finds its rules beside it.
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/rules ${PROJECT_BINARY_DIR}/rules SYMBOLIC)

file(GLOB rule_packs CONFIGURE_DEPENDS rules/*.json)
install(FILES ${rule_packs} rules/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/npuprof/rules)
install(FILES doc/npuprof-advisor.1 doc/npuprof-rules.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
