# The stand-in for CANN's msprof. It is called msprof and so lives in a directory
# of its own, which tests put first in PATH; it is not installed.
file(GLOB msprof_sources CONFIGURE_DEPENDS sim/msprof/*.c)
list(REMOVE_ITEM msprof_sources ${PROJECT_SOURCE_DIR}/sim/msprof/main.c)
add_library(npmsprof STATIC ${msprof_sources})
target_link_libraries(npmsprof PUBLIC npsynth)
add_executable(msprof sim/msprof/main.c)
target_compile_definitions(msprof PRIVATE NP_VERSION="${PROJECT_VERSION}")
target_link_libraries(msprof PRIVATE npmsprof)
set_target_properties(msprof PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/sim/bin)
