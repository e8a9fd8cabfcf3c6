# Analysis on several processes: the communicator over MPI is a library that npuprof loads
# when mpirun has started it. Without MPI the rest is built all the same.
find_package(MPI COMPONENTS C)
if(MPI_C_FOUND)
  add_library(npuprof_mpi MODULE core/mpi/procs_mpi.c core/base/err.c)
  target_link_libraries(npuprof_mpi PRIVATE np_flags MPI::MPI_C)
  # Beside the program, where it looks first.
  set_target_properties(npuprof_mpi PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  add_dependencies(npuprof npuprof_mpi)
  install(TARGETS npuprof_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
else()
  message(STATUS "Open MPI was not found: mpirun npuprof is not supported")
endif()
