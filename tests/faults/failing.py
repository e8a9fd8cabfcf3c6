#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every allocation and every use of a file fails once, as SQLite does with its own: each command ends, and says so.

usage: failing.py BUILD [--most N] [--only REGEX] [-j N]

A command is run as often as it has calls of a kind (memory, files, disk full from then on), and each time another one
fails: the first 500, then every one that is a tenth further on; with --most N about so many, evenly. Whatever fails:
  - it ends by itself with status 0, 1, 3 (or 4, a gate): no signal, nobody waits;
  - with 0 the answer is that of the sound run, or what could not be written is said; otherwise there is a message;
  - an output is the old one or the whole new one, and no temporary file of it stays;
  - it gives back all memory that the sound run gives back;
  - nobody has touched the input.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import FORMS, SMALL, state  # noqa: E402

COMMANDS = {
    'cluster': ['cluster', '-f', 'json', '-j1', '-d', '{in}', '-o', '{out}'],
    'cluster-text': ['cluster', '-f', 'json', '-j1', '-d', '{text}', '-o', '{out}'],
    'whatif': ['whatif', '-f', 'json', '-j1', '-d', '{in}'],
    'info': ['info', '-f', 'json', '-j1', '-d', '{in}'],
    'advisor': ['advisor', '-f', 'json', '-j1', '-d', '{in}'],
    'compare': ['compare', '-f', 'json', '-j1', '{in}', '{text}'],
    'memory': ['memory', '-f', 'json', '-j1', '-d', '{in}'],
    'report': ['report', '-j1', '-d', '{in}', '-o', '{out}/page.html'],
    'timeline': ['timeline', '-j1', '-d', '{in}', '-o', '{out}/line.json'],
    'history': ['history', 'add', '-f', 'json', '-j1', '{in}', '--store', '{out}/store.db', '--job', 'j'],
    'snapshots': ['memory', '-f', 'json', '-j1', '-d', '{snapshots}', '--sweep'],
    'keep': ['cluster', '-f', 'json', '-j1', '-d', '{in}', '--no-db', '--cache', '{out}/kept', '-o', '{out}'],
    'kept': ['cluster', '-f', 'json', '-j1', '--from-summaries', '--no-db', '-d', '{kept}', '-o', '{out}'],
    'merge': ['merge', '-d', '{kept}', '-o', '{out}/all.npsum'],
    'rules': ['rules', 'check'],
}
KINDS = ('memory', 'files', 'disk')
STATUS = {0, 1, 3, 4}


