# The flags every target is built with, as one interface library; np_warnings is the
# part without instrumentation, for what is loaded into programs of others.
add_library(np_warnings INTERFACE)
add_library(np_flags INTERFACE)
target_link_libraries(np_flags INTERFACE np_warnings)
if(CMAKE_VERSION VERSION_LESS 3.21)
  target_compile_options(np_warnings INTERFACE -std=c17)
else()
  target_compile_features(np_warnings INTERFACE c_std_17)
endif()
# Headers of include/ are named from there, those of other folders from the top: "core/model/align/align.h".
target_include_directories(np_warnings INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
target_compile_definitions(np_warnings INTERFACE _GNU_SOURCE)
target_compile_options(np_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion
  -Wformat=2 -Wimplicit-fallthrough -Wundef -Wvla -Wwrite-strings -Wcast-qual -Wpointer-arith
  -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
  -fno-common -fvisibility=hidden
  -ffp-contract=off # the same figures on machines that multiply and add in one
  $<$<C_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op -Wjump-misses-init>
  # Before 11.3 it warns of { 0 } where the first member is a struct itself, and of members that macros initialise by name.
  $<$<AND:$<C_COMPILER_ID:GNU>,$<VERSION_LESS:$<C_COMPILER_VERSION>,11.3>>:-Wno-missing-field-initializers>
  $<$<BOOL:${NP_WERROR}>:-Werror>)

if(NP_SANITIZE)
  string(REPLACE ";" "," np_san "${NP_SANITIZE}")
  target_compile_options(np_flags INTERFACE -fsanitize=${np_san} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(np_flags INTERFACE -fsanitize=${np_san})
  # Every global has pointers that a program without an address of its own relocates when it starts: a third
  # of the time of a start, and tests start it thousands of times.
  if("address" IN_LIST NP_SANITIZE AND CMAKE_C_COMPILER_ID STREQUAL GNU)
    target_link_options(np_flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  endif()
else()
  target_compile_options(np_flags INTERFACE -fstack-protector-strong
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>)
  target_link_options(np_flags INTERFACE -Wl,-z,relro,-z,now)
endif()

if(NP_COVERAGE)
  target_compile_options(np_flags INTERFACE --coverage -O0)
  target_link_options(np_flags INTERFACE --coverage)
endif()

# Without any optimisation some tests take longer than compiling with some does. Under sanitizers that is so for every
# library; else for the folders in which tests spend their time, and what is compiled to run for a moment gets none.
# Lines of coverage are those of the source. What may be uninitialised is asked with the sanitizers, which find out
# whether it is.
set(np_busy_folders core/base core/base/number core/format/db core/format/scan core/format/text core/model/load/capture core/model/run
  advisor/engine/data advisor/engine/sql sim/synth/out)

# Where the time of users goes, -O3 saves a twentieth of the instructions over -O2.
set(np_hot_folders core/base core/format/scan core/format/text core/model/detail core/model/load/capture core/model/load/db
  core/model/run core/model/vendor)

# np_optimise(<target>): its sources, as far as they are worth it
function(np_optimise target)
  if(CMAKE_BUILD_TYPE STREQUAL RelWithDebInfo AND NOT NP_SANITIZE AND NOT NP_COVERAGE)
    get_target_property(sources ${target} SOURCES)
    foreach(source ${sources})
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${source})
      get_filename_component(folder ${path} DIRECTORY)
      if(folder IN_LIST np_hot_folders)
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -O3)
      endif()
    endforeach()
  endif()
  if(NOT NP_OPTIMISE OR NOT CMAKE_BUILD_TYPE STREQUAL Debug)
    return()
  endif()
  if(NP_SANITIZE)
    target_compile_options(${target} PRIVATE -O1)
    return()
  endif()
  if(NP_COVERAGE)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${source})
    get_filename_component(folder ${path} DIRECTORY)
    if(folder IN_LIST np_busy_folders)
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-O1;$<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>")
    endif()
  endforeach()
endfunction()

# Many small test programs are linked from the same libraries: gold takes a third of the time of ld.
if(CMAKE_BUILD_TYPE STREQUAL Debug)
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_LINK_OPTIONS -fuse-ld=gold)
  check_c_source_compiles("int main(void) { return 0; }" NP_HAS_GOLD)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(NP_HAS_GOLD)
    string(APPEND CMAKE_EXE_LINKER_FLAGS " -fuse-ld=gold")
  endif()
endif()
