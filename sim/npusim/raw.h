/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NPUSIM_RAW_H
#define NPUSIM_RAW_H

/*
 * The raw records of the simulator
 * ================================
 *
 * What aclprofStart…aclprofStop of the stand-in libraries leave on disk, and what
 * the stand-in `msprof` turns into databases. CANN's own msprof cannot read it.
 *
 * Directories
 * -----------
 *
 *	PROF_<start index, 6 digits>_<local time, YYYYmmddHHMMSSmmm>_<pid, 8 digits><8 letters
 *A..R>/ host/      info.json  start_info  end_info  host_start.log  sample.json
 *	             data/npusim.host.slice_0  data/npusim.host.slice_0.done
 *	  device_N/  info.json.N  start_info.N  end_info.N  host_start.log.N  dev_start.log.N
 *sample.json data/npusim.data.N.slice_0  data/npusim.data.N.slice_0.done
 *
 * N is the physical device id. There is a device_N for every device of the
 * configuration; none when only mstx was asked for (no devices). Everything but
 * end_info* and *.done exists as soon as aclprofStart has returned 0; these two
 * are written by a stop that lost nothing, so that their absence means a cut
 * collection (killed, disk full). Files have mode 0640.
 *
 *	info.json[.N]
 *{"version","jobInfo","OS","hostname","hostUid","hwtype","devices":"N","platform",
 *	                  "platform_version","pid","pid_name","rank_id": number, -1 when unknown
 *(from RANK_ID alone),"cannVersion","drvVersion","simulated":true,"DeviceInfo":[{"id":N}]} hostname
 *and hostUid are the simulated host's (NPUSIM_HOST_OF) if there is one. start_info[.N]
 *{"collectionDateBegin","collectionDateEnd":"","collectionTimeBegin": "<µs>",
 *	                  "collectionTimeEnd":"","clockMonotonicRaw":"<ns>"}, all strings
 *	end_info[.N]     the same keys, with the end filled in and the beginning empty
 *	sample.json      {"npusim_mask": "<decimal effective mask>","aic_metrics": <number>,
 *"storage_limit": …}
 *	*.done           "filesize:<bytes of the slice>\n"
 *
 * Slices
 * ------
 *
 * UTF-8 text, one record per line, fields separated by single tabs, lines ended by
 * \n. The first field is the kind of record. Kinds and trailing fields may be
 * added without a new version: a reader skips unknown kinds and ignores fields
 * beyond those it knows. A last line without \n was cut and is to be ignored.
 *
 * In text fields \t, \n, \r and \\ stand for tab, line end, carriage return and
 * backslash. A field that is just "-" was not recorded, because the mask did not
 * allow it; it is never zero ("\-" is a text of one hyphen). An empty field is an
 * empty text.
 *
 * Times are nanoseconds since 1970 on the clock of the simulated host, skew
 * included: they go into a database as they are. "realtime" below is that clock.
 * Records are in no particular order of time.
 *
 * The first line of every slice:
 *
 *	NPUSIM  <version = 1>  host|device  <device id, or -1 in the host's slice>
 *
 * Then in every slice, once each:
 *
 *	SESSION  <start ns>  <effective mask, decimal>  <aicore metric, 255 none>  <rank, -1
 *unknown> <device id or -1>  <pid>  <host name>  <host uid, decimal>  <soc name> END      <stop ns>
 *last line of a collection that ended well
 *
 * Host slice:
 *
 *	API      <start> <end> <type> <tid> <connection> <name>
 *	         type: 20000 acl, 10000 node, 5500 communication (all need ACL_API), 5000 runtime
 *(RUNTIME_API). Connections are unique. Calls nest: acl around node around runtime. MSTX <start>
 *<end> <event type> <range id> <category> <tid> <end tid> <domain> <connection> <message> event
 *type: 0 marker, 1 push/pop, 2 start/end, 3 marker_ex; a marker has start = end. connection
 *4000000000: no device part; else that of one or two TASK lines, the markers. GROUP    <time>
 *<communicator name> <rank size> <own rank in it> <world rank of each member, commas; - unknown>
 *	         one for each communicator that was created before the end, whatever the mask.
 *	HOSTMEM  <time> <bytes allocated by aclrtMallocHost in total>       (TASK_MEMORY)
 *
 * Device slice; <task> is an id unique in the directory, for joining lines (globalTaskId):
 *
 *	TASK     <task> <start> <end> <stream> <task id> <connection, 4294967295 none> <task type>
 *<context id> <model id> task types as in real databases: KERNEL_AICORE, KERNEL_AIVEC, MIX_AIC,
 *MEMCPY_ASYNC, EVENT_RECORD, EVENT_WAIT, Notify Wait, Write Value, SDMA, STARS_COMMON (a marker).
 *	         connection is that of the node (type 10000) or communication (5500) call that
 *launched it; 4294967295 is also used for context id and model id. KERNEL   <task> <name> <op type>
 *<core> <block num> <mix block num> <input shapes> <input data types> <input formats> <output
 *shapes> <output data types> <output formats> <op state> <hf32> <attributes> core: AI_CORE,
 *AI_VECTOR_CORE, MIX_AIC, …. Shapes are "4096,1024;1024,1024", without quotes; types and formats
 *have one entry per shape, separated by ';'. With TASK_TIME_L0 alone op type, core and all that
 *follows the block numbers is "-" (shapes, types and formats are there with AICORE_SHAPE);
 *	         attributes need OP_ATTR.
 *	PMU      <task> <name> <value, decimal fraction>      one per counter (AICORE_METRICS and a
 *metric) COMM     <op id> <start> <end> <connection> <group> <op name> <op type> <count> <data
 *type> <algorithm> <rank size> <relay> <retry> op name "hcom_allReduce__428_0_1", op type
 *"hcom_allReduce_"; data type as HcclDataType, count in elements. At L0 (no HCCL_TRACE and no L1)
 *op type, count, data type and algorithm are "-". COMMTASK <task> <op id> <name> <plane> <notify
 *id> <rdma type> <source rank> <destination rank> <transport> <bytes> <data type> <link> <is
 *master> <bandwidth in bytes/s, decimal fraction> one for each sub-task of an operator; its TASK
 *line has the times. name: Notify_Wait, Notify_Record, Memcpy, Reduce_Inline, RDMASend. Ranks are
 *those of the communicator, 4294967295 none. rdma type, transport, link, data type as the enums of
 *the databases (65534 N/A, 65535 invalid). Without HCCL_TRACE everything after <op id> is "-".
 *	MEMCPY   <task> <bytes> <operation 0..3>              (RUNTIME_API)
 *	FREQ     <time> <MHz> <die>                           AI core frequency, at start and
 *whenever it changes MEM      <time> <bytes of device memory in use> <bytes in total>
 *(SYS_HARDWARE_MEM_FREQ set) MODMEM   <time> <module id> <bytes reserved> (SYS_HARDWARE_MEM_FREQ
 *set) module 33 APP, 3 HCCL OPMEM    <time> <tid> <name> <address> <signed bytes: + allocated, -
 *freed> <total allocated> <total reserved> (TASK_MEMORY)
 *
 * Collection by command
 * ---------------------
 *
 * A process that finds PROFILER_SAMPLECONFIG in its environment is in command
 * mode: aclprof* answers 100042. If the value is JSON text with "result_dir" (and
 * optionally "npusim_mask", decimal text; default Level1 = 39), the whole run from
 * the first aclrtSetDevice to aclFinalize is collected into that directory.
 */

#define NPUSIM_RAW_VERSION  1
#define NPUSIM_NO_ID        UINT32_MAX  /* "none" for contexts, models, ranks, connections */
#define NPUSIM_MSTX_NO_CONN 4000000000U /* an mstx event without device part */
#define NPUSIM_ENUM_NONE    65534       /* N/A in transport, link, data and rdma types */
#define NPUSIM_HOST_SLICE   "npusim.host.slice_0"
#define NPUSIM_DEVICE_SLICE "npusim.data.%d.slice_0"
#define NPUSIM_DEFAULT_MASK 0x27
#define NPUSIM_UNSET        "-" /* a field the mask did not allow */

/* The types of API lines, and of CANN_API. */
enum npusim_api_type {
	NPUSIM_API_ACL = 20000,
	NPUSIM_API_NODE = 10000,
	NPUSIM_API_COMM = 5500,
	NPUSIM_API_RUNTIME = 5000,
};

#endif /* NPUSIM_RAW_H */
