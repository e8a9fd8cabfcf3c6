#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What grows with the number of something: instructions of a command, counted by valgrind, at N and at 4 N.

usage: growth.py BUILD [--only REGEX] [-n N]

A run of two ranks gets N steps, types of kernels and so on (communicators have a limit instead). Of a command that is linear, four times as
many need less than four times the instructions (what does not grow is in both); what is quadratic soon needs sixteen
times. More than five times is a failure: nothing here depends on the clock or on who else uses the machine.
"""
import argparse
import glob
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

BEGIN = 1736410576000000000
EACH = 10000
MOST = 5.0
COUNT = 'WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %d) '
KERNEL = "(SELECT id FROM STRING_IDS WHERE value = 'KERNEL_AIVEC')"


def steps(n, work):
    yield 'DELETE FROM STEP_TIME'
    yield COUNT % n + 'INSERT INTO STEP_TIME SELECT i + 1, %d + i * %d, %d + i * %d FROM n' % (BEGIN, EACH, BEGIN + EACH, EACH)
    if not work:
        return
    for table in ('TASK', 'COMPUTE_TASK_INFO', 'COMMUNICATION_TASK_INFO'):
        yield 'DELETE FROM ' + table
    yield 'CREATE TABLE one_op AS SELECT * FROM COMMUNICATION_OP LIMIT 1'
    yield 'DELETE FROM COMMUNICATION_OP'
    yield COUNT % n + ('INSERT INTO TASK SELECT %d + i * %d, %d + i * %d, (SELECT deviceId FROM RANK_DEVICE_MAP), i + 1, i, 1, %s, '
                       '4294967295, 2, i, 4294967295 FROM n' % (BEGIN + 1000, EACH, BEGIN + 5000, EACH, KERNEL))
    yield COUNT % n + 'INSERT INTO COMPUTE_TASK_INFO SELECT 5, i, 40, 0, 6, 7, 13, 8, 9, 13, 14, 9, 10 FROM n'
    yield COUNT % n + ('INSERT INTO COMMUNICATION_OP SELECT opName, %d + i * %d, %d + i * %d, i + 1, groupName, i, relay, retry, dataType, '
                       'algType, count, opType FROM n, one_op' % (BEGIN + 6000, EACH, BEGIN + 8000, EACH))


def kernels(n, types, tasks):
    yield 'UPDATE STEP_TIME SET endNs = endNs + %d WHERE id = (SELECT max(id) FROM STEP_TIME)' % (n * EACH)
    yield COUNT % n + "INSERT INTO STRING_IDS SELECT 1000000000 + i, 'Type' || i FROM n"
    yield COUNT % n + ('INSERT INTO TASK SELECT %d + i * %d, %d + i * %d, (SELECT deviceId FROM RANK_DEVICE_MAP), i + 100000, %s, 1, %s, '
                       '4294967295, 2, i, 4294967295 FROM n' %
                       (BEGIN + 13000000, EACH, BEGIN + 13004000, EACH, '1000000 + i' if tasks else '1', KERNEL))
    if tasks:
        yield COUNT % n + ('INSERT INTO COMPUTE_TASK_INFO SELECT 5, 1000000 + i, 40, 0, 6, %s, 13, 8, 9, 13, 14, 9, 10 FROM n' %
                           ('1000000000 + i' if types else '7'))


def settings(n):
    yield COUNT % n + "INSERT INTO META_DATA SELECT 'setting' || i, 'value' FROM n"


GROWING = {
    'steps': (lambda n: steps(n, False), ('cluster', 'advisor', 'compare')),
    'steps-with-work': (lambda n: steps(n, True), ('cluster', 'whatif', 'compare')),
    'types': (lambda n: kernels(n, True, True), ('cluster', 'advisor', 'compare')),
    'tasks-of-one-number': (lambda n: kernels(n, False, False), ('cluster',)),
    'settings': (settings, ('advisor',)),
}


def command(name, run, out):
    if name == 'compare':
        return ['compare', '-q', '-j1', run, run]
    return [name, '-q', '-j1', '-d', run] + (['-o', out] if name == 'cluster' else [])


class Growth:
    def __init__(self, build, work):
        self.npuprof = os.path.join(build, 'npuprof')
        self.work = work
        self.sound = os.path.join(work, 'sound')
        synth = os.environ.get('NPUPROF_SYNTH') or os.path.join(build, 'npuprof-synth')
        subprocess.run([synth, '-q', '-o', self.sound, '--ranks', '2', '--steps', '2', '--layers', '1', '--kernels-per-layer', '2'], check=True)

    def make(self, statements):
        run = os.path.join(self.work, 'run')
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(self.sound, run)
        for path in glob.glob(run + '/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_*.db'):
            os.remove(os.path.join(os.path.dirname(path), 'analysis.db'))
            base = sqlite3.connect(path)
            base.execute('PRAGMA synchronous = OFF')
            base.execute('UPDATE SESSION_TIME_INFO SET endTimeNs = endTimeNs + 1000000000000')
            for statement in statements():
                base.execute(statement)
            base.commit()
            base.close()
        return run

    def instructions(self, name, run):
        out = os.path.join(self.work, 'out')
        shutil.rmtree(out, ignore_errors=True)
        done = subprocess.run(['valgrind', '--tool=cachegrind', '--cache-sim=no', '--cachegrind-out-file=/dev/null', self.npuprof] +
                              command(name, run, out), capture_output=True, text=True, check=False)
        if done.returncode not in (0, 3):
            sys.exit('%s ends with %d: %s' % (name, done.returncode, done.stderr[-500:]))
        return int(re.search(r'I\s+refs:\s+([0-9,]+)', done.stderr).group(1).replace(',', ''))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('--only', default='')
    parser.add_argument('-n', type=int, default=1000)
    arguments = parser.parse_args()
    work = tempfile.mkdtemp(prefix='npuprof-growth.', dir=os.environ.get('TMPDIR') or None)
    wrong = tried = 0
    try:
        growth = Growth(arguments.build, work)
        for what, (statements, commands) in GROWING.items():
            for name in commands:
                if not re.search(arguments.only, what + '/' + name):
                    continue
                few, many = (growth.instructions(name, growth.make(lambda n=n: statements(n))) for n in (arguments.n, 4 * arguments.n))
                tried += 1
                wrong += many > MOST * few
                print('%s %s/%s: %.0f and %.0f million instructions, %.2f times' %
                      ('FAILED' if many > MOST * few else 'ok', what, name, few / 1e6, many / 1e6, many / few))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print('%d of them, %d wrong' % (tried, wrong))
    return 1 if wrong or not tried else 0


if __name__ == '__main__':
    sys.exit(main())
