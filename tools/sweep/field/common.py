# SPDX-License-Identifier: Apache-2.0
"""The directory of a rank and the small files in it that all forms share."""

import json
import os

ENVIRONMENT = {
    "ASCEND_GLOBAL_LOG_LEVEL": "3", "HCCL_RDMA_TC": "", "HCCL_RDMA_SL": "", "ACLNN_CACHE_LIMIT": "",
    "HOST_CACHE_CAPACITY": "", "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True", "ASCEND_LAUNCH_BLOCKING": "",
    "HCCL_ALGO": "",
}


def metadata(capture):
    """What profiler_metadata.json and META_DATA say of the job."""
    layout = capture.layout
    groups = {
        group.name: {
            "group_name": group.role, "group_rank": group.local(capture.rank), "global_ranks": list(group.members),
        }
        for group in layout.groups.values() if capture.rank in group.members
    }
    return {
        "distributed_args": {
            "tensor_model_parallel_size": layout.tp, "pipeline_model_parallel_size": layout.pp,
            "data_parallel_size": layout.dp // layout.cp, "context_parallel_size": layout.cp,
            "expert_model_parallel_size": layout.ep, "sequence_parallel": False, "rank": capture.rank,
            "world_size": layout.world,
        },
        "ENV_VARIABLES": ENVIRONMENT,
        "parallel_group_info": groups,
    }


def _profiler_info(capture, form):
    return {
        "config": {
            "common_config": {
                "activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"],
                "schedule": {
                    "wait": 0, "active": len(capture.steps), "warmup": 1, "repeat": 1,
                    "skip_first": capture.steps[0][0] - 1,
                },
                "record_shapes": False, "profile_memory": False, "with_stack": False, "with_flops": False,
                "with_modules": False,
            },
            "experimental_config": {
                "_profiler_level": "Level1", "_aic_metrics": "ACL_AICORE_NONE", "_l2_cache": False, "_msprof_tx": False,
                "_mstx": False,
                "_data_simplification": True, "record_op_args": False, "_export_type": [form], "_op_attr": False,
                "_gc_detect_threshold": 1.0 if capture.gc_recorded else None,
            },
        },
        "start_info": {
            "syscnt_enable": True, "freq": 100, "start_cnt": 470002538790308, "start_monotonic": 4699801002845430,
        },
        "end_info": {"collectionTimeEnd": capture.steps[-1][2] + 3_000_000, "MonotonicTimeEnd": 4699802061975030},
        "torch_npu_version": "2.7.1", "cann_version": "8.3.RC1", "rank_id": str(capture.rank),
    }


def make_directory(root, capture, form):
    """The output directory of the rank, with its small files beside it."""
    time = f"202511271234{37 + capture.rank % 20:02d}{101 + capture.rank:03d}"
    where = os.path.join(root, f"node-{capture.host + 11}_{capture.pid}_{time}_ascend_pt")
    output = os.path.join(where, "ASCEND_PROFILER_OUTPUT")
    os.makedirs(output)
    with open(os.path.join(where, f"profiler_info_{capture.rank}.json"), "w", encoding="utf-8") as file:
        json.dump(_profiler_info(capture, form), file, indent=4)
    with open(os.path.join(where, "profiler_metadata.json"), "w", encoding="utf-8") as file:
        json.dump(metadata(capture), file)
    return output
