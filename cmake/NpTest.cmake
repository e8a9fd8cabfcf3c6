# Unit tests: one per tests/unit/test_<module>.c. Command-line tests: one
# per tests/cli/tNNNN-<topic>.sh. Lint: layers, format, shell. Exit status 77 is
# "skipped".

# Where python3 is a script that looks for the interpreter, tests that start it often would wait for that.
execute_process(COMMAND python3 -c "import sys; print(sys.executable)"
  OUTPUT_VARIABLE np_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(np_python)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  file(CREATE_LINK ${np_python} ${PROJECT_BINARY_DIR}/bin/python3 SYMBOLIC)
  if(CMAKE_VERSION VERSION_LESS 3.22)
    set(np_path_word ";PATH=${PROJECT_BINARY_DIR}/bin:$ENV{PATH}")
  else()
    set(np_path ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${PROJECT_BINARY_DIR}/bin")
  endif()
endif()

# Programs for tests of the injection library, and libraries that stand in for CANN's:
# of an older and of a damaged installation, and such in which nothing happens.
function(np_fake name output source)
  add_library(fake_${name} SHARED tests/fake/${source}.c)
  target_compile_definitions(fake_${name} PRIVATE ${ARGN})
  target_link_libraries(fake_${name} PRIVATE np_warnings)
  set_target_properties(fake_${name} PROPERTIES OUTPUT_NAME ${output}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fake/${name})
endfunction()
np_fake(old msprofiler msprofiler FAKE_OLD)
np_fake(broken msprofiler msprofiler FAKE_BROKEN)
np_fake(hccl hccl hccl)
np_fake(runtime ascendcl runtime)
add_executable(inject_app tests/inject/inject_app.c)
target_link_libraries(inject_app PRIVATE np_flags ascendcl msprofiler ms_tools_ext fake_hccl)
add_library(inject_plugin SHARED tests/inject/inject_app.c)
target_compile_definitions(inject_plugin PRIVATE INJECT_PLUGIN)
target_link_libraries(inject_plugin PRIVATE np_flags ascendcl msprofiler ms_tools_ext fake_hccl)
add_executable(inject_host tests/inject/inject_host.c)
target_link_libraries(inject_host PRIVATE np_flags ${CMAKE_DL_LIBS})
add_executable(inject_launch tests/inject/inject_launch.c)
target_link_libraries(inject_launch PRIVATE npprotocol)
add_executable(inject_bench tests/inject/inject_bench.c)
target_link_libraries(inject_bench PRIVATE np_warnings fake_runtime fake_hccl)

# A slow file system and too little memory: preloaded by tests of what happens in the middle of a run.
add_library(slow_files MODULE tests/preload/slow_files.c)
target_link_libraries(slow_files PRIVATE np_flags ${CMAKE_DL_LIBS})
add_library(scarce_memory MODULE tests/preload/scarce_memory.c)
target_link_libraries(scarce_memory PRIVATE np_flags ${CMAKE_DL_LIBS})
add_library(odd_host MODULE tests/preload/odd_host.c)
target_link_libraries(odd_host PRIVATE np_flags ${CMAKE_DL_LIBS})
add_library(failing_calls MODULE tests/preload/failing_calls.c)
target_link_libraries(failing_calls PRIVATE np_flags)

# Unit tests are one program, and links to it by their names in unit/: linking a program for each would take longer than
# compiling some of them. Those that are linked with other libraries, or with what stands in for such, are programs of
# their own.
add_library(npfault OBJECT tests/unit/np_fault.c)
target_include_directories(npfault PRIVATE tests/unit)
target_link_libraries(npfault PRIVATE np_flags PkgConfig::CMOCKA)

# np_unit_program(<target> <source>...)
function(np_unit_program target)
  add_executable(${target} ${ARGN} $<TARGET_OBJECTS:npfault>)
  target_include_directories(${target} PRIVATE tests/unit ${PROJECT_BINARY_DIR}/unit)
  target_link_libraries(${target} PRIVATE npcli npmodes npsynth PkgConfig::CMOCKA ${CMAKE_DL_LIBS})
endfunction()

file(GLOB_RECURSE unit_tests CONFIGURE_DEPENDS tests/unit/test_*.c)
set(np_own_programs "^test_(npusim|inject|acl|report)_")
set(np_unit_sources tests/unit/np_unit.c)
set(np_unit_names "")
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/unit)
foreach(source ${unit_tests})
  get_filename_component(program ${source} NAME_WE)
  string(REPLACE "test_" "unit." test ${program})
  if(program MATCHES "${np_own_programs}")
    np_unit_program(${program} ${source})
    add_test(NAME ${test} COMMAND ${program})
  else()
    list(APPEND np_unit_sources ${source})
    string(APPEND np_unit_names "TEST(${program})\n")
    set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS "NP_UNIT;main=${program}_main")
    file(CREATE_LINK ../np-unit-tests ${PROJECT_BINARY_DIR}/unit/${program} SYMBOLIC)
    add_test(NAME ${test} COMMAND ${PROJECT_BINARY_DIR}/unit/${program})
  endif()
  if(program MATCHES "^test_npusim_")
    target_link_libraries(${program} PRIVATE ${npusim_libraries})
  elseif(program MATCHES "^test_(inject|acl)_")
    target_link_libraries(${program} PRIVATE npinject)
  elseif(program MATCHES "^test_report_")
    target_sources(${program} PRIVATE report/timeline.c report/timeline_choice.c report/timeline_out.c report/page/page_aliases.c)
  endif()
  set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "NPUPROF_SHARED=${PROJECT_SOURCE_DIR}/../shared;NPUPROF_SOURCE=${PROJECT_SOURCE_DIR}")
