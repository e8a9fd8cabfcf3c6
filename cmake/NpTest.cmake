# Unit tests: one program per tests/unit/test_<module>.c. Command-line tests: one
# per tests/cli/tNNNN-<topic>.sh. Lint: layers, format, shell. Exit status 77 is
# "skipped".
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

file(GLOB unit_tests CONFIGURE_DEPENDS tests/unit/test_*.c)
foreach(source ${unit_tests})
  get_filename_component(program ${source} NAME_WE)
  string(REPLACE "test_" "unit." test ${program})
  add_executable(${program} ${source})
  target_include_directories(${program} PRIVATE tests/unit)
  target_link_libraries(${program} PRIVATE npcli npmeasure npsynth PkgConfig::CMOCKA)
  add_test(NAME ${test} COMMAND ${program})
  set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "NPUPROF_SHARED=${PROJECT_SOURCE_DIR}/../shared;NPUPROF_SOURCE=${PROJECT_SOURCE_DIR}")
endforeach()

file(GLOB cli_tests CONFIGURE_DEPENDS tests/cli/t*.sh)
foreach(script ${cli_tests})
  get_filename_component(test ${script} NAME_WE)
  add_test(NAME cli.${test} COMMAND ${script})
  set_tests_properties(cli.${test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300
    ENVIRONMENT "NPUPROF_BUILD=${PROJECT_BINARY_DIR};NPUPROF_SHARED=${PROJECT_SOURCE_DIR}/../shared;NPUPROF_SOURCE=${PROJECT_SOURCE_DIR}")
  # Scripts about several processes are labelled: the sanitizers leave them out.
  if(script MATCHES "-mpi[.-]")
    set_tests_properties(cli.${test} PROPERTIES LABELS mpi)
  endif()
endforeach()

# Fuzz targets over their corpora, once, with any compiler.
file(GLOB fuzz_targets CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
list(FILTER fuzz_targets EXCLUDE REGEX "fuzz_main\\.c$")
foreach(source ${fuzz_targets})
  get_filename_component(program ${source} NAME_WE)
  string(REPLACE "fuzz_" "" parser ${program})
  file(GLOB corpus CONFIGURE_DEPENDS tests/fuzz/corpus/${parser}/*)
  add_executable(corpus_${parser} ${source} tests/fuzz/fuzz_main.c)
  target_link_libraries(corpus_${parser} PRIVATE npcli npmeasure)
  add_test(NAME fuzz.${parser} COMMAND corpus_${parser} ${corpus})
endforeach()

foreach(lint layers format shell)
  add_test(NAME lint.${lint}
    COMMAND ${PROJECT_SOURCE_DIR}/tools/check-${lint}.sh ${PROJECT_SOURCE_DIR})
  set_tests_properties(lint.${lint} PROPERTIES SKIP_RETURN_CODE 77 LABELS lint)
endforeach()
