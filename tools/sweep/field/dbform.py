# SPDX-License-Identifier: Apache-2.0
"""Profiles as databases: ascend_pytorch_profiler_<rank>.db and analysis.db, schema 1.0.0 of torch_npu."""

import json
import os
import sqlite3

from . import vendor
from .capture import NONE
from .common import make_directory, metadata
from .engine import KERNEL, MEMCPY

TABLES = """
CREATE TABLE NPU_INFO (id INTEGER,name TEXT);
CREATE TABLE SESSION_TIME_INFO (startTimeNs INTEGER,endTimeNs INTEGER);
CREATE TABLE HOST_INFO (hostUid TEXT,hostName TEXT);
CREATE TABLE ENUM_HCCL_RDMA_TYPE (id INTEGER PRIMARY KEY,name TEXT);
CREATE TABLE ENUM_HCCL_LINK_TYPE (id INTEGER PRIMARY KEY,name TEXT);
CREATE TABLE ENUM_HCCL_TRANSPORT_TYPE (id INTEGER PRIMARY KEY,name TEXT);
CREATE TABLE ENUM_HCCL_DATA_TYPE (id INTEGER PRIMARY KEY,name TEXT);
CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY,name TEXT);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER,globalTaskId INTEGER PRIMARY KEY,blockDim INTEGER,mixBlockDim INTEGER,taskType INTEGER,opType INTEGER,inputFormats INTEGER,inputDataTypes INTEGER,inputShapes INTEGER,outputFormats INTEGER,outputDataTypes INTEGER,outputShapes INTEGER,attrInfo INTEGER);
CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER,globalTaskId INTEGER,taskType INTEGER,planeId INTEGER,groupName INTEGER,notifyId INTEGER,rdmaType INTEGER,srcRank INTEGER,dstRank INTEGER,transportType INTEGER,size INTEGER,dataType INTEGER,linkType INTEGER,opId INTEGER);
CREATE TABLE COMMUNICATION_OP (opName INTEGER,startNs INTEGER,endNs INTEGER,connectionId INTEGER,groupName INTEGER,opId INTEGER PRIMARY KEY,relay INTEGER,retry INTEGER,dataType INTEGER,algType INTEGER,count NUMERIC,opType INTEGER);
CREATE TABLE TASK (startNs INTEGER,endNs INTEGER,deviceId INTEGER,connectionId INTEGER,globalTaskId INTEGER,globalPid INTEGER,taskType INTEGER,contextId INTEGER,streamId INTEGER,taskId INTEGER,modelId INTEGER);
CREATE TABLE CANN_API (startNs INTEGER,endNs INTEGER,type INTEGER,globalTid INTEGER,connectionId INTEGER PRIMARY KEY,name INTEGER);
CREATE TABLE AICORE_FREQ (deviceId INTEGER,timestampNs NUMERIC,freq INTEGER);
CREATE TABLE META_DATA (name TEXT,value TEXT);
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY,value TEXT);
CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);
CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);
CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER, sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER, callchainId INTEGER, type INTEGER);
CREATE TABLE CONNECTION_IDS (id INTEGER, connectionId INTEGER);
CREATE INDEX TaskIndex ON TASK (startNs,globalTaskId);
CREATE INDEX CommunicationTaskIndex ON COMMUNICATION_TASK_INFO (globalTaskId);
"""
GC_TABLE = "CREATE TABLE GC_RECORD (startNs INTEGER, endNs INTEGER, globalTid INTEGER)"
ANALYSIS = """
CREATE TABLE StepTraceTime (deviceId INTEGER, step TEXT, computing NUMERIC, communication_not_overlapped NUMERIC, overlapped NUMERIC, communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC, communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC);
CREATE TABLE CommAnalyzerBandwidth (hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, count NUMERIC, total_duration NUMERIC, step TEXT, type TEXT);
CREATE TABLE CommAnalyzerMatrix (hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT, op_name TEXT);
CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, step TEXT, type TEXT);
"""
ENUMS = {
    "ENUM_HCCL_RDMA_TYPE": {
        0: "RDMA_SEND_NOTIFY", 1: "RDMA_SEND_PAYLOAD", 2: "RDMA_PAYLOAD_PREPARE", 3: "RDMA_PAYLOAD_CHECK",
        4: "RDMA_PAYLOAD_ACK", 5: "RDMA_SEND_OP", 65534: "N/A", 65535: "INVALID_TYPE",
    },
    "ENUM_HCCL_LINK_TYPE": {
        0: "ON_CHIP", 1: "HCCS", 2: "PCIE", 3: "ROCE", 4: "SIO", 5: "HCCS_SW", 6: "STANDARD_ROCE", 7: "RESERVED",
        65534: "N/A", 65535: "INVALID_TYPE",
    },
    "ENUM_HCCL_TRANSPORT_TYPE": {0: "SDMA", 1: "RDMA", 2: "LOCAL", 65534: "N/A", 65535: "INVALID_TYPE"},
    "ENUM_HCCL_DATA_TYPE": {
        0: "INT8", 1: "INT16", 2: "INT32", 3: "FP16", 4: "FP32", 5: "INT64", 6: "UINT64", 7: "UINT8", 8: "UINT16",
        9: "UINT32", 10: "FP64", 11: "BFP16", 12: "INT128", 65534: "N/A", 65535: "INVALID_TYPE",
    },
    "ENUM_API_TYPE": {
        5000: "runtime", 5500: "hccl", 10000: "node", 15000: "model", 20000: "acl", 50001: "op", 50002: "queue",
        50003: "trace", 50004: "mstx",
    },
}
TASK_TYPES = {
    "AI_CORE": "KERNEL_AICORE", "AI_VECTOR_CORE": "KERNEL_AIVEC", "MIX_AIC": "MIX_AIC", "MIX_AIV": "MIX_AIV",
    "DSA_SQE": "STARS_COMMON",
}
SMALL_TASK_TYPES = {
    "Notify_Wait": "Notify Wait", "Notify_Record": "Write Value", "Memcpy": "SDMA", "Reduce_Inline": "SDMA",
}
FRAMEWORK_STRINGS = 1 << 28


