# compare: its engine as a library, its command in npuprof.
pkg_check_modules(XLSXWRITER REQUIRED IMPORTED_TARGET xlsxwriter)
np_library(npcompare compare/engine npmeasure)
target_include_directories(npcompare PUBLIC ${PROJECT_SOURCE_DIR}/compare/engine)

file(GLOB compare_sources CONFIGURE_DEPENDS compare/*.c)
target_sources(npuprof PRIVATE ${compare_sources})
target_link_libraries(npuprof PRIVATE npcompare PkgConfig::XLSXWRITER)
install(FILES doc/npuprof-compare.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