endforeach()
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/unit/np_unit_tests.inc CONTENT "${np_unit_names}")
np_unit_program(np-unit-tests ${np_unit_sources})
target_link_libraries(np-unit-tests PRIVATE npadvisor npcompare npmemory nphistory npmcp nplaunch npproof)

file(GLOB cli_tests CONFIGURE_DEPENDS tests/cli/t*.sh)
# A test that hangs is to end some time; one that only shares its processors with much else is not.
set(np_timeout 1200)
foreach(script ${cli_tests})
  get_filename_component(test ${script} NAME_WE)
  add_test(NAME cli.${test} COMMAND ${script})
  set_tests_properties(cli.${test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${np_timeout} ${np_path}
    ENVIRONMENT "NPUPROF_BUILD=${PROJECT_BINARY_DIR};NPUPROF_SHARED=${PROJECT_SOURCE_DIR}/../shared;NPUPROF_SOURCE=${PROJECT_SOURCE_DIR}${np_path_word}")
  # Scripts about several processes are labelled: the sanitizers leave them out.
  if(script MATCHES "-mpi[.-]")
    # One at a time takes longest of all: they begin at once. A busy machine takes minutes for some.
    # Those of the simulator look for what others leave in shared memory; analyses on several processes do not.
    set(lock npusim)
    if(script MATCHES "t60")
      set(lock processes)
    endif()
    set_tests_properties(cli.${test} PROPERTIES LABELS mpi RESOURCE_LOCK ${lock} COST 1000)
  endif()
  # Whole packs and sweeps take minutes under the sanitizers, over code that others reach too.
  if(script MATCHES "t(2050|4010|4011|7002)-")
    set_tests_properties(cli.${test} PROPERTIES LABELS long)
  endif()
  # About a check of the tree and about the helpers of these tests: no program of ours in them.
  if(script MATCHES "t000[456]-")
    set_tests_properties(cli.${test} PROPERTIES LABELS lint)
  endif()
  # Looks for what jobs leave in shared memory, which jobs that are killed do.
  if(script MATCHES "t3001-")
    set_tests_properties(cli.${test} PROPERTIES RESOURCE_LOCK npusim LABELS alone)
  endif()
endforeach()

# Fuzz targets over their corpora, once, with any compiler.
file(GLOB fuzz_targets CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
list(FILTER fuzz_targets EXCLUDE REGEX "fuzz_main\\.c$")
add_library(npfuzz OBJECT tests/fuzz/fuzz_main.c)
target_link_libraries(npfuzz PRIVATE np_flags)
foreach(source ${fuzz_targets})
  get_filename_component(program ${source} NAME_WE)
  string(REPLACE "fuzz_" "" parser ${program})
  file(GLOB corpus CONFIGURE_DEPENDS tests/fuzz/corpus/${parser}/*)
  add_executable(corpus_${parser} ${source} ${np_fuzz_of_${program}} $<TARGET_OBJECTS:npfuzz>)
  target_link_libraries(corpus_${parser} PRIVATE npcli npmeasure npcompare npadvisor npmemory npmcp nphistory nplaunch
    npproof)
  add_test(NAME fuzz.${parser} COMMAND corpus_${parser} ${corpus})
endforeach()

# The layers are also read from the objects of this build.
foreach(lint layers pages format po shell)
  add_test(NAME lint.${lint}
    COMMAND ${PROJECT_SOURCE_DIR}/tools/check-${lint}.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  set_tests_properties(lint.${lint} PROPERTIES SKIP_RETURN_CODE 77 LABELS lint ${np_path})
endforeach()