class _Strings:
    """STRING_IDS: strings of the framework have ids of their own and may repeat those of CANN."""

    def __init__(self):
        self.ids = ({}, {})

    def cann(self, text):
        return self.ids[0].setdefault(text, len(self.ids[0]))

    def framework(self, text):
        return self.ids[1].setdefault(text, FRAMEWORK_STRINGS + len(self.ids[1]))

    def rows(self):
        return [(number, text) for ids in self.ids for text, number in ids.items()]


class _Rows:
    """Rows of the tables of one rank."""

    def __init__(self, capture):
        self.capture, self.strings = capture, _Strings()
        self.tables = {
            name: []
            for name in (
                "TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_TASK_INFO", "COMMUNICATION_OP", "CANN_API", "PYTORCH_API",
                "CONNECTION_IDS",
            )
        }
        self.tasks = 0
        self.python = capture.pid << 32 | capture.pid
        self.queue = capture.pid << 32 | capture.pid + 41
        self.prefetch = capture.pid << 32 | capture.pid + 57

    def build(self):
        for row in self.capture.rows:
            self._host(row)
            if row.group is not None:
                self._communication(row)
            else:
                self._kernel(row)
        for row in self.capture.events:
            call = "aclrtStreamWaitEvent" if row.type == "EVENT_WAIT" else "aclrtRecordEvent"
            self.tables["CANN_API"].append(
                (row.launch, row.launched, 20000, self.queue, row.connection, self.strings.cann(call))
            )
            self._task(row.start, row.end, row, row.type)
        connection = 1200 + 3 * len(self.capture.rows + self.capture.events) + 10
        for start, end, name in self.capture.host_events:
            if name.startswith("aclrt"):
                self.tables["CANN_API"].append((start, end, 20000, self.python, connection, self.strings.cann(name)))
                connection += 1
            else:
                self._python(start, end, None, name, 50001)
        return self

    def _task(self, start, end, row, kind, context=NONE):
        number = self.tasks
        self.tasks += 1
        self.tables["TASK"].append(
            (
                start, end, self.capture.device, row.connection, number, self.capture.pid, self.strings.cann(kind),
                context, row.stream, row.task_id & 0xFFFF, NONE,
            )
        )
        return number

    def _python(self, start, end, link, name, kind):
        self.tables["PYTORCH_API"].append(
            (str(start), str(end), self.python, link, self.strings.framework(name), None, None, None, None, None, kind)
        )

    def _host(self, row):
        tid = self.prefetch if row.side_thread else self.queue
        link = row.connection - 1200
        name = row.host_name
        acl = row.type if row.group is not None else "aclrtMemcpyAsync" if row.kind == MEMCPY else f"aclnn{row.type}"
        if row.kind == MEMCPY:
            self.tables["CANN_API"].append(
                (row.launch, row.launched, 20000, tid, row.connection, self.strings.cann(acl))
            )
        else:
            self.tables["CANN_API"].append(
                (row.launch, row.launched, 20000, tid, row.connection + 1, self.strings.cann(acl))
            )
            inner = row.launch if row.group is not None else row.launch + (row.launched - row.launch) // 3
            self.tables["CANN_API"].append(
                (inner, row.launched, 10000, tid, row.connection, self.strings.cann("launch"))
            )
        middle = max(row.host_start, row.launch - 3000)
        self._python(row.host_start, row.launch, link, name, 50001)
        self._python(middle, row.launch, None, "Enqueue", 50002)
        self.tables["CONNECTION_IDS"].append((link, row.connection))

    def _kernel(self, row):
        strings = self.strings
        if row.kind != KERNEL:
            self._task(row.start, row.end, row, "MEMCPY_ASYNC")
            return
        number = self._task(row.start, row.end, row, TASK_TYPES[row.core])
        nd, kind, shape = strings.cann("ND;ND"), strings.cann("DT_BF16;DT_BF16"), strings.cann('"4096,1024;1024,4096"')
        self.tables["COMPUTE_TASK_INFO"].append(
            (
                strings.cann(row.name), number, 20 if row.core == "AI_CORE" else 40, 0, strings.cann(row.core),
                strings.cann(row.type), nd, kind, shape, nd, kind, shape, strings.cann(""),
            )
        )

    def _communication(self, row):
        strings, op = self.strings, len(self.tables["COMMUNICATION_OP"]) + 1
        name, group = strings.cann(row.name), strings.cann(row.group.name)
        self.tables["COMMUNICATION_OP"].append(
            (
                name, row.start, row.end, row.connection, group, op, 0, 0, 11, strings.cann("MESH"), row.size // 2,
                strings.cann(row.type),
            )
        )
        self._task(row.start, row.end, row, "AI_CORE")  # the bundle of small tasks, without compute information
        for context, task in enumerate(row.tasks):
            number = self._task(task.start, task.end, row, SMALL_TASK_TYPES[task.kind], context)
            waits = task.kind == "Notify_Wait"
            notify = 4 * (task.dst + 10) if waits else 0 if task.kind == "Reduce_Inline" else (1 << 63) - 1
            self.tables["COMMUNICATION_TASK_INFO"].append(
                (
                    name, number, strings.cann(task.kind), task.plane, group, notify, 65535, task.src, task.dst,
                    2 if waits else 0, task.size, 11 if task.kind == "Reduce_Inline" else 65535, task.link, op,
                )
            )