def turns(count, most):
    """Which calls fail."""
    if most and count > most:
        return sorted({1 + i * count // most for i in range(most)})
    chosen = []
    at = 1
    while at <= count:
        chosen.append(at)
        at = at + 1 if at < 500 else int(at * 1.1) + 1
    return chosen


def answer(stdout, out):
    """What was printed, without what differs from run to run."""
    stdout = stdout.replace(out.encode(), b'OUT')
    stdout = re.sub(rb'"(elapsed_ns|duration_ms)": [0-9.]+', b'', stdout)
    return re.sub(rb'"timings": \{[^}]*\}', b'', stdout)


class Failing:
    def __init__(self, build, work):
        self.build = build
        self.work = work
        self.library = os.path.join(build, 'libfailing_calls.so')
        self.inputs = {}
        synth = os.environ.get('NPUPROF_SYNTH') or os.path.join(build, 'npuprof-synth')
        for name, form in (('in', 'db'), ('text', 'text')):
            self.inputs[name] = os.path.join(work, name)
            subprocess.run([synth, '-q', '-o', self.inputs[name]] + SMALL + FORMS[form], check=True)
        snapshots = os.path.join(work, 's')
        subprocess.run([synth, '-q', '-o', snapshots, '--snapshot'] + SMALL, check=True)
        self.inputs['snapshots'] = os.path.join(snapshots, 'memory_snapshot')
        self.inputs['kept'] = os.path.join(work, 'kept')
        subprocess.run([os.path.join(build, 'npuprof'), 'cluster', '-q', '-d', self.inputs['in'], '--no-db', '--cache', self.inputs['kept'],
                        '-o', os.path.join(work, 'o')], check=True, stdout=subprocess.DEVNULL)
        self.before = [state(path) for path in self.inputs.values()]

    def run(self, name, out, kind=None, at=0, count=None):
        words = [word.format(out=out, **self.inputs) for word in COMMANDS[name]]
        env = dict(os.environ, LC_ALL='C.UTF-8')
        if kind:
            env.update(LD_PRELOAD=self.library, NP_TEST_FAIL=kind, NP_TEST_FAIL_AT=str(at))
        if count:
            env['NP_TEST_FAIL_COUNT'] = count
        os.makedirs(out, exist_ok=True)
        try:
            done = subprocess.run([os.path.join(self.build, 'npuprof')] + words, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=120, env=env, check=False)
        except subprocess.TimeoutExpired:
            return None, b'', b'timed out'
        return done.returncode, done.stdout, done.stderr

    @staticmethod
    def counts(path):
        """Calls, and blocks of memory that were not given back; None for both where it did not end by itself."""
        if not os.path.exists(path):
            return None, None
        with open(path, encoding='ascii') as file:
            return tuple(int(word) for word in file.read().split())

    def calls(self, name, kind):
        path = os.path.join(self.work, 'count')
        self.run(name, os.path.join(self.work, 'o'), kind, 0, path)
        return self.counts(path)

    def one(self, case):
        name, kind, at, sound = case
        out = os.path.join(self.work, '%s-%s-%d' % (name, kind, at))
        status, stdout, err = self.run(name, out, kind, at, out + '.count')
        _, kept = self.counts(out + '.count')
        complaints = []
        if status not in STATUS:
            complaints.append('ends with %s: %s' % (status, err[-300:]))
        elif status == 1 and not err.strip():
            complaints.append('fails without a word')
        elif status == sound[0] and answer(stdout, out) != sound[1] and not err.strip() and not says(stdout):
            complaints.append('another answer, and nothing is said: ' + first_difference(sound[1], answer(stdout, out)))
        if kept is not None and kept > sound[2]:
            complaints.append('%d blocks of memory more than of the sound run are not given back' % (kept - sound[2]))
        left = [f for _, _, files in os.walk(out) for f in files if '.tmp' in f or '.np-' in f or f.endswith('-journal')]
        if left and status in STATUS:
            complaints.append('left behind: %s' % left)
        shutil.rmtree(out, ignore_errors=True)
        if os.path.exists(out + '.count'):
            os.remove(out + '.count')
        return complaints


def first_difference(sound, other):
    for a, b in zip(sound.splitlines(), other.splitlines()):
        if a != b:
            return '%r instead of %r' % (b[:160], a[:160])
    return '%d bytes instead of %d' % (len(other), len(sound))


def says(stdout):
    """Does the JSON list something that could not be used or written?"""
    try:
        doc = json.loads(stdout)
    except ValueError:
        return False
    lists = [doc.get(side, {}).get(key) for side in ('input', 'base', 'new') for key in ('skipped', 'warnings')]
    lists += [doc.get('trust', {}).get('withheld'), doc.get('warnings')]
    return any(lists) or any(not o.get('written', True) for o in doc.get('outputs') or [])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('--most', type=int, default=0)
    parser.add_argument('--only', default='')
    parser.add_argument('-j', '--jobs', type=int, default=1)
    arguments = parser.parse_args()
    work = tempfile.mkdtemp(prefix='npuprof-failing.', dir=os.environ.get('TMPDIR') or None)
    bad = tried = 0
    try:
        failing = Failing(arguments.build, work)
        for name in COMMANDS:
            status, stdout, _ = failing.run(name, os.path.join(work, 'sound'))
            for kind in KINDS:
                if not re.search(arguments.only, name + '/' + kind):
                    continue
                count, kept = failing.calls(name, kind)
                sound = (status, answer(stdout, os.path.join(work, 'sound')), kept)
                cases = [(name, kind, at, sound) for at in turns(count, arguments.most)]
                wrong = 0
                with ThreadPoolExecutor(arguments.jobs) as pool:
                    for case, complaints in zip(cases, pool.map(failing.one, cases)):
                        tried += 1
                        wrong += bool(complaints)
                        for complaint in complaints:
                            print('FAILED %s: %s %d of %d: %s' % (name, kind, case[2], count, complaint), flush=True)
                bad += wrong
        if [state(path) for path in failing.inputs.values()] != failing.before:
            print('FAILED: an input was changed')
            bad += 1
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print('%d calls failed, %d of them wrong' % (tried, bad))
    return 1 if bad or not tried else 0


if __name__ == '__main__':
    sys.exit(main())
