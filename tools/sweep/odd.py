#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Odd but usable directories: every one must be read by every command, or refused in one clear line.

	tools/sweep/odd.py [-b BUILD] [-w DIR] [-k] [CASE...]

A case makes a directory out of generated runs, and says how many ranks can be read from it, with
which exit statuses, and whether computing adds up to what the runs hold. Prints what deviates.
"""
import argparse
import glob
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

CASES = []
OUTPUT = 'ASCEND_PROFILER_OUTPUT'
SMALL = ['--ranks', '4', '--steps', '3', '--layers', '2', '--kernels-per-layer', '3']


class Case:
    def __init__(self, build, ranks, status, whole, given):
        self.name = build.__name__
        self.build, self.ranks, self.status, self.whole, self.given = build, ranks, status, whole, given


def case(ranks=4, status=(0,), whole=True, given='.'):
    """ranks that are used, statuses that are right, whether all of computing is there, what is given."""
    def add(build):
        CASES.append(Case(build, ranks, status, whole, given))
        return build
    return add


RUNS = {
    'db': [],
    'text': ['--format', 'text'],
    'gz': ['--format', 'text', '--gzip'],
    'both': ['--format', 'both'],
    'new': ['--schema', '1.2'],
    'l0': ['--level', '0'],
    'l0text': ['--level', '0', '--format', 'text'],
    'msprof': ['--format', 'msprof-db'],
    'mstext': ['--format', 'msprof-text'],
    'slices': ['--format', 'msprof-text', '--slices', '3'],
    'noid': ['--format', 'msprof-db', '--no-rank-id'],
    'monitor': ['--format', 'msmonitor'],
    'ms': ['--format', 'mindspore-db'],
    'mstextual': ['--format', 'mindspore-text'],
    'nosteps': ['--no-steps'],
    'noanalysis': ['--no-analysis'],
    'memory': ['--memory', '--format', 'text'],
    'manifest': ['--manifest'],
    'lines': ['--format', 'msmonitor-jsonl'],
    'ccu': ['--engine', 'ccu'],
    'dpu': ['--engine', 'dpu', '--schema', '1.2'],
    'files': ['--layout', 'files', '--format', 'text'],
    'outputs': ['--layout', 'outputs', '--format', 'both'],
    'vllm': ['--layout', 'vllm', '--format', 'text', '--no-steps', '--tp', '2'],
    'flat': ['--layout', 'flat'],
    'lone': ['--layout', 'outputs', '--format', 'msprof-text'],
}


def run_dir(kind):
    path = os.path.join(ARGS.work, 'runs', kind)
    if not os.path.isdir(path):
        subprocess.run([os.path.join(ARGS.build, 'npuprof-synth'), '-q', '-o', path, *SMALL, *RUNS[kind]], check=True)
    return path


def captures(kind):
    """The directories of a run by rank."""
    found = sorted(glob.glob(run_dir(kind) + '/*_ascend_*'))
    if not found:
        found = sorted(glob.glob(run_dir(kind) + '/PROF_*'), key=lambda path: path.split('_')[-2])
    return found


def outputs(kind):
    return [os.path.join(each, OUTPUT) for each in captures(kind)]


def copy(source, to):
    os.makedirs(os.path.dirname(to) or '.', exist_ok=True)
    shutil.copytree(source, to, symlinks=True)


def copy_run(kind, to, day='20250109'):
    for each in captures(kind):
        copy(each, os.path.join(to, os.path.basename(each).replace('20250109', day)))


def edit(path, change):
    with open(path, encoding='utf-8', newline='') as file:
        text = file.read()
    with open(path, 'w', encoding='utf-8', newline='') as file:
        file.write(change(text))


def every(pattern, change):
    found = glob.glob(pattern, recursive=True)
    assert found, pattern
    for path in found:
        change(path)


def sql(path, *statements):
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)
    db.close()


def rank_dbs(top):
    return sorted(glob.glob(top + '/**/ascend_*_profiler_*.db', recursive=True))


# --- directories ------------------------------------------------------------------------------------

@case()
def plain_db(to):
    copy_run('db', to)


@case()
def plain_text(to):
    copy_run('text', to)


@case()
def spaces_in_names(to):
    for rank, each in enumerate(captures('db')):
        copy(each, f'{to}/my run/node 1/rank {rank} _ascend_pt')


@case()
def unicode_names(to):
    for rank, each in enumerate(captures('text')):
        copy(each, f'{to}/实验 α/größe{rank}_ascend_pt')


@case()
def quotes_and_newlines(to):
    for rank, each in enumerate(captures('db')):
        copy(each, f"{to}/it's \"x\"\n/-rf {rank};&_ascend_pt")


@case()
def nine_levels_deep(to):
    copy_run('db', to + '/a/b/c/d/e/f/g/h')


@case(ranks=0, status=(1,))
def twenty_levels_deep(to):
    copy_run('db', to + '/x' * 20)


@case()
def symlinked_ranks(to):
    copy_run('db', to + '-elsewhere')
    os.makedirs(to)
    for rank, each in enumerate(sorted(glob.glob(to + '-elsewhere/*'))):
        os.symlink(os.path.abspath(each), f'{to}/rank{rank}')


@case()
def symlinked_files(to):
    for rank, each in enumerate(rank_dbs(run_dir('db'))):
        os.makedirs(to, exist_ok=True)
        os.symlink(os.path.abspath(each), f'{to}/{os.path.basename(each)}')


@case()
def dangling_link_beside(to):
    copy_run('db', to)
    os.symlink('/nowhere/at/all', to + '/latest')


@case(status=(3,))
def dangling_rank(to):
    copy_run('db', to)
    os.symlink('/nowhere/at/all', to + '/ascend_pytorch_profiler_9.db')


@case()
def symlink_loop(to):
    copy_run('db', to)
    os.symlink('.', to + '/self')


@case()
def read_only(to):
    copy_run('db', to)
    for top, dirs, files in os.walk(to):
        for name in files:
            os.chmod(os.path.join(top, name), 0o444)
        os.chmod(top, 0o555)


@case()
def empty_directories_beside(to):
    copy_run('db', to)
    for name in ('logs', 'empty', 'checkpoints/iter_1', 'x_ascend_pt.bak/y', 'tensorboard'):
        os.makedirs(f'{to}/{name}')


@case()
def other_files_beside(to):
    copy_run('db', to)
    open(to + '/train.log', 'w').write('x' * 1000)
    open(to + '/config.json', 'w').write('{}')
    open(to + '/results.csv', 'w').write('a,b\n1,2\n')
    sql(to + '/optuna.db', 'CREATE TABLE trials (id INTEGER)')
    open(to + '/model.safetensors', 'wb').write(b'\0' * 100)


@case(status=(0, 3))
def unanalysed_rank_beside(to):
    copy_run('db', to)
    os.makedirs(to + '/host9_1_20250109081616009_ascend_pt/FRAMEWORK')
    open(to + '/host9_1_20250109081616009_ascend_pt/profiler_info_9.json', 'w').write('{"rank_id": 9}')


@case()
def flat_dbs(to):
    os.makedirs(to)
    for each in rank_dbs(run_dir('db')):
        shutil.copy(each, to)


@case(status=(3,))
def flat_dbs_with_analysis_beside(to):
    flat_dbs(to)
    shutil.copy(outputs('db')[0] + '/analysis.db', to)


@case()
def user_named_dbs(to):
    os.makedirs(to)
    for rank, each in enumerate(rank_dbs(run_dir('db'))):
        shutil.copy(each, f'{to}/prof-{rank}.db')


@case()
def upper_case_suffix(to):
    os.makedirs(to)
    for rank, each in enumerate(rank_dbs(run_dir('db'))):
        shutil.copy(each, f'{to}/ASCEND_PYTORCH_PROFILER_{rank}.DB')


@case(status=(0, 3))
def lower_case_output(to):
    for rank, each in enumerate(outputs('text')):
        copy(each, f'{to}/rank{rank}/ascend_profiler_output')


@case()
def output_contents_only(to):
    for rank, each in enumerate(outputs('text')):
        copy(each, f'{to}/rank_{rank}')


@case()
def output_without_info(to):
    for rank, each in enumerate(outputs('db')):
        copy(each, f'{to}/{rank}/{OUTPUT}')


@case(status=(3,))
def text_output_without_any_rank(to):
    for name, each in zip('abcd', outputs('text')):
        copy(each, f'{to}/{name}/{OUTPUT}')


@case(ranks=1, whole=False)
def one_output_given(to):
    copy(outputs('text')[1], f'{to}/{OUTPUT}')


@case(ranks=1, whole=False, given=OUTPUT)
def the_output_itself(to):
    copy(outputs('text')[1], f'{to}/{OUTPUT}')


@case()
def info_key_is_text(to):
    copy_run('text', to)
    every(to + '/*/profiler_info_*.json', lambda path: (edit(path, lambda text: re.sub(
        r'"rank_id": *(\d+)', r'"rank_id": "\1"', text)), os.rename(path, os.path.dirname(path) + '/profiler_info.json')))


@case(status=(0, 3))
def info_missing(to):
    copy_run('text', to)
    every(to + '/*/profiler_info_*.json', os.remove)


@case(status=(0, 3))
def info_damaged(to):
    copy_run('db', to)
    every(to + '/*/profiler_info_*.json', lambda path: open(path, 'w').write('{"rank_id":'))


@case(status=(0, 3))
def metadata_damaged(to):
    copy_run('text', to)
    every(to + '/*/profiler_metadata.json', lambda path: open(path, 'w').write('nonsense'))


@case()
def metadata_missing(to):
    copy_run('text', to)
    every(to + '/*/profiler_metadata.json', os.remove)


# --- files missing -----------------------------------------------------------------------------------

def without(kind, to, *names):
    copy_run(kind, to)
    for name in names:
        every(f'{to}/*/{OUTPUT}/{name}', os.remove)


@case()
def without_analysis_db(to):
    without('db', to, 'analysis.db')


@case()
def without_rank_db(to):
    without('db', to, 'ascend_pytorch_profiler_*.db')


@case()
def without_trace(to):
    without('text', to, 'trace_view.json')


@case()
def without_kernels(to):
    without('text', to, 'kernel_details.csv')


@case()
def kernels_only(to):
    without('text', to, 'trace_view.json', 'step_trace_time.csv', 'communication*.json', 'op_statistic.csv', 'api_statistic.csv')


@case()
def steps_only(to):
    without('text', to, 'trace_view.json', 'kernel_details.csv', 'communication*.json', 'op_statistic.csv', 'api_statistic.csv')


@case(whole=False)
def communication_only(to):
    without('text', to, 'trace_view.json', 'kernel_details.csv', 'step_trace_time.csv', 'op_statistic.csv', 'api_statistic.csv')


@case(ranks=0, status=(0, 1, 3), whole=False)
def statistics_only(to):
    without('text', to, 'trace_view.json', 'kernel_details.csv', 'step_trace_time.csv', 'communication*.json')


@case()
def trace_only(to):
    without('text', to, 'kernel_details.csv', 'step_trace_time.csv', 'communication*.json', 'op_statistic.csv', 'api_statistic.csv')


@case()
def different_files_per_rank(to):
    copy_run('text', to)
    dirs = sorted(glob.glob(to + '/*/' + OUTPUT))
    os.remove(dirs[0] + '/trace_view.json')
    os.remove(dirs[1] + '/kernel_details.csv')
    os.remove(dirs[2] + '/communication.json')


@case()
def mixed_db_and_text(to):
    for rank in range(4):
        each = captures('db' if rank % 2 else 'text')[rank]
        copy(each, f'{to}/{os.path.basename(each)}')


@case()
def both_forms(to):
    copy_run('both', to)


@case()
def levels_mixed(to):
    for rank in range(4):
        each = captures('db' if rank % 2 else 'l0')[rank]
        copy(each, f'{to}/{os.path.basename(each)}')


@case()
def level0_text(to):
    copy_run('l0text', to)


# --- texts that somebody saved ---------------------------------------------------------------------

def crlf(path):
    edit(path, lambda text: text.replace('\r\n', '\n').replace('\n', '\r\n'))


def bom(path):
    edit(path, lambda text: '\ufeff' + text)


@case()
def crlf_everywhere(to):
    copy_run('text', to)
    every(to + '/**/*.csv', crlf)
    every(to + '/**/*.json', crlf)


@case()
def bom_everywhere(to):
    copy_run('text', to)
    every(to + '/**/*.csv', bom)
    every(to + '/**/*.json', bom)


@case()
def old_column_names(to):
    copy_run('text', to)

    def older(path):
        edit(path, lambda text: text.replace('Block Num', 'Block Dim').replace('Device_id,', 'Device_id,', 1))

    every(f'{to}/*/{OUTPUT}/kernel_details.csv', older)
    every(f'{to}/*/{OUTPUT}/step_trace_time.csv', lambda path: edit(path, lambda text: '\n'.join(
        ','.join(line.split(',')[:-1]) for line in text.splitlines()) + '\n'))


@case()
def columns_in_another_order(to):
    copy_run('text', to)

    def turn(path):
        import csv
        with open(path, newline='') as file:
            rows = list(csv.reader(file))
        with open(path, 'w', newline='') as file:
            csv.writer(file).writerows(row[::-1] for row in rows)

    every(f'{to}/*/{OUTPUT}/kernel_details.csv', turn)
    every(f'{to}/*/{OUTPUT}/step_trace_time.csv', turn)


@case()
def semicolon_free_extra_columns(to):
    copy_run('text', to)
    every(f'{to}/*/{OUTPUT}/kernel_details.csv', lambda path: edit(path, lambda text: '\n'.join(
        line + (',New Column' if number == 0 else ',x') for number, line in enumerate(text.splitlines())) + '\n'))


@case()
def gzipped_traces(to):
    copy_run('gz', to)


@case()
def gzipped_everything(to):
    copy_run('text', to)

    def pack(path):
        with open(path, 'rb') as file, gzip.open(path + '.gz', 'wb') as packed:
            packed.write(file.read())
        os.remove(path)

    every(f'{to}/*/{OUTPUT}/*.json', pack)
    every(f'{to}/*/{OUTPUT}/*.csv', pack)


@case()
def trace_as_object(to):
    copy_run('text', to)
    every(f'{to}/*/{OUTPUT}/trace_view.json', lambda path: edit(path, lambda text: '{"traceEvents": ' + text + ', "displayTimeUnit": "ns"}'))


@case(status=(0, 3))
def trace_unclosed(to):
    copy_run('text', to)
    every(f'{to}/*/{OUTPUT}/trace_view.json', lambda path: edit(path, lambda text: text.rstrip()[:-1]))


# --- captures ----------------------------------------------------------------------------------------

@case(status=(3,))
def the_same_capture_twice(to):
    copy_run('db', to + '/a')
    copy_run('db', to + '/b')


@case(whole=False)
def two_windows(to):
    copy_run('db', to + '/run')
    for each in captures('text'):
        copy(each, to + '/run/' + os.path.basename(each).replace('20250109', '20250110'))


@case(whole=False, status=(0,))
def roles(to):
    for day, role in enumerate(('actor_update', 'ref_compute_log_prob', 'rollout')):
        copy_run('db', f'{to}/{role}', f'2025020{day}')


@case(whole=False, status=(0,))
def steps_and_roles(to):
    for step in (1, 2):
        for day, role in enumerate(('actor_update', 'rollout')):
            copy_run('db', f'{to}/{step}/{role}', f'202502{step}{day}')


@case(whole=False, status=(0,))
def step_names(to):
    for step in (10, 20):
        copy_run('text', f'{to}/step_{step}', f'202502{step}')


@case()
def one_node_per_directory(to):
    for rank, each in enumerate(captures('db')):
        copy(each, f'{to}/node{rank // 2}/{os.path.basename(each)}')


@case(ranks=3, whole=False)
def one_rank_missing(to):
    copy_run('db', to)
    shutil.rmtree(sorted(glob.glob(to + '/*'))[2])


@case(ranks=3, status=(3,), whole=False)
def one_rank_empty_db(to):
    copy_run('noanalysis', to)
    open(rank_dbs(to)[1], 'w').close()


@case(status=(3,))
def one_rank_cut_db(to):
    copy_run('both', to)
    path = rank_dbs(to)[1]
    with open(path, 'r+b') as file:
        file.truncate(os.path.getsize(path) // 2)


# --- msprof ------------------------------------------------------------------------------------------

@case()
def msprof_db(to):
    copy_run('msprof', to)


@case()
def msprof_text(to):
    copy_run('mstext', to)


@case()
def msprof_slices(to):
    copy_run('slices', to)


@case(status=(0, 3))
def msprof_without_rank(to):
    copy_run('noid', to)


@case(status=(0, 3))
def msprof_outputs_alone(to):
    for rank, each in enumerate(captures('mstext')):
        copy(each + '/mindstudio_profiler_output', f'{to}/rank{rank}/mindstudio_profiler_output')


@case(ranks=1, whole=False, given='mindstudio_profiler_output')
def msprof_output_itself(to):
    copy(captures('mstext')[0] + '/mindstudio_profiler_output', f'{to}/mindstudio_profiler_output')


@case(ranks=3, status=(3,), whole=False)
def msprof_partly_exported(to):
    copy_run('mstext', to)
    for name in ('mindstudio_profiler_output', 'analyze'):
        shutil.rmtree(sorted(glob.glob(to + '/PROF_*'))[0] + '/' + name)


@case()
def prof_below_capture(to):
    """A capture with its raw PROF_ directory and the database of it."""
    for each, prof in zip(captures('db'), captures('msprof')):
        copy(each, f'{to}/{os.path.basename(each)}')
        copy(prof, f'{to}/{os.path.basename(each)}/{os.path.basename(prof)}')


@case()
def prof_below_capture_without_output(to):
    for each, prof in zip(captures('db'), captures('msprof')):
        copy(prof, f'{to}/{os.path.basename(each)}/{os.path.basename(prof)}')
        for info in glob.glob(each + '/profiler_*.json'):
            shutil.copy(info, f'{to}/{os.path.basename(each)}')


@case()
def prof_exported_beside_empty_output(to):
    prof_below_capture_without_output(to)
    for each in glob.glob(to + '/*_ascend_pt'):
        os.makedirs(each + '/' + OUTPUT)


@case()
def msprof_dbs_flat(to):
    os.makedirs(to)
    for rank, each in enumerate(captures('msprof')):
        db = glob.glob(each + '/**/msprof_*.db', recursive=True)[0]
        shutil.copy(db, f'{to}/msprof_2025010908161{rank}.db')


# --- other tools -----------------------------------------------------------------------------------

@case()
def msmonitor(to):
    copy(run_dir('monitor'), to)


@case()
def msmonitor_beside_captures(to):
    """The monitor watched the same ranks: one capture of each counts."""
    copy(run_dir('monitor'), to + '/monitor')


@case()
def mindspore(to):
    copy_run('ms', to)


@case()
def mindspore_text(to):
    copy_run('mstextual', to)


@case()
def manifest(to):
    copy(run_dir('manifest'), to)


@case(whole=False)
def earlier_result(to):
    subprocess.run([ARGS.build + '/npuprof', 'cluster', '-q', '-o', to, run_dir('db')], check=True, stdout=subprocess.DEVNULL)


@case(whole=False)
def earlier_text_result(to):
    earlier_result(to)
    subprocess.run([ARGS.build + '/npuprof', 'cluster', '-q', '-o', to, '--export', 'text', run_dir('db')], check=True,
                   stdout=subprocess.DEVNULL)
    os.remove(to + '/cluster_analysis_output/cluster_analysis.db')


@case()
def result_beside_profiles(to):
    copy_run('db', to)
    subprocess.run([ARGS.build + '/npuprof', 'cluster', '-q', to], check=True, stdout=subprocess.DEVNULL)


# --- databases ---------------------------------------------------------------------------------------

@case()
def newer_schema(to):
    copy_run('new', to)


@case()
def unknown_tables_and_columns(to):
    copy_run('new', to)
    for path in rank_dbs(to):
        sql(path, 'CREATE TABLE QUANTUM_LINK (deviceId INTEGER, entangled REAL)', 'INSERT INTO QUANTUM_LINK VALUES (0, 1.5)',
            'ALTER TABLE TASK ADD COLUMN blockTime INTEGER')


@case()
def opened_by_a_viewer(to):
    copy_run('db', to)
    for path in rank_dbs(to):
        sql(path, 'ALTER TABLE TASK ADD COLUMN depth INTEGER', 'ALTER TABLE COMMUNICATION_OP ADD COLUMN waitNs INTEGER',
            'CREATE TABLE status_info (id INTEGER, key TEXT, value TEXT)', 'PRAGMA user_version = 2025082909',
            'PRAGMA journal_mode = WAL')


@case()
def wal_left_behind(to):
    copy_run('db', to)
    for path in rank_dbs(to):
        open(path + '-wal', 'w').close()
        open(path + '-shm', 'wb').write(b'\0' * 32768)


@case(whole=False, status=(0, 3))
def no_tasks(to):
    copy_run('noanalysis', to)
    for path in rank_dbs(to):
        sql(path, 'DELETE FROM TASK', 'DELETE FROM COMPUTE_TASK_INFO', 'DELETE FROM COMMUNICATION_TASK_INFO')


@case(whole=False, status=(0, 3))
def overlap_only(to):
    copy(run_dir('new'), to)
    every(f'{to}/*/{OUTPUT}/analysis.db', os.remove)
    for path in rank_dbs(to):
        sql(path, 'DROP TABLE TASK', 'DROP TABLE COMPUTE_TASK_INFO', 'DROP TABLE COMMUNICATION_TASK_INFO', 'DROP TABLE COMMUNICATION_OP')


@case()
def several_devices_of_one_process(to):
    copy_run('db', to)
    for path in rank_dbs(to):
        sql(path, "INSERT INTO NPU_INFO VALUES (7, 'Ascend910B4')")


@case()
def no_steps(to):
    copy_run('nosteps', to)


@case(ranks=1, whole=False, given='ascend_pytorch_profiler_2.db')
def one_db_given(to):
    os.makedirs(to)
    shutil.copy(rank_dbs(run_dir('db'))[2], to)


@case(ranks=1, whole=False, given='trace.json')
def one_trace_given(to):
    os.makedirs(to)
    shutil.copy(outputs('text')[2] + '/trace_view.json', to + '/trace.json')


@case(ranks=1, whole=False, given='kernel_details (1).csv')
def one_table_given(to):
    os.makedirs(to)
    shutil.copy(outputs('text')[2] + '/kernel_details.csv', to + '/kernel_details (1).csv')


@case()
def monitor_lines(to):
    copy(run_dir('lines'), to)


@case(ranks=4, status=(3,), whole=False)
def monitor_lines_beside_captures(to):
    """Both saw the same ranks: one capture of each is left out."""
    copy_run('db', to)
    for each in glob.glob(run_dir('lines') + '/*.jsonl'):
        shutil.copy(each, to)


@case()
def monitor_lines_packed(to):
    os.makedirs(to)
    for each in glob.glob(run_dir('lines') + '/*.jsonl'):
        with open(each, 'rb') as file, gzip.open(f'{to}/{os.path.basename(each)}.gz', 'wb') as packed:
            packed.write(file.read())


@case()
def engine_ccu(to):
    copy_run('ccu', to)


@case()
def engine_dpu(to):
    copy_run('dpu', to)


@case()
def layout_files(to):
    copy(run_dir('files'), to)


@case()
def layout_outputs(to):
    copy(run_dir('outputs'), to)


@case()
def layout_flat_deep_with_spaces(to):
    copy(run_dir('flat'), to + '/my data/of may/x')


@case()
def layout_lone_msprof(to):
    copy(run_dir('lone'), to)


@case(whole=False)
def layout_vllm_without_steps(to):
    copy(run_dir('vllm'), to)


@case(whole=False, status=(0, 3))
def every_kind_of_file_at_once(to):
    for rank, kind in enumerate(('db', 'text', 'mstext', 'msprof')):
        each = captures(kind)[rank]
        copy(each, f'{to}/{os.path.basename(each)}')


@case(whole=False, status=(0, 3))
def every_node_another_form(to):
    for node, kind in enumerate(('db', 'gz', 'ms', 'mstextual')):
        each = captures(kind)[node]
        copy(each, f'{to}/node-{node}/{os.path.basename(each)}')


@case()
def text_crlf_gz_spaces_no_metadata(to):
    for rank, each in enumerate(outputs('text')):
        copy(each, f'{to}/Neuer Ordner (2)/rank_{rank}/{OUTPUT}')
    every(to + '/**/*.csv', crlf)

    def pack(path):
        with open(path, 'rb') as file, gzip.open(path + '.gz', 'wb') as packed:
            packed.write(file.read())
        os.remove(path)

    every(to + '/**/trace_view.json', pack)


@case(status=(0, 3))
def read_only_wal_left(to):
    wal_left_behind(to)
    for top, dirs, files in os.walk(to):
        for name in files:
            os.chmod(os.path.join(top, name), 0o444)
        os.chmod(top, 0o555)


@case(ranks=1, whole=False)
def thirty_windows_of_a_rank(to):
    for number in range(30):
        each = captures('db')[0]
        copy(each, f'{to}/' + os.path.basename(each).replace('20250109081616', f'202501090817{number:02d}'))


@case(ranks=4, status=(0, 3))
def summaries_kept_beside(to):
    copy_run('db', to)
    subprocess.run([ARGS.build + '/npuprof', 'cluster', '-q', '--cache', to + '/cache', to], check=True, stdout=subprocess.DEVNULL)


@case(status=(0, 3))
def vllm_names(to):
    for rank, each in enumerate(captures('text')):
        copy(each, f'{to}/model_dp{rank // 2}_pp0_tp{rank % 2}_dcp0_ep{rank}_rank{rank % 2}_{100 + rank}_20260402160352123_ascend_pt')
    every(to + '/*/profiler_*.json', os.remove)


@case(ranks=0, status=(1, 2))
def archive_only(to):
    os.makedirs(to)
    subprocess.run(['tar', '-czf', to + '/prof.tar.gz', '-C', run_dir('db'), '.'], check=True)


@case(ranks=0, status=(1,))
def nothing(to):
    os.makedirs(to + '/a/b')


# What a command cannot do without, in one line.
NEEDS = ('nothing to replay: no communication operator was matched over ranks', 'has step times: nothing can be compared')


# --- judging -----------------------------------------------------------------------------------------

def call(*arguments):
    done = subprocess.run([ARGS.build + '/npuprof', *arguments], capture_output=True, text=True, timeout=300, errors='replace')
    return done.returncode, done.stdout, done.stderr


def parts(document):
    return document.get('phases') or [document]


def computing(document):
    return sum(rank['computing_ns'] or 0 for each in parts(document) for step in each['steps'] for rank in step['ranks'])


def judge(case, to, reference):
    path = os.path.join(to, case.given) if case.given != '.' else to
    wrong = []
    status, out, err = call('info', '-f', 'json', path)
    if status not in case.status:
        wrong.append(f'info: status {status}: {err.strip()[:300] or out[-300:]}')
    if status in (1, 2):
        if len(err.strip().splitlines()) > 2 or not err.strip():
            wrong.append(f'info: refused in {len(err.splitlines())} lines: {err[:300]}')
    else:
        used = {part['input']['ranks_used'] for part in parts(json.loads(out))}
        if used != {case.ranks}:
            wrong.append(f'info: {used} ranks instead of {case.ranks}')
    status, out, err = call('cluster', '-f', 'json', '-o', to + '-out', path)
    if status not in case.status:
        reasons = [each.get('reason') for part in parts(json.loads(out)) for each in part['input']['skipped']] if out else []
        wrong.append(f'cluster: status {status}: {err.strip()[:300]} {reasons[:3]}')
    if status in (0, 3):
        document = json.loads(out)
        if {part['input']['ranks_used'] for part in parts(document)} != {case.ranks}:
            wrong.append('cluster: other ranks than info')
        total = computing(document)
        if case.whole and abs(total - reference) > reference // 1000:
            wrong.append(f'cluster: computing {total} instead of {reference}')
        if status == 3 and not any(part['input']['skipped'] or part['trust']['withheld'] for part in parts(document)):
            wrong.append('cluster: status 3 without a reason')
    for command in (['advisor', '-q', path], ['whatif', '-q', path], ['compare', '-q', path, path]):
        status, out, err = call(*command)
        if status not in (0, 1, 2, 3) or 'Sanitizer' in err:
            wrong.append(f'{command[0]}: status {status}: {err.strip()[-300:]}')
        elif case.ranks and status in (1, 2) and not any(word in err for word in NEEDS):
            wrong.append(f'{command[0]}: refused: {err.strip()[:300]}')
        elif 0 in case.status and case.status == (0,) and status == 3:
            wrong.append(f'{command[0]}: status 3: {err.strip()[:200]} {out[-200:]}')
        if status in (1, 2) and len(err.strip().splitlines()) > 2:
            wrong.append(f'{command[0]}: refused in {len(err.splitlines())} lines: {err[:200]}')
    return wrong


def clear(path):
    if os.path.isdir(path):
        for top, dirs, _ in os.walk(path):
            os.chmod(top, 0o755)
        shutil.rmtree(path)


def main():
    global ARGS
    parser = argparse.ArgumentParser()
    parser.add_argument('-b', '--build', default='build/dev')
    parser.add_argument('-w', '--work', default='/tmp/npuprof-odd')
    parser.add_argument('-k', '--keep', action='store_true', help='keep the directories')
    parser.add_argument('cases', nargs='*')
    ARGS = parser.parse_args()
    ARGS.build = os.path.abspath(ARGS.build)
    ARGS.work = os.path.abspath(ARGS.work)
    reference = computing(json.loads(call('cluster', '-f', 'json', '-o', ARGS.work + '/reference', run_dir('db'))[1]))
    bad = 0
    chosen = [each for each in CASES if not ARGS.cases or each.name in ARGS.cases]
    for each in chosen:
        to = os.path.join(ARGS.work, each.name)
        for path in (to, to + '-out', to + '-elsewhere'):
            clear(path)
        each.build(to)
        wrong = judge(each, to, reference)
        bad += bool(wrong)
        for line in wrong:
            print(f'{each.name}: {line}')
        if not ARGS.keep and not wrong:
            for path in (to, to + '-out', to + '-elsewhere'):
                clear(path)
    print(f'{len(chosen) - bad} of {len(chosen)} as they should be')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