def _fill(db, table, rows):
    if rows:
        db.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)


def _open(path):
    db = sqlite3.connect(path)
    db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;")
    return db


def write_analysis(path, capture):
    """analysis.db: what torch_npu derives."""
    db = _open(path)
    db.executescript(ANALYSIS)
    _fill(db, "StepTraceTime", [(capture.device,) + row for row in vendor.step_times_db(capture)])
    times, rates, links = [], [], []
    for step, kinds in vendor.communication(capture).items():
        for kind, ops in kinds.items():
            for key, op in ops.items():
                if key == "Total Op Info":
                    continue
                name, group = key.split("@")
                info = op["Communication Time Info"]
                times.append(
                    (name, group) + tuple(
                        info[f"{each}"]
                        for each in (
                            "Start Timestamp(us)", "Elapse Time(ms)", "Transit Time(ms)", "Wait Time(ms)",
                            "Synchronization Time(ms)", "Idle Time(ms)",
                        )
                    ) + (step, kind)
                )
                for transport, rate in op["Communication Bandwidth Info"].items():
                    head = (name, group, transport) + tuple(
                        rate[each]
                        for each in ("Transit Size(MB)", "Transit Time(ms)", "Bandwidth(GB/s)", "Large Packet Ratio")
                    )
                    if transport == "SDMA" and rate["Transit Size(MB)"]:
                        rates.append(head + (0, 0, 0, step, kind))
                    for size, (count, dur) in rate["Size Distribution"].items():
                        rates.append(head + (float(size), count, dur, step, kind))
    for step, kinds in vendor.matrix(capture).items():
        for kind, ops in kinds.items():
            for key, pairs in ops.items():
                name, group = key.split("@")
                for pair, each in pairs.items():
                    src, dst = pair.split("-")
                    links.append(
                        (
                            name, group, src, dst, each["Transport Type"], each["Transit Size(MB)"],
                            each["Transit Time(ms)"], each["Bandwidth(GB/s)"], step, kind, each.get("Op Name", ""),
                        )
                    )
    _fill(db, "CommAnalyzerTime", times)
    _fill(db, "CommAnalyzerBandwidth", rates)
    _fill(db, "CommAnalyzerMatrix", links)
    db.commit()
    db.close()


