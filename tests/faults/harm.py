# SPDX-License-Identifier: Apache-2.0
"""The faults: every way in which one rank of a small sound run is damaged, as a list that is the same each time.

A fault is a name, the form of the run, what is done to rank 1 (files below its directory, or of the whole run) and what
may be expected at most: 'said' (the answer may change, and then that is said) or 'same' (the answer is that of the sound
run: the damage is none). Names read family/file/place/value, and nothing in them is random.
"""
import gzip
import json
import os
import re
import shutil
import sqlite3
import struct


class Fault:
    """One way to damage a run."""

    def __init__(self, name, form, damage, expect='said', whole=False):
        self.name = name
        self.form = form
        self.damage = damage    # called with a Target
        self.expect = expect
        self.whole = whole      # also the other rank may change


class Target:
    """A copy of a sound run whose files may be changed; those that are, are no longer links to it."""

    def __init__(self, root, rank_dir):
        self.root = root
        self.rank_dir = rank_dir

    def path(self, pattern):
        """The one file of rank 1 (or, with ^, of the run) whose path matches, as a file of its own."""
        top = self.root if pattern.startswith('^') else self.rank_dir
        pattern = pattern.lstrip('^')
        found = [os.path.join(d, f) for d, _, files in os.walk(top) for f in files
                 if re.search(pattern + '$', os.path.join(d, f))]
        if len(found) != 1:
            raise LookupError('%s: %d files match' % (pattern, len(found)))
        own(found[0])
        return found[0]

    def sql(self, pattern, *statements):
        path = self.path(pattern)
        db = sqlite3.connect(path)
        db.execute('PRAGMA journal_mode=OFF')
        db.execute('PRAGMA writable_schema=ON')
        for statement in statements:
            try:
                done = db.execute(statement)
            except sqlite3.Error as error:
                raise LookupError('%s: %s' % (statement, error)) from error
            if statement.startswith('UPDATE') and done.rowcount < 1:
                raise LookupError('nothing to change: ' + statement)
        db.commit()
        db.close()

    def bytes(self, pattern, change):
        path = self.path(pattern)
        with open(path, 'rb') as file:
            data = file.read()
        changed = change(data)
        if changed == data:
            raise LookupError('%s: nothing changed' % pattern)
        with open(path, 'wb') as file:
            file.write(changed)


def own(path):
    """The file is a hard link to that of the sound run: make it one of its own."""
    if os.stat(path).st_nlink > 1:
        shutil.copy2(path, path + '.own')
        os.replace(path + '.own', path)


DB = r'(ascend_pytorch_profiler_\d+|msprof_\d+)\.db'
ANALYSIS = r'(analysis|communication_analyzer)\.db'

# What cannot be true of a number that counts, sizes or dates something. Text and blob have no number in them.
IMPOSSIBLE = {
    'minus1': '-1',
    'minus-huge': '-4611686018427387904',
    'int64-min': '-9223372036854775807 - 1',
    'int64-max': '9223372036854775807',
    'inf': '9e999',
    'minus-inf': '-9e999',
    '1e300': '1e300',
    'text': "'broken'",
    'blob': "x'00ff00ff'",
    'null': 'NULL',
}

# Times and sizes that figures are made of: table, columns. 4294967295 and INT64_MAX are the vendor's words for "none" in some.
DB_NUMBERS = {
    'TASK': ['startNs', 'endNs', 'globalTaskId', 'taskType', 'streamId', 'deviceId'],
    'COMPUTE_TASK_INFO': ['opType', 'taskType', 'name'],
    'COMMUNICATION_OP': ['startNs', 'endNs', 'count', 'dataType', 'groupName', 'opName', 'opType', 'opId'],
    'COMMUNICATION_TASK_INFO': ['size', 'globalTaskId', 'srcRank', 'dstRank', 'transportType', 'opId', 'taskType'],
    'STEP_TIME': ['id', 'startNs', 'endNs'],
    'MEMORY_RECORD': ['timestamp', 'totalAllocated', 'totalReserved', 'component'],
    'AICORE_FREQ': ['timestampNs', 'freq'],
    'CANN_API': ['startNs', 'endNs', 'connectionId', 'name'],
    'PYTORCH_API': ['startNs', 'endNs', 'connectionId', 'name'],
    'CONNECTION_IDS': ['connectionId'],
    'STRING_IDS': ['value'],
}


