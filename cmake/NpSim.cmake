# The stand-in AscendCL: one library behind four that have the names of CANN's, all
# in <build>/npusim, to be put into LD_LIBRARY_PATH; and the demo training job.
if(NOT DEFINED BUILD_TESTING OR BUILD_TESTING)
  set(np_sim_clock ON)
else()
  set(np_sim_clock OFF)
endif()
option(NP_SIM_CLOCK "Let NPUSIM_HOST_OF and NPUSIM_CLOCK_SKEW change the clock (tests, demos)" ${np_sim_clock})
if(NP_SIM_CLOCK)
  target_compile_definitions(npbase PRIVATE NP_SIM_CLOCK)
endif()

set(npusim_dir ${PROJECT_BINARY_DIR}/npusim)

# npusim_library(<file name without lib> <sources as a pattern> <libraries>...)
function(npusim_library name pattern)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sim/npusim/${pattern})
  add_library(${name} SHARED ${sources})
  target_link_libraries(${name} PRIVATE np_flags ${ARGN})
  # The libraries find each other, and need all that they name: dlsym on one of them
  # is expected to find what the others export.
  target_link_options(${name} PRIVATE -Wl,--no-as-needed -Wl,-z,defs)
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${npusim_dir}
    BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
endfunction()

npusim_library(npusim nsim_*.c npbase Threads::Threads)
npusim_library(msprofiler prof_*.c npusim npbase)
npusim_library(ascendcl acl_*.c msprofiler npusim Threads::Threads)
# Before the GNU library 2.34 shared memory is in librt.
npusim_library(hccl hccl_*.c ascendcl npusim npbase rt)
npusim_library(ms_tools_ext mstx.c npusim Threads::Threads ${CMAKE_DL_LIBS})
set(npusim_libraries npusim msprofiler ascendcl hccl ms_tools_ext)
# -z defs and the sanitizers of clang exclude each other.
if(NP_SANITIZE)
  foreach(name ${npusim_libraries})
    target_link_options(${name} PRIVATE -Wl,-z,undefs)
  endforeach()
endif()

# npu-train-demo, and its twin that calls MPI_Init where there is an MPI.
file(GLOB train_sources CONFIGURE_DEPENDS sim/train/*.c sim/torch/*.c)
list(FILTER train_sources EXCLUDE REGEX "/mpi_[a-z]+\\.c$")
add_library(nptrain OBJECT ${train_sources})
target_link_libraries(nptrain PRIVATE np_flags)
function(npusim_demo name)
  add_executable(${name} ${ARGN} $<TARGET_OBJECTS:nptrain>)
  target_link_libraries(${name} PRIVATE npformat ascendcl msprofiler npusim hccl ms_tools_ext rt)
endfunction()
npusim_demo(npu-train-demo sim/train/mpi_no.c)
if(TARGET np_mpi_openmpi)
  npusim_demo(npu-train-demo-mpi sim/train/mpi_yes.c)
  target_link_libraries(npu-train-demo-mpi PRIVATE np_mpi_openmpi)
endif()
if(TARGET np_mpi_mpich)
  npusim_demo(npu-train-demo-mpich sim/train/mpi_yes.c)
  target_link_libraries(npu-train-demo-mpich PRIVATE np_mpi_mpich)
endif()