def write(root, capture, keep=None):
    """The rank's directory. keep: a function that leaves some rows of the table of kernels."""
    output = make_directory(root, capture, "db")
    db = _open(os.path.join(output, f"ascend_pytorch_profiler_{capture.rank}.db"))
    db.executescript(TABLES)
    built = _Rows(capture).build()
    if keep:
        kept = keep(built.tables["COMPUTE_TASK_INFO"])
        lost = {row[1] for row in built.tables["COMPUTE_TASK_INFO"]} - {row[1] for row in kept}
        built.tables["COMPUTE_TASK_INFO"] = kept
        built.tables["TASK"] = [row for row in built.tables["TASK"] if row[4] not in lost]
    for table, rows in built.tables.items():
        _fill(db, table, rows)
    for table, values in ENUMS.items():
        _fill(db, table, list(values.items()))
    first, last = capture.steps[0][1] - 2_000_000, capture.steps[-1][2] + 2_000_000
    _fill(db, "STRING_IDS", built.strings.rows())
    _fill(db, "NPU_INFO", [(capture.device, "Ascend910B")])
    _fill(db, "SESSION_TIME_INFO", [(first, last)])
    _fill(db, "HOST_INFO", [(str(3538958389648580163 + capture.host), f"node-{capture.host + 11}")])
    _fill(db, "AICORE_FREQ", [(capture.device, first, 1800), (capture.device, last, 1800)])
    _fill(db, "RANK_DEVICE_MAP", [(capture.rank, capture.device)])
    _fill(db, "STEP_TIME", capture.steps)
    _fill(
        db, "META_DATA",
        [
            ("SCHEMA_VERSION_MICRO", "0"), ("SCHEMA_VERSION_MINOR", "0"), ("SCHEMA_VERSION_MAJOR", "1"),
            ("SCHEMA_VERSION", "1.0.0"),
        ] + [(key, json.dumps(value)) for key, value in metadata(capture).items()],
    )
    if capture.gc_recorded:
        db.execute(GC_TABLE)
        _fill(db, "GC_RECORD", [(start, end, built.python) for start, end in capture.pauses])
    db.commit()
    db.close()
    write_analysis(os.path.join(output, "analysis.db"), capture)