# Where a NULL, or the vendor's own word for it, says that nothing was recorded: unknown, and no damage. INT64_MIN is our own.
NONE = {'null', 'int64-min', 'int64-max'}
MAY_BE_NONE = {'TASK.taskType', 'TASK.streamId', 'COMPUTE_TASK_INFO.opType', 'COMPUTE_TASK_INFO.taskType', 'COMPUTE_TASK_INFO.name',
               'COMMUNICATION_OP.count', 'COMMUNICATION_OP.dataType', 'COMMUNICATION_OP.opType',
               'COMMUNICATION_TASK_INFO.size', 'COMMUNICATION_TASK_INFO.srcRank', 'COMMUNICATION_TASK_INFO.dstRank',
               'COMMUNICATION_TASK_INFO.transportType', 'COMMUNICATION_TASK_INFO.taskType', 'COMMUNICATION_TASK_INFO.opId',
               'MEMORY_RECORD.totalAllocated', 'MEMORY_RECORD.totalReserved', 'PYTORCH_API.name', 'PYTORCH_API.connectionId',
               'CONNECTION_IDS.connectionId'}
# Columns that older versions do not have.
MAY_BE_ABSENT = MAY_BE_NONE | {'TASK.deviceId', 'MEMORY_RECORD.timestamp'}


def expected(place, value):
    return 'none' if place in MAY_BE_NONE and value in NONE else 'said'


def db_values():
    for table, columns in DB_NUMBERS.items():
        for column in columns:
            for value, sql in IMPOSSIBLE.items():
                for scope, where in (('one', ' WHERE rowid = (SELECT max(rowid) FROM %s)' % table), ('all', '')):
                    if column in ('opId', 'connectionId') and table in ('COMMUNICATION_OP', 'CANN_API') and not sql.lstrip('-')[0:2].isdigit():
                        continue    # a primary key is an integer whatever one does
                    if table == 'STRING_IDS' and value in ('text', 'blob', 'minus1', 'minus-huge', 'int64-min', 'int64-max', 'inf', 'minus-inf', '1e300'):
                        continue
                    yield Fault('value/db/%s.%s/%s/%s' % (table, column, value, scope), 'db',
                                lambda t, s='UPDATE OR REPLACE %s SET %s = %s%s' % (table, column, sql, where): t.sql(DB, s),
                                expected('%s.%s' % (table, column), value))
    # Times that are numbers and still cannot be: backwards, of another age, in the future.
    for table, start, end in (('TASK', 'startNs', 'endNs'), ('COMMUNICATION_OP', 'startNs', 'endNs'), ('STEP_TIME', 'startNs', 'endNs')):
        for what, change in (('backwards', '%s = %s - 5000' % (end, start)),
                             ('zero', '%s = 0, %s = 0' % (start, end)),
                             ('a-year-on', '%s = %s + 31536000000000000, %s = %s + 31536000000000000' % (start, start, end, end)),
                             ('a-day-on', '%s = %s + 86400000000000, %s = %s + 86400000000000' % (start, start, end, end)),
                             ('a-day-long', '%s = %s + 86400000000000' % (end, start)),
                             ('in-us', '%s = %s / 1000, %s = %s / 1000' % (start, start, end, end))):
            scopes = {'one': ' WHERE rowid = (SELECT max(rowid) FROM %s)' % table}
            if what in ('backwards', 'zero'):
                scopes['all'] = ''
            for scope, where in scopes.items():
                yield Fault('time/db/%s/%s/%s' % (table, what, scope), 'db',
                            lambda t, s='UPDATE %s SET %s%s' % (table, change, where): t.sql(DB, s))
    for table, column in (('COMMUNICATION_TASK_INFO', 'size'), ('COMMUNICATION_OP', 'count'), ('MEMORY_RECORD', 'totalAllocated')):
        for what, value in (('1e17', '100000000000000000'), ('1e15+1', '1000000000000001'), ('minus-1.5', '-1.5')):
            for scope, where in (('one', ' WHERE rowid = (SELECT max(rowid) FROM %s WHERE %s > 100)' % (table, column)), ('all', '')):
                yield Fault('size/db/%s.%s/%s/%s' % (table, column, what, scope), 'db',
                            lambda t, s='UPDATE %s SET %s = %s%s' % (table, column, value, where): t.sql(DB, s))


ANALYSIS_NUMBERS = {
    'StepTraceTime': ['step', 'computing', 'communication', 'stage', 'free'],
    'CommAnalyzerBandwidth': ['transit_size', 'transit_time', 'bandwidth', 'count'],
    'CommAnalyzerMatrix': ['src_rank', 'transit_size', 'transit_time'],
    'CommAnalyzerTime': ['start_timestamp', 'elapse_time', 'transit_time', 'wait_time'],
}


