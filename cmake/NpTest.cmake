# Unit tests: one program per tests/unit/test_<module>.c. Command-line tests: one
# per tests/cli/tNNNN-<topic>.sh. Lint: format, layers, shell.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

file(GLOB unit_tests CONFIGURE_DEPENDS tests/unit/test_*.c)
foreach(source ${unit_tests})
  get_filename_component(program ${source} NAME_WE)
  string(REPLACE "test_" "unit." test ${program})
  add_executable(${program} ${source})
  target_include_directories(${program} PRIVATE tests/unit cli)
  target_link_libraries(${program} PRIVATE npmeasure PkgConfig::CMOCKA)
  add_test(NAME ${test} COMMAND ${program})
  set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "NPUPROF_SHARED=${PROJECT_SOURCE_DIR}/../shared;NPUPROF_SOURCE=${PROJECT_SOURCE_DIR}")
endforeach()

file(GLOB cli_tests CONFIGURE_DEPENDS tests/cli/t*.sh)
foreach(script ${cli_tests})
  get_filename_component(test ${script} NAME_WE)
  add_test(NAME cli.${test} COMMAND ${script})
  set_tests_properties(cli.${test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300
    ENVIRONMENT "NPUPROF_BUILD=${PROJECT_BINARY_DIR};NPUPROF_SHARED=${PROJECT_SOURCE_DIR}/../shared")
endforeach()

add_test(NAME lint.layers COMMAND ${PROJECT_SOURCE_DIR}/tools/check-layers.sh ${PROJECT_SOURCE_DIR})
add_test(NAME lint.format COMMAND ${PROJECT_SOURCE_DIR}/tools/check-format.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(lint.layers lint.format PROPERTIES SKIP_RETURN_CODE 77)
