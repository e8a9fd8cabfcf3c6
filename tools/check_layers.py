#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the tree, checked: who may use whom, what is unique, how files open.

    check_layers.py SOURCE-DIRECTORY [BUILD-DIRECTORY]

SOURCE/tools/layers.txt is the table; it explains its rows. What a file uses is read from
its #include lines and from the symbols of its object (nm, once over all objects below
the build directory). Every fault is one line: file:line: what; what to do.
Exit status: 0 all is well, 1 faults, 2 the table cannot be read.
"""
import collections
import os
import re
import subprocess
import sys

MOST_SOURCES = 25
MOST_README_LINES = 60
MOST_EXCEPTIONS = 3
# What C libraries round as they like, for any precision.
ROUNDED = re.compile(r'\b(exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|cbrt|hypot|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh'
                     r'|erf|erfc|lgamma|tgamma)(_r)?[fl]?\(')
PRINTS = re.compile(r'\b(printf|puts|putchar|perror|_?exit|abort)\(|\b(stdout|stderr)\b')
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)
TAG = re.compile(r'\b(struct|union|enum)\s+(\w+)\s*\{')
GUARD = re.compile(r'^#ifndef (\w+)\n#define (\w+)[^\S\n]*$', re.M)


class TableError(Exception):
    pass


class Table:
    """tools/layers.txt, read."""

    LISTS = ('code', 'tests', 'features', 'library', 'program', 'silent', 'exact', 'exports')

    def __init__(self, path, name):
        self.name = name
        self.line = {}                          # folder -> line of its row
        self.uses = {}                          # folder -> folders it may use
        self.groups = {}
        self.exceptions = {}                    # (user, provider) -> line
        self.headers = {}                       # public header -> home
        self.only = {}                          # foreign header -> pattern of files
        self.parts = {}                         # file -> the folder that it stands for
        self.foreign = None
        self.tags = 'all'
        for word in self.LISTS:
            setattr(self, word, [])
        rows = []
        with open(path, encoding='utf-8') as file:
            for number, line in enumerate(file, 1):
                line = line.split('#')[0].strip()
                if line:
                    rows.append((number, *self._split(number, line)))
        for number, left, right in rows:
            self._enter(number, left.split(), right)
        for folder, words in self.uses.items():
            self.uses[folder] = self._expand(folder, words)

    def _fail(self, number, what):
        raise TableError('%s:%d: %s' % (self.name, number, what))

    def _split(self, number, line):
        left, colon, right = line.partition(':')
        if not colon or not left.strip():
            self._fail(number, "no colon; write 'folder : folders it may use'")
        return left.strip(), right.strip()

    def _enter(self, number, left, right):
        word, rest = left[0], left[1:]
        if word in self.LISTS and not rest:
            getattr(self, word).extend(right.split())
        elif word == 'tags' and not rest:
            if right not in ('all', 'headers'):
                self._fail(number, "tags are 'all' or 'headers'")
            self.tags = right
        elif word == 'foreign' and not rest:
            self.foreign = re.compile(right)
        elif word == 'group' and len(rest) == 1:
            self.groups[rest[0]] = [f for w in right.split() for f in self.groups.get(w, [w])]
        elif word == 'header' and len(rest) == 1:
            self.headers[rest[0]] = right
        elif word == 'only' and len(rest) == 1:
            self.only[rest[0]] = re.compile(right)
        elif word == 'part' and len(rest) == 1:
            self.line.setdefault(rest[0], number)
            self.parts.update((file, rest[0]) for file in right.split())
        elif word == 'except' and len(rest) == 2:
            if not right:
                self._fail(number, 'an exception without a reason; say why')
            self.exceptions[tuple(rest)] = number
        elif not rest:
            if word in self.uses:
                self._fail(number, '%s has a row already; join the two' % word)
            self.uses[word] = (number, right.split())
            self.line[word] = number
        else:
            self._fail(number, "not understood: '%s'" % ' '.join(left))

    def _expand(self, folder, row):
        number, words = row
        result = set()
        for word in words:
            for name in self.groups.get(word, [word]):
                if name.endswith('/*'):
                    found = [f for f in self.uses if f.startswith(name[:-1])]
                else:
                    found = [f for f in self.uses if f == name]
                if not found:
                    self._fail(number, '%s names %s, which has no row; remove or add it'
                               % (folder, name))
                result.update(found)
        return result - {folder}

    def allows(self, user, provider):
        return user == provider or provider in self.uses.get(user, ())


class File:
    """One C file: its text, with comments blanked (code) and strings as well (bare)."""

    def __init__(self, root, path):
        self.path = path
        self.folder = os.path.dirname(path)
        self.name = os.path.basename(path)
        with open(os.path.join(root, path), encoding='utf-8', errors='replace') as file:
            self.text = file.read()
        blank = lambda m: m.group(1) or re.sub(r'[^\n]', ' ', m.group(0))
        self.code = COMMENT.sub(blank, self.text)
        self.bare = STRING.sub('""', self.code)
        # (line, is it in quotes, name)
        self.includes = [(line_of(self.code, m.start(1)), m.group(1) == '"', m.group(2))
                         for m in INCLUDE.finditer(self.code)]

    def is_source(self):
        return self.name.endswith('.c')


def line_of(text, offset):
    return text.count('\n', 0, offset) + 1


def is_below(path, folders):
    """Is the path one of these folders, or in one of them?"""
    return any(path == f or path.startswith(f + '/') for f in folders)


def components(nodes, uses):
    """The strongly connected components (Tarjan's), as lists."""
    index, low, stack, result = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(uses.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            result.append(stack[at:])
            del stack[at:]

    for node in sorted(nodes):
        if node not in index:
            visit(node)
    return result


def way(uses, start, end):
    """A shortest way from start to end along uses, as a list of folders, or None."""
    before, queue = {}, collections.deque([start])
    while queue:
        node = queue.popleft()
        for other in sorted(uses.get(node, ())):
            if other == end:
                result = [end, node]
                while result[-1] != start:
                    result.append(before[result[-1]])
                return result[::-1]
            if other != start and other not in before:
                before[other] = node
                queue.append(other)
    return None


class Tree:
    """The files, what they include, and what their objects define and need."""

    def __init__(self, root, build, table):
        self.root, self.build, self.table = root, build, table
        self.files = {}
        for top in table.code + table.tests:
            for folder, folders, names in os.walk(os.path.join(root, top)):
                folders.sort()
                for name in sorted(names):
                    if name.endswith(('.c', '.h')):
                        path = os.path.relpath(os.path.join(folder, name), root)
                        self.files[path] = File(root, path)
        self.sources = [f for f in self.files.values() if f.is_source()]
        self.headers = [f for f in self.files.values() if not f.is_source()]
        self.by_name = collections.defaultdict(list)
        for header in self.headers:
            self.by_name[header.name].append(header.path)
        self.homeless = []                      # (public header, folders that have its source)
        self.home = {h.path: self._home(h) for h in self.headers}
        self.targets = collections.defaultdict(set)     # source -> targets it is built into
        self.defined = collections.defaultdict(set)     # symbol -> sources
        self.needed = collections.defaultdict(set)
        self._read_objects()

    def is_test(self, path):
        return is_below(path, self.table.tests)

    def _home(self, header):
        if not is_below(header.path, ['include']):
            return self.table.parts.get(header.path, header.folder)
        if header.name in self.table.headers:
            return self.table.headers[header.name]
        stem = header.name[:-2]
        code = [s for s in self.sources if not self.is_test(s.path)]
        users = [s for s in code if any(header.path == os.path.join('include', name)
                                        for _, _, name in s.includes)]
        # The source of that name, or those whose names begin with it: if there are several,
        # those that include it.
        for sources in (users, code):
            homes = sorted(
                {self.folder_of(s.path) for s in sources if s.name == stem + '.c'} or
                {self.folder_of(s.path) for s in sources if s.name.startswith(stem + '_')})
            if homes:
                break
        if len(homes) != 1:
            self.homeless.append((header.path, homes))
        return homes[0] if len(homes) == 1 else None

    def folder_of(self, path):
        """The folder, as the table calls it, that a file belongs to."""
        home = getattr(self, 'home', {}).get(path)
        return home or self.table.parts.get(path, os.path.dirname(path))

    def resolve(self, file, name):
        """The header that a file means by a name in quotes, or None."""
        for folder in (file.folder, 'include', ''):
            path = os.path.normpath(os.path.join(folder, name))
            if path in self.home:
                return path
        found = [p for p in self.by_name[os.path.basename(name)] if p.endswith('/' + name)]
        if not found:
            return None
        user = self.folder_of(file.path)
        # Of several the one that may be used, then the nearest.
        return max(sorted(found), key=lambda p: (
            self.table.allows(user, self.home[p]), len(os.path.commonprefix([p, file.path]))))

    def _objects(self):
        """(object, target, source) of every object whose source is there."""
        for folder, _, names in os.walk(self.build):
            before, mark, after = folder.partition('CMakeFiles/')
            target, dot, inner = after.partition('.dir')
            if not mark or not dot:
                continue
            inner = os.path.join(os.path.relpath(before, self.build), inner.lstrip('/'))
            for name in names:
                source = os.path.normpath(os.path.join(inner, name[:-2]))
                if name.endswith('.c.o') and source in self.files:
                    path = os.path.relpath(os.path.join(folder, name), self.build)
                    yield path, target, source

    def _read_objects(self):
        source_of = {}
        for path, target, source in self._objects() if self.build else ():
            source_of[path] = source
            self.targets[source].add(target)
        if not source_of:
            return
        out = subprocess.run(['nm', '-A', '-P', '-g', *source_of], cwd=self.build, text=True,
                             stdout=subprocess.PIPE, check=True).stdout
        foreign = self.table.foreign
        for line in out.splitlines():
            path, _, rest = line.partition(': ')
            symbol, kind = rest.split()[:2]
            if foreign and foreign.fullmatch(symbol):
                continue
            (self.needed if kind in 'Uvw' else self.defined)[symbol].add(source_of[path])

    def providers(self, symbol, user):
        """The sources that may be meant where user needs the symbol."""
        found = {s for s in self.defined.get(symbol, ()) if not self.is_test(s)} - {user}
        if user in self.defined.get(symbol, ()):
            return set()
        if len(found) > 1:
            found = {s for s in found if self.targets[s] & self.targets[user]} or found
        return found

    def symbol_uses(self):
        """(user, provider) -> symbols, of code without tests and without ambiguous symbols."""
        result = collections.defaultdict(set)
        for symbol, users in self.needed.items():
            for user in users:
                if self.is_test(user):
                    continue
                found = self.providers(symbol, user)
                folder = self.folder_of(user)
                if len(found) > 1 and any(self.table.allows(folder, self.folder_of(s))
                                          for s in found):
                    continue
                if found:
                    result[user, min(found)].add(symbol)
        return result


class Check:
    def __init__(self, tree):
        self.tree, self.table = tree, tree.table
        self.faults = []
        self.edges = collections.defaultdict(dict)      # user -> provider -> what for
        self.code = [f for f in tree.files.values() if not tree.is_test(f.path)]

    def fault(self, path, line, what):
        self.faults.append((path, line, what))

    def run(self):
        self.rows()
        self.include_lines()
        self.symbols()
        self.cycles()
        self.exceptions()
        self.tags()
        self.guards()
        self.source_names()
        self.header_names()
        self.openings()
        self.sizes()
        self.readmes()
        return self.faults

    # Folders and who uses whom

    def rows(self):
        table, tree = self.table, self.tree
        folders = {}
        for file in self.code:
            folders.setdefault(tree.folder_of(file.path), file.path)
        for folder, path in sorted(folders.items()):
            if folder not in table.uses and not is_below(path, ['include']):
                self.fault(path, 1, 'folder %s has no row in %s; add one' % (folder, table.name))
        for folder in table.uses:
            if folder not in folders:
                self.fault(table.name, table.line[folder],
                           'no files in %s; remove the row' % folder)
        for path in table.parts:
            if path not in tree.files:
                self.fault(table.name, table.line[table.parts[path]],
                           'no file %s; remove it' % path)
        for name in table.headers:
            if 'include/npuprof/' + name not in tree.files and 'include/' + name not in tree.files:
                self.fault(table.name, 1, "no header %s; remove 'header %s'" % (name, name))
        for path, homes in tree.homeless:
            self.fault(path, 1, 'its source is in %s; name its folder in %s'
                       % (' and '.join(homes) or 'no folder', table.name))

    def _refuse(self, user, provider, path, line, what):
        """Note an edge between folders; refuse it unless the table has it."""
        if user == provider:
            return
        self.edges[user].setdefault(provider, '%s %s' % (path, what))
        if self.table.allows(user, provider) or (user, provider) in self.table.exceptions:
            return
        if user not in self.table.uses:
            return
        back = way(self.table.uses, provider, user)
        remedy = 'this would close the cycle %s' % ' -> '.join([user] + back) if back else \
            'move one of the two, or let the row of %s name it' % user
        self.fault(path, line, '%s may not use %s (%s); %s' % (user, provider, what, remedy))

    def include_lines(self):
        tree, table = self.tree, self.table
        for file in self.code:
            user = tree.folder_of(file.path)
            for line, quoted, name in file.includes:
                pattern = table.only.get(name)
                if pattern and not pattern.fullmatch(file.path):
                    self.fault(file.path, line, '%s is included only by %s; call what they offer'
                               % (name, pattern.pattern))
                if not quoted or pattern:
                    continue
                if name.startswith('../') or '/../' in name:
                    self.fault(file.path, line, '"%s": no ../; name it from its folder' % name)
                path = tree.resolve(file, name)
                if not path:
                    self.fault(file.path, line, '"%s": no such header; correct the name' % name)
                    continue
                mine, its = file.path.split('/')[0], path.split('/')[0]
                if mine != its and mine in table.features and its in table.features:
                    self.fault(file.path, line, '%s is private to %s; declare what is shared in '
                               'include/npuprof' % (path, its))
                if tree.home[path]:
                    self._refuse(user, tree.home[path], file.path, line, 'includes ' + path)
        self._silence()
        self._exactness()

    def _silence(self):
        for file in self.code:
            if not is_below(self.tree.folder_of(file.path), self.table.silent):
                continue
            for found in PRINTS.finditer(file.bare):
                self.fault(file.path, line_of(file.bare, found.start()),
                           '%s: this folder does not print or exit; return an error'
                           % found.group(0).rstrip('('))

    def _exactness(self):
        for file in self.code:
            if not is_below(self.tree.folder_of(file.path), self.table.exact):
                continue
            for found in ROUNDED.finditer(file.bare):
                self.fault(file.path, line_of(file.bare, found.start()),
                           '%s: rounded otherwise by other C libraries; npuprof/elementary.h has it'
                           % found.group(0).rstrip('('))

    def symbols(self):
        tree = self.tree
        for (user, provider), symbols in sorted(tree.symbol_uses().items()):
            symbols = sorted(symbols)
            text = tree.files[user].bare
            found = re.search(r'\b%s\b' % symbols[0], text)
            line = line_of(text, found.start()) if found else 1
            names = ' '.join(symbols[:3]) + ' …' * (len(symbols) > 3)
            what = 'needs %s of %s' % (names, provider)
            self._refuse(tree.folder_of(user), tree.folder_of(provider), user, line, what)

    def cycles(self):
        allowed = {user: {p for p in uses} for user, uses in self.table.uses.items()}
        self._cycles_of(allowed, 'the table allows the cycle', lambda a, b: '')
        actual = {user: {p for p in uses if (user, p) not in self.table.exceptions}
                  for user, uses in self.edges.items()}
        self._cycles_of(actual, 'cycle', lambda a, b: ' (%s)' % self.edges[a][b])

    def _cycles_of(self, uses, title, why):
        for part in components(uses, uses):
            if len(part) == 1:
                continue
            inner = {f: set(uses.get(f, ())) & set(part) for f in part}
            # The shortest of the component.
            round_trip = min((way(inner, f, f) for f in sorted(part)), key=len)
            text = ' -> '.join([round_trip[0]] + [
                b + why(a, b) for a, b in zip(round_trip, round_trip[1:])])
            self.fault(self.table.name, self.table.line.get(round_trip[0], 1),
                       '%s %s; cut one of its steps' % (title, text))

    def exceptions(self):
        table = self.table
        for count, ((user, provider), line) in enumerate(table.exceptions.items(), 1):
            title = 'except %s %s' % (user, provider)
            if count > MOST_EXCEPTIONS:
                self.fault(table.name, line, '%s: %d exceptions are the most; cut a cycle'
                           % (title, MOST_EXCEPTIONS))
            if provider not in self.edges.get(user, ()):
                self.fault(table.name, line, '%s: not used any more; remove it' % title)
            elif table.allows(user, provider):
                self.fault(table.name, line, '%s: the row allows it; remove one of the two' % title)
            elif not way(table.uses, provider, user):
                self.fault(table.name, line, '%s: it closes no cycle; move it to the row of %s'
                           % (title, user))

    # What is unique

    def tags(self):
        where = collections.defaultdict(list)
        for file in self.tree.files.values():
            if file.is_source() and self.tree.is_test(file.path):
                continue
            for found in TAG.finditer(file.bare):
                where[found.group(2)].append((file, found.start()))
        for tag, places in sorted(where.items()):
            if self.table.tags == 'headers' and all(f.is_source() for f, _ in places):
                continue
            first, start = places[0]
            for file, at in places[1:]:
                if file is first and self._is_alternative(file, start, at):
                    continue
                self.fault(file.path, line_of(file.bare, at), 'tag %s is defined in %s:%d as well; '
                           'rename one' % (tag, first.path, line_of(first.bare, start)))

    @staticmethod
    def _is_alternative(file, one, other):
        """Do two definitions stand in different branches of an #if?"""
        return re.search(r'^#\s*(else|elif)\b', file.bare[one:other], re.M) is not None

    def guards(self):
        owner = {}
        for header in self.tree.headers:
            found = GUARD.search(header.code)
            if not found or found.group(1) != found.group(2):
                self.fault(header.path, 1, 'no include guard; open with #ifndef and #define')
                continue
            guard, line = found.group(1), line_of(header.code, found.start())
            name = re.sub(r'\W', '_', header.name).upper()
            if not (guard == name or guard.endswith('_' + name)):
                self.fault(header.path, line, 'guard %s is not made of the name of the file; '
                           'end it in %s' % (guard, name))
            if guard in owner:
                self.fault(header.path, line, 'guard %s is that of %s as well; put the folder '
                           'into one' % (guard, owner[guard]))
            owner.setdefault(guard, header.path)

    def unit_of(self, path):
        """The innermost library or program that a file is part of, or its top folder."""
        units = [f for f in self.table.library + self.table.program if is_below(path, [f])]
        return max(units, key=len, default=path.split('/')[0])

    def _archives(self):
        """The targets that are static libraries."""
        result = set()
        for folder, folders, names in os.walk(self.tree.build or os.devnull):
            if 'CMakeFiles' in folders:
                folders.remove('CMakeFiles')
            result.update(n[3:-2] for n in names if n.startswith('lib') and n.endswith('.a'))
        return result

    def source_names(self):
        archives = self._archives()
        owner, told = {}, set()
        for file in self.code:
            if not file.is_source():
                continue
            units = {self.unit_of(file.path)}
            units |= {t for t in self.tree.targets[file.path] if t in archives}
            for unit in sorted(units):
                other = owner.setdefault((unit, file.name), file.path)
                if other != file.path and (other, file.path) not in told:
                    told.add((other, file.path))
                    self.fault(file.path, 1, '%s of %s has this name as well; rename one'
                               % (other, unit))

    def _included(self, path, seen):
        """Add what a file includes, directly or not, to seen."""
        for _, quoted, name in self.tree.files[path].includes:
            header = self.tree.resolve(self.tree.files[path], name) if quoted else None
            if header and header not in seen:
                seen.add(header)
                self._included(header, seen)

    def header_names(self):
        """No target sees two headers of one name."""
        headers = collections.defaultdict(set)
        for file in self.code:
            if file.is_source():
                for target in self.tree.targets[file.path] or {self.unit_of(file.path)}:
                    self._included(file.path, headers[target])
        pairs = {}
        for target, paths in sorted(headers.items()):
            names = {}
            for path in sorted(paths):
                other = names.setdefault(os.path.basename(path), path)
                if other != path:
                    pairs.setdefault((other, path), target)
        for (other, path), target in pairs.items():
            self.fault(path, 1, '%s has this name as well, and %s is built of both; rename one'
                       % (other, target))

    # How files open, how many there are

    def openings(self):
        for file in self.code:
            if not opens_with_sentence(file):
                place = 'licence' if file.is_source() else 'guard'
                self.fault(file.path, 2, 'no sentence that says what this is; put it into a '
                           'comment right below the ' + place)
            own = self._own_header(file)
            if own and [self.tree.resolve(file, n) for _, q, n in file.includes[:1] if q] != [own]:
                line = file.includes[0][0] if file.includes else 1
                self.fault(file.path, line, 'does not include its own header first; begin with %s'
                           % own)

    def _own_header(self, file):
        if not file.is_source():
            return None
        name = file.name[:-2] + '.h'
        private = os.path.join(file.folder, name)
        if private in self.tree.files:
            return private
        public = 'include/npuprof/' + name
        mine = self.tree.folder_of(file.path)
        return public if public in self.tree.files and self.tree.home[public] == mine else None

    def sizes(self):
        count = collections.Counter(s.folder for s in self.tree.sources)
        for folder, number in sorted(count.items()):
            if number > MOST_SOURCES:
                self.fault(folder, 1, '%d sources are in this folder, %d are the most; divide it'
                           % (number, MOST_SOURCES))

    def readmes(self):
        for folder in self.table.library:
            path = os.path.join(folder, 'README.md')
            try:
                with open(os.path.join(self.tree.root, path), encoding='utf-8') as file:
                    lines = sum(1 for _ in file)
            except FileNotFoundError:
                self.fault(path, 1, 'a library has a page: what comes in, what goes out, which '
                           'file answers what; write it')
                continue
            if lines > MOST_README_LINES:
                self.fault(path, MOST_README_LINES, '%d lines, a page has %d; shorten it'
                           % (lines, MOST_README_LINES))


def opens_with_sentence(file):
    """Is the first thing a comment with a sentence? A header may have its #includes before it."""
    text = file.text.partition('\n')[2].lstrip()
    if not file.is_source() and not text.startswith('/*'):
        text = re.sub(r'\A#ifndef \w+\n#define \w+[^\n]*\n(#include[^\n]*\n|\s+)*', '', text)
    found = re.match(r'/\*(.*?)\*/', text, re.S)
    if not found:
        return False
    return re.search(r'\w+\W+\w+.*[.?!:;]["\')]?(\s|$)', found.group(1), re.S) is not None


def load(arguments):
    """(tree, note about what could not be seen) of source directory and build directory"""
    root = arguments[0]
    build = arguments[1] if len(arguments) > 1 else ''
    table = Table(os.path.join(root, 'tools/layers.txt'), 'tools/layers.txt')
    tree = Tree(root, build, table)
    code = [s for s in tree.sources if not tree.is_test(s.path)]
    without = [s.path for s in code if s.path not in tree.targets]
    note = ''
    if without:
        note = 'note: %d of %d sources have no object%s, so their symbols are not checked' % (
            len(without), len(code), ' below ' + build if build else '')
    return tree, note


def main(arguments):
    if not 1 <= len(arguments) <= 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        tree, note = load(arguments)
    except (OSError, TableError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 2
    faults = Check(tree).run()
    for path, line, what in sorted(set(faults)):
        print('%s:%d: %s' % (path, line, what), file=sys.stderr)
    if note:
        print(note)
    if faults:
        number = len(set(faults))
        print('%d fault%s' % (number, 's' * (number != 1)), file=sys.stderr)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
