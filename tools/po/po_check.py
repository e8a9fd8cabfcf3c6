# SPDX-License-Identifier: Apache-2.0
"""Compares the texts that people read with a catalogue: po_check.py [--missing] SOURCE CATALOGUE

A text is known by where it stands: as an argument of a function that shows it, in a member or a table that does, or
in NP_MSG(). Fails on what is not translated and on what nobody says any more. --missing prints entries to fill in.
"""
import os
import re
import sys

# What speaks to users; what runs within their programs does not.
FOLDERS = ("cli", "cluster", "advisor", "compare", "report", "memory", "history", "mcp", "core", "collect", "include")
SILENT = ("collect/inject", "collect/mpi")

# Which argument is the text; the values of a format may be texts, too.
FORMATS = {
    "np_fail": 2, "findings_add": 3, "np_report": 1, "np_cmd_usage": 1, "np_note_add": 5, "mode_note": 4, "mode_note_results": 4,
    "np_job_warn": 0, "np_job_say": 1, "np_record_fail": 1, "answer": 2, "REASON": 1,
}
TEXTS = {
    "np_say": (1,), "np_lang_text": (0,), "np_page_add": (1,), "NP_MSG": (0,), "np_progress_init": (1,),
    "report_put_command": (2,), "np_text_wrap": (1,), "np_note_add": (4,), "NP_DEFINE_TABLE": (2,), "MODE_TABLE": (3,),
    "TIME": (1,), "CALLED": (0,), "NP_OPT_LEVEL": (1, 2), "NP_OPT_RANKS": (1, 2),
}
# Files all of whose texts are said, and those of more than a word.
SPACED = ("cli/compat/compat.c", "advisor/engine/eval/eval_needs.c", "core/model/load/coverage.c",
          "cluster/measure/verdict_text.c")
WHOLE = ("cluster/measure/readiness.c", "core/model/run/contents.c", "advisor/engine/views/views.c",
         "advisor/engine/rules/rule_show.c")
MEMBERS = ("help", "about", "topic", "preset_words", "summary", "cure", "empty", "withheld", "reason")
# Which member of a row is the text; None: all.
TABLES = {"np_opt_group": None, "np_grid_column": None, "np_relation": 1}

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'|[A-Za-z_]\w*|\d[\w.]*|\s+|->|.', re.S)
CONVERSION = re.compile(r'%%|%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|z|j|t)?[a-zA-Z]')
WORDS = re.compile(r"[a-z]{2}")
NO_FORM = re.compile(r"PRI[diux](?:8|16|32|64|PTR|MAX)$")
SQL = re.compile(r"\b(?:SELECT|CASE|FROM)\b")
NAME = re.compile(r"[\w.*/-]*(?:[_./*=]|[a-z][A-Z]|[a-z]\d)[\w.*/-]*$|\w+=\[[\w, ]+\]$|db$|auto$|rank$|step$|trace$|core$")
MACRO = re.compile(r"[A-Z][A-Z0-9_]{3,}$|PRI[diux]\w+$")


def tokens(source):
    """Words of C, without comments and preprocessing of files, each with its line."""
    source = re.sub(r"\\\n", "  \n", source)
    source = re.sub(r"^[ \t]*#[ \t]*(?:include|if|ifdef|ifndef|undef|error|pragma).*$", "", source, flags=re.M)
    found, line = [], 1
    for match in TOKEN.finditer(source):
        text = match.group()
        if not text.isspace() and not text.startswith(("/*", "//")):
            found.append((text, line))
        line += text.count("\n")
    return found


def gaps(text):
    """A format with gaps for its conversions; gaps that touch are one."""
    count = 0

    def gap(match):
        nonlocal count
        if match.group() == "%%":
            return "%"
        count += 1
        return "{%d}" % count

    text = CONVERSION.sub(gap, text)
    text = re.sub(r"(\{\d+\})(?:\{\d+\})+", r"\1", text)
    order = []
    for number in re.findall(r"\{(\d+)\}", text):
        order.append(number)
    for new, old in enumerate(order, 1):
        text = text.replace("{%s}" % old, "{#%d}" % new, 1)
    return text.replace("{#", "{")


def is_sentence(text):
    """Is it for people, and not a name, a path or a part of one?"""
    plain = re.sub(r"\{\d\}|\\n", "", text)
    return bool(WORDS.search(plain)) and (" " in plain or not re.search(r"[_./A-Z]", plain))