def db_tables():
    tables = list(DB_NUMBERS) + ['META_DATA', 'SESSION_TIME_INFO', 'NPU_INFO', 'RANK_DEVICE_MAP', 'HOST_INFO', 'MEMCPY_INFO', 'OP_MEMORY',
                                 'NPU_MEM', 'NPU_MODULE_MEM', 'ENUM_HCCL_DATA_TYPE', 'ENUM_HCCL_TRANSPORT_TYPE', 'ENUM_HCCL_LINK_TYPE', 'ENUM_API_TYPE']
    for table in tables:
        yield Fault('table/db/%s/dropped' % table, 'db', lambda t, n=table: t.sql(DB, 'DROP TABLE ' + n))
        yield Fault('table/db/%s/emptied' % table, 'db', lambda t, n=table: t.sql(DB, 'DELETE FROM ' + n))
        yield Fault('table/db/%s/view' % table, 'db',
                    lambda t, n=table: t.sql(DB, 'ALTER TABLE %s RENAME TO OLD_%s' % (n, n), 'CREATE VIEW %s AS SELECT * FROM OLD_%s' % (n, n)))
    for table, columns in DB_NUMBERS.items():
        for column in columns:
            if table != 'STRING_IDS':
                yield Fault('column/db/%s.%s/renamed' % (table, column), 'db',
                            lambda t, n=table, c=column: t.sql(DB, 'ALTER TABLE %s RENAME COLUMN %s TO Other%s' % (n, c, c)),
                            'none' if '%s.%s' % (table, column) in MAY_BE_ABSENT else 'said')
    for table, columns in ANALYSIS_NUMBERS.items():
        for what, sql in (('dropped', 'DROP TABLE '), ('emptied', 'DELETE FROM ')):
            yield Fault('table/analysis/%s/%s' % (table, what), 'db', lambda t, s=sql + table: t.sql(ANALYSIS, s))


def analysis_only(target):
    """Rank 1 keeps its analysis.db alone."""
    os.remove(target.path(DB))


def analysis_values():
    for table, columns in ANALYSIS_NUMBERS.items():
        for column in columns:
            for value in ('minus1', 'int64-max', 'inf', 'text', 'null', '1e300'):
                yield Fault('value/analysis/%s.%s/%s' % (table, column, value), 'analysis',
                            lambda t, s='UPDATE %s SET %s = %s WHERE rowid = 1' % (table, column, IMPOSSIBLE[value]): t.sql(ANALYSIS, s),
                            'none' if (column, value) in (('stage', 'null'), ('stage', 'text'), ('transit_time', 'null'), ('wait_time', 'null'),
                                                          ('transit_time', 'text'), ('wait_time', 'text')) else 'said')


def cut(share):
    return lambda data: data[:int(len(data) * share)]


def overwrite(at, what):
    def change(data):
        place = int(len(data) * at)
        return data[:place] + what + data[place + len(what):]
    return change


def page(number, what):
    """Replace page `number` of a database; what(bytes) -> bytes of the same length."""
    def change(data):
        size = struct.unpack('>H', data[16:18])[0]
        size = 65536 if size == 1 else size
        at = number * size
        if at + size > len(data):
            at = len(data) - size
        return data[:at] + what(data[at:at + size]) + data[at + size:]
    return change


