# libFuzzer: one program per tests/fuzz/fuzz_<parser>.c, with its corpus in
# tests/fuzz/corpus/<parser>. Needs clang; see the preset "fuzz".
if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "NP_FUZZ needs clang")
endif()
# The libraries are instrumented for coverage; only the targets get libFuzzer's main().
foreach(library npbase npformat npmodel npmeasure npcompare npadvisor npmemory npmcp nphistory npcli
  npprotocol nplaunch)
  target_compile_options(${library} PRIVATE -fsanitize=fuzzer-no-link)
endforeach()

file(GLOB fuzz_targets CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
list(FILTER fuzz_targets EXCLUDE REGEX "fuzz_main\\.c$")
foreach(source ${fuzz_targets})
  get_filename_component(program ${source} NAME_WE)
  add_executable(${program} ${source} ${np_fuzz_of_${program}})
  target_compile_options(${program} PRIVATE -fsanitize=fuzzer-no-link)
  target_link_options(${program} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${program} PRIVATE npcli npmeasure npcompare npadvisor npmemory npmcp nphistory nplaunch npproof)
endforeach()