class Reader:
    """Walks over the words of a file and keeps the brackets that are open."""

    def __init__(self, path, source):
        self.path = path
        self.words = tokens(source)
        self.open = []
        self.found = []
        self.all = set()

    def table_of(self, index):
        """The struct whose table begins with the brace at `index`."""
        words = [word for word, _ in self.words[max(0, index - 12):index]]
        if not words or words[-1] != "=":
            return None
        for at in range(len(words) - 1, 0, -1):
            if words[at] in ";{}":
                return None
            if words[at - 1] == "struct":
                return words[at]
        return None

    def keep(self, text, line, is_format):
        text = gaps(text) if is_format else text
        plain = re.sub(r"\\n|\{\d\}", "", text)
        if is_sentence(text) if is_format else WORDS.search(plain) and not NAME.match(plain):
            self.found.append((text, self.path, line))

    def literal(self, text, line, macro):
        self.all.update((text, gaps(text), re.sub(r"\\n$", "", text), re.sub(r"\\n$", "", gaps(text))))
        if self.open and self.open[-1][1] == "np_fail_nomem":
            return
        if self.path.endswith(WHOLE) and "%" not in text:
            self.keep(text, line, False)
            return
        if self.path.endswith(SPACED) and " " in text.strip() and not SQL.search(text):
            self.keep(text, line, bool(CONVERSION.search(text)))
            return
        for depth, (bracket, name, argument, member, table) in enumerate(reversed(self.open)):
            if bracket == "(" and name:
                if name in FORMATS and argument >= FORMATS[name]:
                    # A value in a call of its own is not said by this one.
                    if depth == 0 or argument == FORMATS[name]:
                        if argument == FORMATS[name] or " " in text:
                            self.keep(text, line, argument == FORMATS[name] or macro)
                        return
                if argument in TEXTS.get(name, ()):
                    self.keep(text, line, macro)
                    return
                return
            if bracket == "{" and member in MEMBERS:
                self.keep(text, line, False)
                return
            if bracket == "{" and table in TABLES:
                if TABLES[table] in (None, argument) and not member:
                    self.keep(text, line, False)
                return
            if bracket == "{" and (member or table):
                return

    def read(self):
        index = 0
        while index < len(self.words):
            word, line = self.words[index]
            if word in "([{":
                before = self.words[index - 1][0] if index else ""
                name = before if word == "(" and re.match(r"[A-Za-z_]\w*$", before) else None
                table = self.table_of(index) if word == "{" else None
                if word == "{" and not table and self.open and self.open[-1][4] in TABLES:
                    table = self.open[-1][4]
                self.open.append([word, name, 0, None, table])
            elif word in ")]}":
                if self.open:
                    self.open.pop()
            elif word == "," and self.open:
                self.open[-1][2] += 1
                self.open[-1][3] = None
            elif word == ";" and self.open:
                self.open[-1][3] = None
            elif word in (".", "->") and self.open and index + 2 < len(self.words) and self.words[index + 2][0] == "=":
                self.open[-1][3] = self.words[index + 1][0]
            elif word[0] == '"':
                macro = index > 1 and MACRO.match(self.words[index - 1][0]) and self.words[index - 2][0] in "(,?:={"
                text, end = "%s" if macro else "", index
                while end < len(self.words) and (self.words[end][0][0] == '"' or MACRO.match(self.words[end][0])):
                    part = self.words[end][0]
                    # A name between texts is that of a text, which a gap stands for.
                    macro = macro or not (part[0] == '"' or NO_FORM.match(part))
                    text += part[1:-1] if part[0] == '"' else "d" if NO_FORM.match(part) else "%s"
                    end += 1
                self.literal(text, line, macro)
                index = end
                continue
            index += 1
        return self


def sources(top):
    for folder in FOLDERS:
        for where, _, names in sorted(os.walk(os.path.join(top, folder))):
            if where.endswith(SILENT):
                continue
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.join(where, name)


def said(top):
    """{text: first place} of all that is said, and every text that stands anywhere."""
    texts, anywhere = {}, set()
    for path in sources(top):
        with open(path, encoding="utf-8") as stream:
            reader = Reader(path, stream.read()).read()
        anywhere |= reader.all
        for text, _, line in reader.found:
            texts.setdefault(text, "%s:%d" % (os.path.relpath(path, top), line))
    return texts, anywhere


def catalogue(path):
    """{text: (line, elsewhere)} of a catalogue; elsewhere: it stands nowhere as a whole, and says why above.

    `#. foreign`: a library says it. `#. composed`: it is put together of several parts.
    """
    entries, elsewhere, text, line = {}, False, None, 0
    with open(path, encoding="utf-8") as stream:
        for number, row in enumerate(stream, 1):
            if row.startswith(("#. foreign", "#. composed")):
                elsewhere = True
            if row.startswith("msgid "):
                text, line = "", number
            elif row.startswith("msgstr "):
                entries[text] = (line, elsewhere)
                text, elsewhere = None, False
            if text is not None and '"' in row:
                text += row[row.index('"') + 1:row.rindex('"')]
    entries.pop("", None)
    return entries


def main():
    missing_only = "--missing" in sys.argv
    arguments = [word for word in sys.argv[1:] if word != "--missing"]
    if len(arguments) != 2:
        sys.exit("usage: po_check.py [--missing] SOURCE CATALOGUE")
    texts, anywhere = said(arguments[0])
    entries = catalogue(arguments[1])
    missing = [text for text in texts if text not in entries]
    if missing_only:
        for text in missing:
            print('#: %s\nmsgid "%s"\nmsgstr ""\n' % (texts[text], text))
        return
    for text in missing:
        print('%s: not translated: "%s"' % (texts[text], text))
    stale = [text for text in entries if text not in anywhere and not entries[text][1]]
    for text in stale:
        print('%s:%d: nobody says "%s"' % (arguments[1], entries[text][0], text))
    print("%d texts, %d not translated, %d said no more" % (len(texts), len(missing), len(stale)))
    sys.exit(1 if missing or stale else 0)


if __name__ == "__main__":
    main()
