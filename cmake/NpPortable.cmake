# One file: npuprof without shared libraries, with its rules, page and texts inside; npuprof-collect and the library that it loads
# into applications need the C library and nothing else. Libraries of the system are taken as archives.
option(NP_PORTABLE "Link npuprof statically" OFF)
if(NP_PORTABLE)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(NP_MPI OFF CACHE BOOL "" FORCE)
endif()

# np_portable_program(<target>)
function(np_portable_program target)
  if(NP_PORTABLE)
    # Archives of the system bring what debuggers read: a fifth of the file.
    target_link_options(${target} PRIVATE -Wl,--strip-all)
    # Before the GNU library 2.34, parts of an archive of threads find each other only if all of it is there.
    target_link_options(${target} PRIVATE -static -Wl,--whole-archive -lpthread -ldl -Wl,--no-whole-archive)
  endif()
endfunction()
