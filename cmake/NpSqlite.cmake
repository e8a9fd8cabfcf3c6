# SQLite: that of the system, or an amalgamation (sqlite3.c, sqlite3.h) that is built in. From 3.32 on; one before 3.38
# works with what it has.
set(NPUPROF_SQLITE "" CACHE PATH "Directory with sqlite3.c and sqlite3.h to build in, instead of the system's SQLite")

add_library(np_sqlite INTERFACE)
if(NPUPROF_SQLITE)
  if(NOT EXISTS ${NPUPROF_SQLITE}/sqlite3.c OR NOT EXISTS ${NPUPROF_SQLITE}/sqlite3.h)
    message(FATAL_ERROR "NPUPROF_SQLITE: '${NPUPROF_SQLITE}' has no sqlite3.c and sqlite3.h")
  endif()
  add_library(np_sqlite_own STATIC ${NPUPROF_SQLITE}/sqlite3.c)
  target_include_directories(np_sqlite_own SYSTEM PUBLIC ${NPUPROF_SQLITE})
  # As Debian builds it, as far as it is used here.
  target_compile_definitions(np_sqlite_own PRIVATE SQLITE_THREADSAFE=1 SQLITE_ENABLE_JSON1 SQLITE_ENABLE_MATH_FUNCTIONS
    SQLITE_ENABLE_COLUMN_METADATA SQLITE_OMIT_LOAD_EXTENSION SQLITE_USE_URI=1 SQLITE_MAX_VARIABLE_NUMBER=250000)
  target_compile_options(np_sqlite_own PRIVATE -O2 -w -fvisibility=hidden)
  target_link_libraries(np_sqlite_own PUBLIC Threads::Threads m)
  target_link_libraries(np_sqlite INTERFACE np_sqlite_own)
  file(STRINGS ${NPUPROF_SQLITE}/sqlite3.h np_version REGEX "^#define SQLITE_VERSION +\"")
  string(REGEX REPLACE ".*\"([0-9.]+)\".*" "\\1" np_sqlite_version "${np_version}")
else()
  pkg_check_modules(SQLITE IMPORTED_TARGET sqlite3>=3.32)
  if(NOT SQLITE_FOUND)
    message(FATAL_ERROR "SQLite 3.32 or newer was not found: install its development files, or build one in with "
      "-DNPUPROF_SQLITE=DIR (sqlite3.c and sqlite3.h)")
  endif()
  target_link_libraries(np_sqlite INTERFACE PkgConfig::SQLITE)
  # What an archive needs itself comes behind it.
  if(NP_PORTABLE)
    target_link_libraries(np_sqlite INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
  endif()
  set(np_sqlite_version ${SQLITE_VERSION})
endif()
if(np_sqlite_version VERSION_LESS 3.38)
  np_left_out("positions of errors in rules, '->>' in them, and speed where they have lists of values: SQLite ${np_sqlite_version} is older than 3.38 (-DNPUPROF_SQLITE=DIR builds in another)")
endif()
