# SPDX-License-Identifier: Apache-2.0
"""A second generator of cluster profiles: test equipment of the sweeps.

It shares no code, schedule or noise model with npuprof-synth. A job is laid out (layout), its ranks get a
program for their hosts (schedule, program), faults change the program (faults), a discrete-event
simulation finds when everything happens (engine), and the result is recorded as the profiler would
have seen it (capture) and written as torch_npu writes it (dbform, textform). What is true of the run is known
(truth): the same draws are simulated again without the fault. Cases name the recipes, judge compares.
"""
