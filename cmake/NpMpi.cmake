# MPI: what uses it is built once for every MPI that is found, and chosen by the launcher when it runs
# (cli/command/launcher.h). Without any the rest is built all the same.
#
# An MPI is a compiler wrapper: those of Debian's names, mpicc, where openEuler and Fedora have theirs (on no PATH before
# "module load"), and those of NP_MPI_WRAPPERS. Its binary interface
# is openmpi or mpich (with Intel MPI, MVAPICH2, Cray MPICH); of each the first is taken.
set(NP_MPI_WRAPPERS "" CACHE STRING "Further compiler wrappers of MPI libraries, e.g. /opt/mpich/bin/mpicc")
option(NP_MPI "Build what uses MPI for every MPI that is found" ON)
set(np_mpis "")

# np_mpi_add(<wrapper>): the interface library np_mpi_<family>, unless there is one
function(np_mpi_add wrapper)
  execute_process(COMMAND ${wrapper} -show OUTPUT_VARIABLE words RESULT_VARIABLE status ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    return()
  endif()
  separate_arguments(words UNIX_COMMAND "${words}")
  set(includes "")
  set(directories "")
  set(libraries "")
  foreach(word ${words})
    if(word MATCHES "^-I(.+)")
      list(APPEND includes ${CMAKE_MATCH_1})
    elseif(word MATCHES "^-L(.+)")
      list(APPEND directories ${CMAKE_MATCH_1})
    elseif(word MATCHES "^-l(.+)")
      list(APPEND libraries ${CMAKE_MATCH_1})
    endif()
  endforeach()
  set(flags "")
  foreach(include ${includes})
    list(APPEND flags -I${include})
  endforeach()
  execute_process(COMMAND ${CMAKE_C_COMPILER} ${flags} -E -dM -include mpi.h -x c /dev/null
    OUTPUT_VARIABLE macros RESULT_VARIABLE status ERROR_QUIET)
  if(macros MATCHES "#define OPEN_MPI ")
    set(family openmpi)
  elseif(macros MATCHES "#define (MPICH_VERSION|I_MPI_VERSION|MVAPICH2_VERSION) ")
    set(family mpich)
  else()
    return()
  endif()
  if(TARGET np_mpi_${family})
    return()
  endif()
  add_library(np_mpi_${family} INTERFACE)
  target_include_directories(np_mpi_${family} SYSTEM INTERFACE ${includes})
  foreach(library ${libraries})
    # With its path, so that a program in the build tree finds it.
    unset(np_mpi_file CACHE)
    find_library(np_mpi_file ${library} PATHS ${directories} NO_DEFAULT_PATH)
    target_link_libraries(np_mpi_${family} INTERFACE $<IF:$<BOOL:${np_mpi_file}>,${np_mpi_file},${library}>)
  endforeach()
  unset(np_mpi_file CACHE)
  message(STATUS "MPI: ${family} (${wrapper})")
  set(np_mpis ${np_mpis} ${family} PARENT_SCOPE)
endfunction()

# The wrappers of this machine are not those of another.
set(np_wrappers ${NP_MPI_WRAPPERS} ${MPI_C_COMPILER})
if(NOT CMAKE_CROSSCOMPILING)
  list(APPEND np_wrappers mpicc mpicc.openmpi mpicc.mpich
    /usr/lib64/openmpi/bin/mpicc /usr/lib64/mpich/bin/mpicc)
endif()
if(NP_MPI)
  foreach(name ${np_wrappers})
    unset(np_wrapper CACHE)
    find_program(np_wrapper ${name})
    if(np_wrapper)
      np_mpi_add(${np_wrapper})
    endif()
  endforeach()
  unset(np_wrapper CACHE)
endif()
if(NOT np_mpis)
  set(np_why "no MPI was found")
  if(NOT NP_MPI)
    set(np_why "NP_MPI is off")
  endif()
  np_left_out("analyses on several processes, and of npuprof-collect all but --coord tcp: ${np_why}")
endif()

# Analysis on several processes, and launchers that are MPI processes: what npuprof and npuprof-collect load
# when a launcher has started them. Beside the program, where it looks first.
foreach(family ${np_mpis})
  add_library(npuprof_mpi-${family} MODULE core/mpi/procs_mpi.c core/mpi/mpi_library.c
    collect/launch/coord/coord_mpi.c collect/launch/coord/event.c core/base/err.c core/base/buf.c core/base/vec.c)
  target_link_libraries(npuprof_mpi-${family} PRIVATE np_flags np_mpi_${family})
  set_target_properties(npuprof_mpi-${family} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  add_dependencies(npuprof npuprof_mpi-${family})
  install(TARGETS npuprof_mpi-${family} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
