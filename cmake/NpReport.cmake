# The page and the timeline: their sources in npuprof, markup, style and script of the page embedded.
file(GLOB report_sources CONFIGURE_DEPENDS report/*.c report/page/*.c)
set(report_assets ${PROJECT_SOURCE_DIR}/report/page.html ${PROJECT_SOURCE_DIR}/report/page.css
  ${PROJECT_SOURCE_DIR}/report/page.js)
string(REPLACE ";" "$<SEMICOLON>" report_asset_list "${report_assets}")
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/page_assets.c
  COMMAND ${CMAKE_COMMAND} -DOUT=${PROJECT_BINARY_DIR}/page_assets.c "-DFILES=${report_asset_list}"
    -P ${PROJECT_SOURCE_DIR}/cmake/NpEmbed.cmake
  DEPENDS ${report_assets} ${PROJECT_SOURCE_DIR}/cmake/NpEmbed.cmake ${PROJECT_SOURCE_DIR}/cmake/NpLiteral.cmake VERBATIM)
target_sources(npuprof PRIVATE ${report_sources} ${PROJECT_BINARY_DIR}/page_assets.c)
install(FILES doc/npuprof-report.1 doc/npuprof-timeline.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
