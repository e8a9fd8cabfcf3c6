# compare: its engine as a library, its command in npuprof.
# One file loads no libraries.
if(NOT NP_PORTABLE)
  pkg_check_modules(XLSXWRITER IMPORTED_TARGET xlsxwriter)
endif()
np_library(npcompare compare/engine npmeasure)

file(GLOB compare_sources CONFIGURE_DEPENDS compare/*.c compare/present/*.c)
target_sources(npuprof PRIVATE ${compare_sources})
target_link_libraries(npuprof PRIVATE npcompare)

# Workbooks are written by a library that npuprof loads when one is asked for: what it
# needs itself would double the time of every start.
if(XLSXWRITER_FOUND)
  add_library(npuprof_xlsx MODULE core/xlsx/workbook_xlsx.c core/base/err.c core/base/buf.c
    core/base/text.c)
  target_link_libraries(npuprof_xlsx PRIVATE np_flags PkgConfig::XLSXWRITER)
  set_target_properties(npuprof_xlsx PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  add_dependencies(npuprof npuprof_xlsx)
  install(TARGETS npuprof_xlsx LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
elseif(NP_PORTABLE)
  np_left_out("workbooks, which are written as CSV files: one file loads no libraries")
else()
  np_left_out("workbooks, which are written as CSV files: libxlsxwriter was not found")
endif()
install(FILES doc/npuprof-compare.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
