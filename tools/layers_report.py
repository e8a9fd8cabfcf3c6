#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is a question about the tree and not yet a fault: check-layers.sh --report.

    layers_report.py SOURCE-DIRECTORY BUILD-DIRECTORY

Counts first, then lists: edges between folders, permissions that nobody uses, public headers
that one folder uses, functions that nobody or only tests call, prototypes with one customer,
sources that serve one other source.
"""
import collections
import os
import re
import signal
import subprocess
import sys

import check_layers as layers

MERGED_LINES = 700
WORDS = {'int', 'void', 'char', 'double', 'bool', 'sizeof'}     # before a parenthesis, but no names


def prototypes(header):
    """The names of the functions that a header declares."""
    text = re.sub(r'(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', '', header.bare)
    flat, depth = [], 0
    for char in text:
        depth -= char == '}'
        flat.append(char if depth == 0 and char not in '{}' or char == '\n' else
                    ';' if char == '}' and depth == 0 else ' ')
        depth += char == '{'
    for part in ''.join(flat).split(';'):
        if re.search(r'\b(typedef|static)\b|=', part):
            continue
        for found in re.finditer(r'\b(\w+)\s*\(', part):
            name = found.group(1)
            if not name.isupper() and not name.startswith('__') and name not in WORDS:
                yield name
                break


class Report:
    def __init__(self, tree):
        self.tree = tree
        self.code = [f for f in tree.files.values() if not tree.is_test(f.path)]
        self.sources = [f for f in self.code if f.is_source()]
        self.headers = [f for f in self.code if not f.is_source()]
        self.uses = tree.symbol_uses()
        self.users = collections.defaultdict(set)       # symbol -> sources that need it
        for (user, _), symbols in self.uses.items():
            for symbol in symbols:
                self.users[symbol].add(user)
        self.check = layers.Check(tree)
        self.check.include_lines()
        self.check.symbols()
        self.declared = {}                              # function -> header
        for header in self.headers:
            for name in prototypes(header):
                self.declared.setdefault(name, header.path)

    def home(self, symbol):
        """The source that defines a symbol, if it is one of code."""
        found = [s for s in self.tree.defined.get(symbol, ()) if not self.tree.is_test(s)]
        return found[0] if len(found) == 1 else None

    def is_export(self, path):
        return layers.is_below(path, self.tree.table.exports)

    def single_customers(self):
        return sorted((header, name, self.home(name), min(self.users[name]))
                      for name, header in self.declared.items()
                      if self.home(name) and len(self.users[name]) == 1)

    def unused(self):
        """(source, symbol, tests that need it) of what no code outside its source needs"""
        for symbol in sorted(self.tree.defined):
            source = self.home(symbol)
            if not source or symbol == 'main' or self.users[symbol] or self.is_export(source):
                continue
            yield source, symbol, sorted(self.tree.needed.get(symbol, set()) - {source})

    def servants(self):
        """(source, the one source of its folder that uses it, lines of both)"""
        by = collections.defaultdict(set)
        for user, provider in self.uses:
            by[provider].add(user)
        for source, users in sorted(by.items()):
            user = min(users)
            if len(users) == 1 and os.path.dirname(user) == os.path.dirname(source):
                yield source, user, sum(self.tree.files[p].text.count('\n') for p in (source, user))

    def subjects(self):
        """(folder, subjects in cycles, subjects): a subject is the first word of a name"""
        folders = collections.defaultdict(lambda: collections.defaultdict(set))
        for source in self.sources:
            folders[source.folder][subject(source.path)] |= set()
        for user, provider in self.uses:
            folder = os.path.dirname(user)
            if folder == os.path.dirname(provider) and subject(user) != subject(provider):
                folders[folder][subject(user)].add(subject(provider))
        for folder, uses in sorted(folders.items()):
            round_trips = [c for c in layers.components(uses, uses) if len(c) > 1]
            if round_trips:
                yield folder, round_trips, len(uses)

    def lonely_headers(self):
        """(public header, its home, folders that include it): two at most"""
        users = collections.defaultdict(set)
        for file in self.code:
            for _, quoted, name in file.includes:
                path = self.tree.resolve(file, name) if quoted else None
                if path:
                    users[path].add(self.tree.folder_of(file.path))
        for header in self.headers:
            home = self.tree.home[header.path]
            others = users[header.path] - {home}
            if layers.is_below(header.path, ['include/npuprof']) and len(others) <= 1:
                yield header.path, home, ' '.join(sorted(others)) or 'nobody else'

    # Printing

    def print(self):
        self.print_counts()
        self.print_folders()
        for title, rows in (
                ('subjects of a folder in cycles', (
                    '%s: %s (of %d)' % (f, ', '.join(' '.join(c) for c in trips), n)
                    for f, trips, n in self.subjects())),
                ('permissions that nobody uses', self.permissions()),
                ('public headers that one folder uses (move them there)', (
                    '%s: of %s, used by %s' % row for row in self.lonely_headers())),
                ('functions that nobody calls outside their source (static, or away)', (
                    '%s: %s' % (s, n) for s, n, tests in self.unused() if not tests)),
                ('functions that only tests call', (
                    '%s: %s (%s)' % (s, n, ' '.join(tests[:3]))
                    for s, n, tests in self.unused() if tests)),
                ('prototypes with one customer (static after a merge?)', (
                    '%s: %s of %s, called by %s' % row for row in self.single_customers())),
                ('sources that serve one other source of their folder', (
                    '%s: serves %s, %d lines together' % row for row in self.servants()))):
            rows = list(rows)
            print('\n%s: %d' % (title, len(rows)))
            for row in sorted(rows):
                print('  ' + row)

    def print_counts(self):
        lines = lambda paths: sum(self.tree.files[p].text.count('\n') for p in paths)
        everything = {f.path for f in self.code}
        sim = {p for p in everything if layers.is_below(p, ['sim'])}
        tests = lines(set(self.tree.files) - everything) + shell_lines(self.tree)
        code = lines(everything - sim)
        servants = list(self.servants())
        sizes = collections.Counter(s.folder for s in self.sources).most_common(5)
        opened = sum(map(layers.opens_with_sentence, self.sources))
        twice = collections.Counter(
            what.split()[0] for _, _, what in self._uniqueness())
        for name, value in (
                ('sources / headers without tests',
                 '%d / %d' % (len(self.sources), len(self.headers))),
                ('public headers', sum(layers.is_below(h.path, ['include']) for h in self.headers)),
                ('largest folders', ', '.join('%s %d' % s for s in sizes)),
                ('prototypes in headers', len(self.declared)),
                ('  called from one other file', len(self.single_customers())),
                ('sources that serve one of their folder', len(servants)),
                ('  pairs below %d lines' % MERGED_LINES,
                 sum(n < MERGED_LINES for _, _, n in servants)),
                ('sources that open with a sentence', '%d of %d' % (opened, len(self.sources))),
                ('test : code', '%.2f (%.2f with sim as test equipment)' % (
                    tests / max(code + lines(sim), 1), (tests + lines(sim)) / max(code, 1))),
                ('asserts', sum(len(re.findall(r'\bassert\(', f.bare)) for f in self.code)),
                ('tags / guards used twice', '%d / %d' % (twice['tag'], twice['guard']))):
            print('%-42s %s' % (name, value))

    def _uniqueness(self):
        check = layers.Check(self.tree)
        check.tags()
        check.guards()
        return check.faults

    def print_folders(self):
        edges = collections.defaultdict(set)
        for (user, provider), symbols in self.uses.items():
            edges[self.tree.folder_of(user), self.tree.folder_of(provider)] |= symbols
        print('\nedges between folders (symbols):')
        for user in sorted(self.check.edges):
            for provider in sorted(self.check.edges[user]):
                symbols = sorted(edges.get((user, provider), ()))
                mark = ' ' if self.tree.table.allows(user, provider) else '!'
                print('%s %s -> %s: %d %s' % (mark, user, provider, len(symbols),
                                              ' '.join(symbols[:4]) or '(includes only)'))

    def permissions(self):
        for user, uses in self.tree.table.uses.items():
            unused = sorted(uses - set(self.check.edges.get(user, ())))
            if unused:
                yield '%s: %s' % (user, ' '.join(unused))


def subject(path):
    return re.split(r'[_.]', os.path.basename(path))[0]


def shell_lines(tree):
    count = 0
    for top in tree.table.tests:
        for folder, _, names in os.walk(os.path.join(tree.root, top)):
            for name in names:
                if name.endswith('.sh') and layers.is_below(top, ['tests']):
                    with open(os.path.join(folder, name), encoding='utf-8') as file:
                        count += sum(1 for _ in file)
    return count


def main(arguments):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        tree, note = layers.load(arguments)
    except (OSError, layers.TableError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 2
    if note:
        print(note)
    Report(tree).print()
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
