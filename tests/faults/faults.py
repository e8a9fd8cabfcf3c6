#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No silent loss: damage a small run in every way of harm.py, analyse it, and hold the answer against that of the sound run.

usage: faults.py BUILD [--every N] [--only REGEX] [--commands] [--list] [--keep DIR] [-v]

Of each fault one of these must be true, and is checked without knowing which:
  - the answer is that of the sound run, to the last figure (status 0 or 3), or
  - something is said (skipped, warnings, withheld, coverage, or a failure with its message), and every figure is the true
    one, unknown (null, or a row that is not there), or what is left of a sum with status 3: never more than the truth,
    never 0 where there was something, never a speed that no transfer had, and the other rank's figures are untouched.
Status 0 stands for figures that are true or unknown: nothing that was recorded has been left out of a sum.
And always: no signal, no sanitizer, an answer that is JSON, an input that nobody has touched.
"""
import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harm  # noqa: E402

SMALL = ['--ranks', '2', '--steps', '3', '--layers', '1', '--kernels-per-layer', '3', '--memory', '--manifest']
FORMS = {'db': ['--format', 'db'], 'analysis': ['--format', 'db'], 'text': ['--format', 'text'], 'gzip': ['--format', 'text', '--gzip'],
         'both': ['--format', 'both'], 'kineto': ['--format', 'kineto'], 'msprof-db': ['--format', 'msprof-db'],
         'msprof-text': ['--format', 'msprof-text'], 'mindspore-text': ['--format', 'mindspore-text'],
         'msmonitor': ['--format', 'msmonitor'], 'msmonitor-jsonl': ['--format', 'msmonitor-jsonl']}
COMMANDS = {'info': ['info', '-f', 'json', '-d'], 'whatif': ['whatif', '-f', 'json', '-d'], 'advisor': ['advisor', '-f', 'json', '-d'],
            'memory': ['memory', '-f', 'json', '-d'],
            'compare': ['compare', '-f', 'json', '--view', 'kernel,kernel-type,communication,api,operator,memory', '{sound}']}

# Sums: what is lost makes them smaller, never larger.
SUMS = {'computing_ns', 'communication_ns', 'overlapped_ns', 'bytes', 'moved_bytes', 'elapsed_ns', 'ops', 'time_ns', 'peak_bytes', 'reserved_bytes'}
SPEEDS = {'gb_per_s'}


def figures(doc):
    """Path -> number, of what the analysis measured; derived opinions (stragglers, replay) follow from these."""
    flat = {}

    def put(prefix, row, leave):
        for key, value in row.items():
            if key not in leave and isinstance(value, (int, float)) and not isinstance(value, bool):
                flat[prefix + (key,)] = value

    def put_sum(prefix, row, keys):
        for key in keys:
            if row[key] is not None:
                flat[prefix + (key,)] = flat.get(prefix + (key,), 0) + row[key]

    for phase in doc.get('phases', []):
        flat.update({(phase['phase'],) + key: value for key, value in figures(phase).items()})
    for step in doc.get('steps', []):
        for row in step['ranks']:
            put(('step', step['step'], row['rank']), row, ('rank', 'device', 'dp', 'pp', 'tp', 'cp', 'ep'))
    for comm in doc.get('communicators', []):
        for row in comm['steps']:
            put(('comm', comm['group'], row['step']), row, ('step',))
    for row in doc.get('links', []):
        # Which plane it took is known by the finest source only: planes of a link are one here.
        put_sum(('link', row['src'], row['dst'], row['transport']), row, ('bytes', 'time_ns'))
    for row in doc.get('memory', []):
        put(('memory', row['rank'], row['component']), row, ('rank',))
    return flat


def said(doc):
    """What the answer says that it lacks or doubts, as a set of texts."""
    found = {'several phases'} if 'phases' in doc else set()
    for phase in doc.get('phases', []):
        found |= said(phase)
    for row in doc.get('input', {}).get('skipped', []) + doc.get('input', {}).get('warnings', []):
        found.add('%s %s: %s' % (row.get('rank'), row['what'], row['reason']))
    for row in doc.get('trust', {}).get('withheld', []):
        found.add('withheld %s: %s' % (row['what'], row['reason']))
    for row in doc.get('trust', {}).get('coverage', []):
        found.add('coverage %s' % row)
    return found


def plain(doc):
    """The answer without what differs from run to run."""
    doc = dict(doc)
    doc.pop('timings', None)
    doc.pop('outputs', None)
    doc['input'] = dict(doc.get('input', {}), path=None, fingerprint=None)
    return doc


def state(root):
    """Names, sizes and times of everything below, to see that nobody touches it."""
    rows = []
    for directory, names, files in os.walk(root):
        for name in names + files:
            at = os.lstat(os.path.join(directory, name))
            rows.append((os.path.join(directory, name), at.st_mode, at.st_size, at.st_mtime_ns, at.st_ino))
    return sorted(rows)


class Bench:
    """Sound runs, and what is true of them."""

    def __init__(self, build, work, extra):
        self.build = build
        self.work = work
        self.npuprof = os.path.join(build, 'npuprof')
        self.synth = os.environ.get('NPUPROF_SYNTH') or os.path.join(build, 'npuprof-synth')
        self.extra = extra
        self.sound = {}
        self.truth = {}
        self.others_truth = {}

    @staticmethod
    def bound():
        """A small run needs little: what asks for gigabytes is out of control. Sanitizers map terabytes."""
        if not os.environ.get('NP_FAULTS_UNBOUND'):
            resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    def run(self, arguments):
        try:
            done = subprocess.run([self.npuprof] + arguments, stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                                  preexec_fn=self.bound,
                                  env=dict(os.environ, LC_ALL='C.UTF-8', NPUPROF_NO_CACHE='1'), check=False)
        except subprocess.TimeoutExpired:
            return None, b'', 'timed out'
        return done.returncode, done.stdout, done.stderr.decode('utf-8', 'replace')

    def cluster(self, root, out):
        return self.run(['cluster', '-f', 'json', '--no-db', '-j1', '-d', root, '-o', out])

    def prepare(self, form):
        root = os.path.join(self.work, 'sound-' + form)
        subprocess.run([self.synth, '-q', '-o', root] + SMALL + FORMS[form], check=True)
        os.remove(os.path.join(root, 'truth.json'))
        rank_dir = self.rank_dir(root)
        if form == 'analysis':
            harm.analysis_only(harm.Target(root, rank_dir))
        status, out, err = self.cluster(root, self.work + '/out')
        if status not in (0, 3):
            raise SystemExit('the sound run %s cannot be analysed: %s' % (form, err))
        self.sound[form] = (root, os.path.relpath(rank_dir, root))
        self.truth[form] = (status, json.loads(out))
        for name in COMMANDS if self.extra else ():
            status, out, _ = self.other(name, form, root)
            self.others_truth[form, name] = (status, json.loads(out) if is_json(out) else {})

    @staticmethod
    def rank_dir(root):
        """That of rank 1: what names it, else the second of the directories."""
        for directory, _, files in sorted(os.walk(root)):
            if 'profiler_info_1.json' in files:
                return directory
        if any(name.endswith(('.trace.json', '.jsonl', '_1.db')) for name in os.listdir(root)):
            return root     # a file for each rank, side by side
        below = sorted(e.path for e in os.scandir(root) if e.is_dir())
        return below[-1] if below else root

    def copy(self, form, name):
        root, rank_dir = self.sound[form]
        target = os.path.join(self.work, 'c-' + hashlib.sha1(name.encode()).hexdigest()[:12])
        shutil.copytree(root, target, copy_function=os.link)
        return harm.Target(target, os.path.normpath(os.path.join(target, rank_dir)))

    def one(self, fault):
        """Complaints about one fault, and how it was taken: same, said or lost."""
        target = self.copy(fault.form, fault.name)
        try:
            fault.damage(target)
        except LookupError as error:
            shutil.rmtree(target.root)
            return ['the fault is none: %s' % error], 'none', ''
        before = state(target.root)
        out = target.root + '.out'
        status, stdout, err = self.cluster(target.root, out)
        # Where it lies is no part of the answer.
        stdout = stdout.replace(target.root.encode(), self.sound[fault.form][0].encode())
        complaints, how, notes = judge(fault, self.truth[fault.form], status, stdout, err)
        if self.extra:
            complaints += self.others(fault, target.root, status)
        if state(target.root) != before:
            complaints.append('the input was changed')
        shutil.rmtree(target.root, ignore_errors=True)
        shutil.rmtree(out, ignore_errors=True)
        return complaints, how, notes

    def other(self, name, form, root):
        sound = self.sound[form][0]
        status, out, err = self.run([word.format(sound=sound) for word in COMMANDS[name]] + [root])
        return status, out.replace(root.encode(), sound.encode()), err

    def others(self, fault, root, cluster):
        """The other commands on the same damage: they neither crash nor hide what cluster says, and say what changes their answer."""
        found = []
        for name in COMMANDS:
            status, out, err = self.other(name, fault.form, root)
            true_status, true = self.others_truth[fault.form, name]
            if status not in (0, 1, 3):
                found.append('%s ends with %s: %s' % (name, status, err[-300:]))
            elif status != 1 and not is_json(out):
                found.append('%s prints no JSON' % name)
            elif status == 0 and cluster != 0 and name in ('whatif', 'advisor'):
                found.append('%s ends with 0 where cluster ends with %s' % (name, cluster))
            elif status == 1 and not err.strip():
                found.append('%s fails without a word' % name)
            elif status == true_status and status != 1 and name != 'info' and fault.expect == 'said' and not err.strip() and \
                    not every_note(json.loads(out)) - every_note(true) and answer_of(json.loads(out)) != answer_of(true):
                found.append('%s has another answer and says nothing' % name)
        return found


def every_note(doc):
    """All that is said in an answer, wherever it stands."""
    if isinstance(doc, list):
        return set().union(*map(every_note, doc))
    if not isinstance(doc, dict):
        return set()
    found = set()
    for key, value in doc.items():
        if key in ('skipped', 'warnings', 'withheld', 'coverage', 'unknown') and isinstance(value, list):
            found |= {json.dumps(row, sort_keys=True) for row in value}
        else:
            found |= every_note(value)
    return found


def answer_of(doc):
    """An answer without what differs from run to run, or follows from the size of files."""
    if isinstance(doc, list):
        return [answer_of(each) for each in doc]
    if not isinstance(doc, dict):
        return doc
    leave = ('elapsed_ns', 'timings', 'fingerprint', 'outputs', 'path') + (('bytes',) if 'sources' in doc else ())
    return {key: answer_of(value) for key, value in doc.items() if key not in leave}


def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def judge(fault, truth, status, stdout, err):
    sound_status, sound = truth
    if status not in (0, 1, 3) or 'Sanitizer' in err or 'runtime error' in err:
        return ['ends with %s: %s' % (status, err[-400:])], 'crash', ''
    if status == 1:
        if not err.strip():
            return ['fails without a word'], 'failed', ''
        return [], 'failed', err.strip().splitlines()[0]
    try:
        doc = json.loads(stdout, parse_constant=lambda c: 1 / 0)
    except (ValueError, ZeroDivisionError):
        return ['prints no JSON'], 'crash', ''
    if plain(doc) == plain(sound):
        return ([] if status == sound_status else ['the same answer with status %d' % status]), 'same', ''
    new = said(doc) - said(sound)
    notes = '; '.join(sorted(new))
    complaints = []
    if fault.expect == 'same' and figures(doc) != figures(sound):
        complaints.append('the damage is none, and the answer changes')
    if not new and status == sound_status and fault.expect != 'none':
        complaints.append('nothing is said')
    return complaints + compare(fault, figures(sound), figures(doc), status), 'said' if new else 'silent', '%d %s' % (status, notes)


def compare(fault, true, got, status):
    complaints = []
    totals = {}
    for key in set(true) | set(got):
        # What is lost for one step may be found in its neighbour, an operator without a communicator in one of its own:
        # sums are compared over all of them. Computing is that of the ranks of each communicator.
        if key[0] == 'comm' and key[-1] == 'computing_ns':
            continue
        total = totals.setdefault(key[:1] + key[2:] if key[0] == 'step' else key[:1] + key[3:] if key[0] == 'comm' else key, [0, 0])
        total[0] += true.get(key, 0)
        total[1] += got.get(key, 0)
    for key, (value, have) in totals.items():
        if key[-1] in SUMS and value > 0 and have > value * 1.001 + 1:
            complaints.append('%s is %s instead of %s' % ('/'.join(map(str, key)), have, value))
    speeds = [v for k, v in true.items() if k[-1] in SPEEDS]
    for key, value in got.items():
        if value < 0 and not true.get(key, 0) < 0 and key[-1] != 'growth_bytes_per_step':
            complaints.append('%s is %s' % ('/'.join(map(str, key)), value))
    for key, value in true.items():
        have = got.get(key)
        where = '%s is %s instead of %s' % ('/'.join(map(str, key)), have, value)
        if have is None or have == value:
            continue
        if key[0] == 'step' and key[2] == 0 and not fault.whole:
            complaints.append('the other rank: ' + where)
        elif have == 0 and value != 0 and key[-1] not in ('wait_ns', 'bubble_ns', 'between_ns', 'growth_bytes_per_step', 'overlapped_ns'):
            complaints.append(where)
        elif status == 0 and key[0] == 'memory' and have <= value:
            pass    # the most that another table saw, which is said
        elif status == 0 and (key[0] != 'comm' or key[-1] not in ('wait_ns', 'transit_ns')):
            complaints.append('status 0: ' + where)
        elif key[-1] in SPEEDS and not 0.5 * min(speeds) <= have <= 1.1 * max(speeds):
            complaints.append(where)
    return complaints[:6]


def chosen(arguments):
    faults = list(harm.all_faults())
    if arguments.only:
        faults = [f for f in faults if re.search(arguments.only, f.name)]
    if arguments.every > 1:
        # By name, so that a fault that is added moves no other one in or out.
        faults = [f for f in faults if int(hashlib.sha1(f.name.encode()).hexdigest(), 16) % arguments.every == 0]
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('--every', type=int, default=1, help='one of N faults, chosen by their names')
    parser.add_argument('--only', help='faults whose name matches')
    parser.add_argument('--commands', action='store_true', help='info, whatif, advisor and memory as well')
    parser.add_argument('--list', action='store_true')
    parser.add_argument('-j', '--jobs', type=int, default=1)
    parser.add_argument('-v', '--verbose', action='store_true', help='how each fault was taken')
    arguments = parser.parse_args()
    faults = chosen(arguments)
    if arguments.list:
        print('\n'.join(f.name for f in faults))
        return 0
    work = tempfile.mkdtemp(prefix='npuprof-faults.', dir=os.environ.get('TMPDIR') or None)
    counts = {}
    bad = 0
    try:
        bench = Bench(arguments.build, work, arguments.commands)
        for form in sorted({f.form for f in faults}):
            bench.prepare(form)
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for fault, (complaints, how, notes) in zip(faults, pool.map(bench.one, faults)):
                counts[how] = counts.get(how, 0) + 1
                bad += bool(complaints)
                if complaints or arguments.verbose:
                    print('%s %s: %s | %s' % ('FAILED' if complaints else 'ok', fault.name, how, notes))
                for complaint in complaints:
                    print('    ' + complaint)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print('%d faults: %s; %d wrong' % (len(faults), ', '.join('%d %s' % (n, h) for h, n in sorted(counts.items())), bad))
    return 1 if bad or not faults else 0


if __name__ == '__main__':
    sys.exit(main())