BYTES = {
    'empty': lambda data: b'',
    'one-byte': lambda data: data[:1],
    'cut-90': cut(0.9),
    'cut-50': cut(0.5),
    'cut-10': cut(0.1),
    'cut-last': lambda data: data[:-1],
    'zeros': lambda data: bytes(len(data)),
    'zero-tail': lambda data: data[:len(data) // 2] + bytes(len(data) - len(data) // 2),
    'noise': lambda data: bytes((i * 2654435761 >> 13) & 255 for i in range(len(data))),
    'reversed': lambda data: data[::-1],
    'html': lambda data: b'<html><body>404 not found</body></html>\n',
    'lfs': lambda data: b'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n',
}


def file_bytes():
    files = {
        'db': [DB, ANALYSIS, r'profiler_info_1\.json', r'profiler_metadata\.json'],
        'text': [r'kernel_details\.csv', r'trace_view\.json', r'communication\.json', r'communication_matrix\.json', r'step_trace_time\.csv',
                 r'memory_record\.csv', r'operator_memory\.csv', r'op_statistic\.csv', r'api_statistic\.csv', r'npu_module_mem\.csv'],
        'gzip': [r'trace_view\.json\.gz'],
        'both': [DB, r'trace_view\.json', r'kernel_details\.csv', r'communication\.json', r'step_trace_time\.csv'],
        'kineto': [r'200017.*\.json'],
        'msprof-db': [DB, ANALYSIS],
        'msprof-text': [r'op_summary\w*\.csv', r'msprof_\w*\.json', r'communication\.json'],
        'mindspore-text': [r'kernel_details\.csv', r'trace_view\.json', r'step_trace_time\.csv'],
        'msmonitor-jsonl': [r'200017.*\.jsonl'],
        'msmonitor': [r'200017.*\.db'],
    }
    for form, patterns in files.items():
        for pattern in patterns:
            plain = re.sub(r'[\\()|+*?]|d\+', '', pattern)
            for what, change in BYTES.items():
                if what == 'cut-last' and pattern.endswith(('csv', 'jsonl')):
                    continue    # only the end of the last line: no damage
                if what == 'reversed' and form == 'gzip':
                    continue
                # A list that ends with a whole line, or nearly, is a shorter list: the most that it has seen is true all the same.
                shorter = pattern == r'memory_record\.csv' and what.startswith(('cut', 'zero-tail'))
                yield Fault('bytes/%s/%s/%s' % (form, plain, what), form, lambda t, p=pattern, c=change: t.bytes(p, c), 'none' if shorter else 'said')
    for number in range(1, 60, 3):
        yield Fault('page/db/%d/zero' % number, 'db', lambda t, n=number: t.bytes(DB, page(n, lambda p: bytes(len(p)))))
        yield Fault('page/db/%d/noise' % number, 'db', lambda t, n=number: t.bytes(DB, page(n, BYTES['noise'])))
    for at, what in ((16, b'\x00\x03'), (16, b'\xff\xff'), (18, b'\x09\x09'), (28, b'\x00\x00\x00\x01'), (28, b'\x7f\xff\xff\xff'),
                     (44, b'\x00\x00\x00\x09'), (56, b'\x00\x00\x00\x02'), (100, b'\x0a'), (103, b'\xff\xff'), (0, b'NotSQLite')):
        yield Fault('header/db/%d/%s' % (at, what.hex()), 'db',
                    lambda t, a=at, w=what: t.bytes(DB, lambda data: data[:a] + w + data[a + len(w):]))


TEXT_VALUES = {'empty': '', 'n-a': 'N/A', 'minus': '-7.5', 'nan': 'nan', 'inf': 'inf', '1e400': '1e400', 'long': '9' * 40, 'word': 'broken', 'hex': '0x10'}

CSV_NUMBERS = {
    'kernel_details.csv': ['Start Time(us)', 'Duration(us)', 'Step Id', 'Type'],
    'step_trace_time.csv': ['Step', 'Computing', 'Communication', 'Free', 'Stage'],
    'memory_record.csv': ['Timestamp(us)', 'Total Allocated(MB)', 'Total Reserved(MB)'],
}


def split_csv(line):
    cells, cell, quoted = [], '', False
    for c in line:
        if c == '"':
            quoted = not quoted
        if c == ',' and not quoted:
            cells.append(cell)
            cell = ''
        else:
            cell += c
    return cells + [cell]


def set_cell(column, value, scope):
    def change(data):
        lines = data.decode().splitlines()
        at = split_csv(lines[0]).index(column)
        for i in range(1, len(lines)):
            if scope == 'one' and i != len(lines) - 1:
                continue
            cells = split_csv(lines[i])
            cells[at] = value
            lines[i] = ','.join(cells)
        return ('\n'.join(lines) + '\n').encode()
    return change


def csv_lines(change):
    return lambda data: ('\n'.join(change(data.decode().splitlines())) + '\n').encode()


CSV_SHAPES = {
    'no-header': ('said', csv_lines(lambda l: l[1:])),
    'header-only': ('said', csv_lines(lambda l: l[:1])),
    'two-headers': ('said', csv_lines(lambda l: l[:1] + l)),
    'short-row': ('said', csv_lines(lambda l: l[:-1] + [l[-1][:len(l[-1]) // 3]])),
    'open-quote': ('said', csv_lines(lambda l: l[:2] + ['"' + l[2]] + l[3:])),
    'semicolons': ('said', lambda data: data.replace(b',', b';')),
    'utf-16': ('said', lambda data: data.decode().encode('utf-16')),
    'bom': ('same', lambda data: b'\xef\xbb\xbf' + data),
    'crlf': ('same', lambda data: data.replace(b'\n', b'\r\n')),
    'blank-line': ('same', lambda data: data + b'\n\n'),
    'nul': ('said', overwrite(0.6, b'\0\0\0')),
}


def text_values():
    for name, columns in CSV_NUMBERS.items():
        pattern = re.escape(name)
        for column in columns:
            for value, text in TEXT_VALUES.items():
                for scope in ('one', 'all'):
                    if (column, value) in (('Type', 'minus'), ('Type', 'word'), ('Type', 'hex'), ('Type', 'long'), ('Type', 'inf'), ('Type', 'nan'), ('Type', '1e400')):
                        continue
                    yield Fault('value/text/%s:%s/%s/%s' % (name, column, value, scope), 'text',
                                lambda t, p=pattern, c=set_cell(column, text, scope): t.bytes(p, c),
                                'none' if value in ('empty', 'n-a') and (column == 'Type' or column.startswith('Total')) else 'said')
    for form, name in (('text', 'kernel_details.csv'), ('text', 'step_trace_time.csv'), ('text', 'memory_record.csv')):
        for what, (expect, change) in CSV_SHAPES.items():
            yield Fault('shape/%s/%s/%s' % (form, name, what), form, lambda t, p=re.escape(name), c=change: t.bytes(p, c), expect)


def numbers_of(key):
    """Set the value of `key` (last one, or all) in JSON text, whatever stands there."""
    pattern = re.compile(rb'("' + re.escape(key).encode() + rb'"\s*:\s*)("[^"]*"|[-+0-9.eE]+|null)')

    def setter(value, scope):
        def change(data):
            found = list(pattern.finditer(data))
            if scope == 'one':
                found = found[-1:]
            for match in reversed(found):
                data = data[:match.start(2)] + value + data[match.end(2):]
            return data
        return change
    return setter


JSON_VALUES = {'minus': b'-7.5', 'null': b'null', 'text': b'"broken"', '1e400': b'1e400', 'nan': b'NaN', 'long': b'9' * 40, 'array': b'[1]',
               'object': b'{"a":1}', 'true': b'true'}

JSON_NUMBERS = {
    ('text', 'communication.json'): ['Start Timestamp(us)', 'Elapse Time(ms)', 'Transit Time(ms)', 'Transit Size(MB)'],
    ('text', 'communication_matrix.json'): ['Transit Size(MB)', 'Transit Time(ms)'],
    ('text', 'trace_view.json'): ['ts', 'dur', 'ph', 'pid'],
    ('kineto', '200017.1736410576000000001.pt.trace.json'): ['ts', 'dur', 'ph', 'cat'],
    ('msmonitor-jsonl', '200017_20250109081616001_1.jsonl'): ['startNs', 'endNs', 'kind'],
}

JSON_SHAPES = {
    'array': lambda data: b'[]',
    'object': lambda data: b'{}',
    'null': lambda data: b'null',
    'number': lambda data: b'17',
    'string': lambda data: b'"text"',
    'deep': lambda data: b'[' * 100000,
    'trailing': lambda data: data + b' trailing',
    'twice': lambda data: data + data,
    'nul': overwrite(0.6, b'\0\0\0'),
    'not-utf8': lambda data: re.sub(rb'"([a-z])', b'"\xff\xfe', data, count=1),
}


def json_values():
    for (form, name), keys in JSON_NUMBERS.items():
        pattern = re.escape(name)
        for key in keys:
            for value, text in JSON_VALUES.items():
                for scope in ('one', 'all'):
                    if (form, key, value) in (('kineto', 'cat', 'text'), ('kineto', 'ts', 'minus')):
                        continue    # a category that nobody knows; times are from a base on, or before it
                    yield Fault('value/%s/%s:%s/%s/%s' % (form, name, key, value, scope), form,
                                lambda t, p=pattern, c=numbers_of(key)(text, scope): t.bytes(p, c))
    for form, name in (('text', 'communication.json'), ('text', 'communication_matrix.json'), ('text', 'trace_view.json'), ('kineto', '200017.1736410576000000001.pt.trace.json'),
                       ('db', 'profiler_info_1.json'), ('db', 'profiler_metadata.json')):
        for what, change in JSON_SHAPES.items():
            yield Fault('shape/%s/%s/%s' % (form, name, what), form, lambda t, p=re.escape(name), c=change: t.bytes(p, c))
    for what, change in JSON_SHAPES.items():
        yield Fault('shape/db/npuprof_manifest.json/%s' % what, 'db', lambda t, c=change: t.bytes(r'^npuprof_manifest\.json', c), whole=True)
    for key in ('rank', 'offset_ns', 'uncertainty_ns', 'drift_ppm', 'world_size', 'at_ns', 'dir', 'host', 'schema'):
        for value, text in JSON_VALUES.items():
            yield Fault('value/db/npuprof_manifest.json:%s/%s' % (key, value), 'db',
                        lambda t, c=numbers_of(key)(text, 'one'): t.bytes(r'^npuprof_manifest\.json', c), whole=True)


def gz_faults():
    name = r'trace_view\.json\.gz'

    def recompress(change):
        return lambda data: gzip.compress(change(gzip.decompress(data)), mtime=0)
    for what, (expect, change) in {
            'crc': ('said', lambda d: d[:-8] + bytes(4) + d[-4:]),
            'size': ('said', lambda d: d[:-4] + b'\1\2\3\4'),
            'trailing': ('said', lambda d: d + b'garbage'),
            'members': ('same', lambda d: gzip.compress(gzip.decompress(d)[:1000], mtime=0) + gzip.compress(gzip.decompress(d)[1000:], mtime=0)),
            'no-trailer': ('said', lambda d: d[:-8]),
            'not-gzip': ('same', gzip.decompress),
            'twice': ('same', lambda d: gzip.compress(d, mtime=0)),
            'method': ('said', lambda d: d[:2] + b'\x07' + d[3:]),
            'bit': ('said', lambda d: d[:len(d) // 2] + bytes([d[len(d) // 2] ^ 16]) + d[len(d) // 2 + 1:]),
            'content-cut': ('said', recompress(cut(0.5))),
            'content-empty': ('said', recompress(lambda d: b'')),
            'content-array': ('said', recompress(lambda d: b'[]')),
    }.items():
        yield Fault('gzip/trace_view.json.gz/%s' % what, 'gzip', lambda t, c=change: t.bytes(name, c), expect if what != 'twice' else 'said')


def name_faults():
    def gone(pattern):
        return lambda t: os.remove(t.path(pattern))

    def replaced(pattern, make):
        def damage(t):
            path = t.path(pattern)
            os.remove(path)
            make(path)
        return damage

    def fifo(path):
        os.mkfifo(path)

    files = {'db': [DB, ANALYSIS, r'profiler_info_1\.json', r'profiler_metadata\.json', r'^npuprof_manifest\.json'],
             'text': [r'kernel_details\.csv', r'trace_view\.json', r'communication\.json', r'communication_matrix\.json', r'step_trace_time\.csv'],
             'both': [DB, r'trace_view\.json', r'kernel_details\.csv'],
             'kineto': [r'200017.*\.json']}
    for form, patterns in files.items():
        for pattern in patterns:
            plain = re.sub(r'[\\()|+*?^]|d\+', '', pattern)
            whole = pattern.startswith('^')
            if not whole:   # nobody can miss a manifest that was never there
                yield Fault('name/%s/%s/gone' % (form, plain), form, gone(pattern))
            yield Fault('name/%s/%s/directory' % (form, plain), form, replaced(pattern, os.mkdir), whole=whole)
            yield Fault('name/%s/%s/fifo' % (form, plain), form, replaced(pattern, fifo), whole=whole)
            yield Fault('name/%s/%s/loop' % (form, plain), form, replaced(pattern, lambda p: os.symlink(p, p)), whole=whole)
            yield Fault('name/%s/%s/dangling' % (form, plain), form, replaced(pattern, lambda p: os.symlink('/nonexistent/file', p)), whole=whole)

    def aside(t, name, data=b''):
        with open(os.path.join(os.path.dirname(t.path(DB)), name), 'wb') as file:
            file.write(data)

    yield Fault('name/db/journal', 'db', lambda t: aside(t, os.path.basename(t.path(DB)) + '-journal', b'\xd9\xd5\x05\xf9\x20\xa1\x63\xd7' + bytes(600)))
    yield Fault('name/db/wal', 'db', lambda t: aside(t, os.path.basename(t.path(DB)) + '-wal', b'\x37\x7f\x06\x82' + bytes(600)))
    yield Fault('name/db/second-database', 'db', lambda t: shutil.copy(t.path(DB), os.path.join(os.path.dirname(t.path(DB)), 'ascend_pytorch_profiler_7.db')))

    def contradict(t):
        t.bytes(r'profiler_info_1\.json', lambda d: d.replace(b'"rank_id": 1', b'"rank_id": 0'))
    yield Fault('name/db/rank-contradicted', 'db', contradict, whole=True)

    def info_of_two(t):
        path = t.path(r'profiler_info_1\.json')
        shutil.copy(path, path.replace('info_1', 'info_5'))
    yield Fault('name/db/two-infos', 'db', info_of_two, whole=True)

    def emptied(t):
        shutil.rmtree(t.rank_dir)
        os.mkdir(t.rank_dir)
    yield Fault('name/db/empty-directory', 'db', emptied)
    yield Fault('name/db/no-directory', 'db', lambda t: shutil.rmtree(t.rank_dir))


def odd_faults():
    """What an attack came up with that is in no pattern."""
    for name, *sql in (
            ('task-ids-twice', 'UPDATE TASK SET globalTaskId = 5 WHERE rowid IN (6, 7, 8)'),
            ('step-ids-twice', 'UPDATE STEP_TIME SET id = 10 WHERE id = 11'),
            ('steps-exchanged', 'UPDATE STEP_TIME SET id = 21 - id WHERE id IN (10, 11)'),
            ('steps-overlap', 'UPDATE STEP_TIME SET endNs = endNs + (endNs - startNs) / 3 WHERE id = 10'),
            ('one-kernel-gone', 'DELETE FROM COMPUTE_TASK_INFO WHERE globalTaskId = (SELECT max(globalTaskId) FROM COMPUTE_TASK_INFO)'),
            ('half-of-tasks', 'DELETE FROM TASK WHERE rowid % 2 = 0'),
            ('one-operator-gone', 'DELETE FROM COMMUNICATION_OP WHERE opId = (SELECT max(opId) FROM COMMUNICATION_OP)'),
            ('types-of-nobody', 'UPDATE TASK SET taskType = 999999'),
            ('groups-of-nobody', 'UPDATE COMMUNICATION_OP SET groupName = 999999'),
            ('another-session', 'UPDATE SESSION_TIME_INFO SET startTimeNs = 1000000000000000000, endTimeNs = 1000000000000000001'),
            ('schema', "UPDATE sqlite_master SET sql = 'CREATE TABLE TASK (x' WHERE name = 'TASK'"),
            ('root-of-others', "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'CANN_API') WHERE name = 'TASK'"),
            ('root', "UPDATE sqlite_master SET rootpage = 2 WHERE name = 'TASK'"),
            ('an-hour-late', 'UPDATE TASK SET startNs = startNs + 3600000000000, endNs = endNs + 3600000000000 WHERE rowid % 2 = 0'),
            ('texts-twice', 'ALTER TABLE STRING_IDS RENAME TO S', 'CREATE TABLE STRING_IDS (id INTEGER, value TEXT)',
             'INSERT INTO STRING_IDS SELECT * FROM S', "INSERT INTO STRING_IDS SELECT id, value || 'x' FROM S"),
            ('transfers-too-fast', 'UPDATE COMMUNICATION_TASK_INFO SET size = 900000000000000'),
            ('peers-of-nobody', 'UPDATE COMMUNICATION_TASK_INFO SET srcRank = 2000000000, dstRank = 2000000001'),
            ('endless-view', 'ALTER TABLE COMMUNICATION_OP RENAME TO C', 'CREATE VIEW COMMUNICATION_OP AS WITH RECURSIVE n(i) AS '
             '(SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT C.* FROM n, C WHERE i < 0'),
            ('endless-settings', 'ALTER TABLE META_DATA RENAME TO M', 'CREATE VIEW META_DATA AS WITH RECURSIVE n(i) AS '
             "(SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'a' || i AS name, 'b' AS value FROM n")):
        yield Fault('odd/db/' + name, 'db', lambda t, s=sql: t.sql(DB, *s))
    yield Fault('odd/db/operators-twice', 'db', lambda t: t.sql(
        DB, 'CREATE TABLE C AS SELECT * FROM COMMUNICATION_OP', 'UPDATE C SET opId = opId + 1000', 'INSERT INTO COMMUNICATION_OP SELECT * FROM C'))
    yield Fault('odd/db/sub-tasks-twice', 'db', lambda t: t.sql(DB, 'INSERT INTO COMMUNICATION_TASK_INFO SELECT * FROM COMMUNICATION_TASK_INFO'))
    for name, old, new in (('years-off', rb'"offset_ns": *-?\d+', b'"offset_ns": 900000000000000000'), ('text', rb'"offset_ns": *-?\d+', b'"offset_ns": "x"')):
        yield Fault('odd/db/manifest-clocks/' + name, 'db', lambda t, o=old, n=new: t.bytes(r'^npuprof_manifest\.json', lambda d: re.sub(o, n, d)),
                    whole=True)
    yield Fault('odd/db/no-session', 'db', lambda t: t.sql(DB, 'UPDATE SESSION_TIME_INFO SET startTimeNs = 0, endTimeNs = 0'), 'same')
    yield Fault('odd/db/rank-no-number', 'db', lambda t: os.rename(t.path(DB), re.sub(r'_\d+\.db$', '_99999999999999999999.db', t.path(DB))))
    yield Fault('odd/db/link-to-root', 'db', lambda t: os.symlink('/', os.path.join(t.rank_dir, 'root')), 'same')
    yield Fault('odd/text/kernels-twice', 'text', lambda t: t.bytes(r'kernel_details\.csv', lambda d: d + d.split(b'\n', 1)[1]))
    yield Fault('odd/text/communication-array', 'text', lambda t: t.bytes(r'communication\.json', lambda d: b'[1, 2]'))
    yield Fault('odd/text/trace-twice', 'text', lambda t: t.bytes(r'trace_view\.json', lambda d: json.dumps(json.loads(d) * 2).encode()))


def detail_faults():
    """What only memory, advisor, compare and report read, and cluster hardly looks at."""
    for name, sql in (
            ('record-petabytes', 'UPDATE MEMORY_RECORD SET totalReserved = 900000000000000000 WHERE rowid = 5'),
            ('record-negative', 'UPDATE MEMORY_RECORD SET totalAllocated = -totalAllocated'),
            ('record-years-on', 'UPDATE MEMORY_RECORD SET timestamp = timestamp + 86400000000000000 WHERE rowid = 5'),
            ('record-dropped', 'DROP TABLE MEMORY_RECORD'),
            ('operators-of-text', "UPDATE OP_MEMORY SET size = 'x' WHERE rowid % 2 = 0"),
            ('operators-before-1970', 'UPDATE OP_MEMORY SET allocationTime = -1'),
            ('operators-without-times', "UPDATE OP_MEMORY SET allocationTime = 'x'"),
            ('operators-released-before', 'UPDATE OP_MEMORY SET releaseTime = allocationTime - 5'),
            ('operators-released-in-1970', 'UPDATE OP_MEMORY SET releaseTime = 1 WHERE rowid = 2'),
            ('operators-released-never', 'UPDATE OP_MEMORY SET releaseTime = 9000000000000000000'),
            ('operators-nameless', 'UPDATE OP_MEMORY SET name = 999999'),
            ('operators-total', 'UPDATE OP_MEMORY SET allocationTotalReserved = -5 WHERE rowid = 2'),
            ('operators-dropped', 'DROP TABLE OP_MEMORY'),
            ('modules-nameless', 'DROP TABLE ENUM_MODULE'),
            ('clock-negative', 'UPDATE AICORE_FREQ SET freq = -5'),
            ('clock-of-light', 'UPDATE AICORE_FREQ SET freq = 90000000000'),
            ('clock-without-times', "UPDATE AICORE_FREQ SET timestampNs = 'x'"),
            ('calls-nameless', 'UPDATE PYTORCH_API SET name = 999999'),
            ('calls-too-long', 'UPDATE PYTORCH_API SET endNs = 9000000000000000000 WHERE rowid % 9 = 0'),
            ('shapes-negative', 'UPDATE COMPUTE_TASK_INFO SET inputShapes = -inputShapes'),
            ('shapes-nameless', 'UPDATE COMPUTE_TASK_INFO SET inputShapes = 99999999')):
        yield Fault('detail/db/' + name, 'db', lambda t, s=sql: t.sql(DB, s))
    for column in ('Size(KB)', 'Allocation Time(us)', 'Release Time(us)', 'Allocation Total Reserved(MB)'):
        for value in ('nan', '1e400', 'broken', '9' * 40):
            yield Fault('detail/text/operator_memory.csv:%s/%s' % (column, value), 'text',
                        lambda t, c=set_cell(column, value, 'all'): t.bytes(r'operator_memory\.csv', c))
    for name in ('operator_memory.csv', 'npu_module_mem.csv', 'memory_record.csv', 'kernel_details.csv'):
        yield Fault('detail/text/%s/short-row' % name, 'text', lambda t, n=name: t.bytes(re.escape(n), CSV_SHAPES['short-row'][1]))
        yield Fault('detail/text/%s/zeros' % name, 'text', lambda t, n=name: t.bytes(re.escape(n), overwrite(0.6, bytes(20))))


FAMILIES = [db_values, db_tables, analysis_values, file_bytes, text_values, json_values, gz_faults, name_faults, odd_faults, detail_faults]


def all_faults():
    """Every fault once, in an order that never changes."""
    seen = set()
    for family in FAMILIES:
        for fault in family():
            assert fault.name not in seen, fault.name
            seen.add(fault.name)
            yield fault
