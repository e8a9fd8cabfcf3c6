#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The server for agents: a conversation in each revision, pages, what may be read, and what hostile clients send.
. "$(dirname "$0")/lib.sh"
need_program python3

mkdir -p "$work/data" "$work/outside"
run "$synth" -q -o "$work/data/slow" --ranks 4 --tp 2 --dp 2 --hosts 2 --steps 6 --layers 2 --slow-rank 3:1.5
run "$synth" -q -o "$work/data/even" --ranks 4 --tp 2 --dp 2 --hosts 2 --steps 6 --layers 2
run "$synth" -q -o "$work/outside/run" --ranks 2 --steps 2 --layers 1
mkdir "$work/data/linked"
ln -s "$work/outside/run"/* "$work/data/linked/"
ln -s "$work/outside/run" "$work/data/elsewhere"
"$npuprof" cluster -q --no-db -d "$work/data/slow" -f json >"$work/cluster.json"
"$npuprof" whatif -q -d "$work/data/slow" --fix rank:3 -f json >"$work/whatif.json"
"$npuprof" advisor -q -d "$work/data/slow" -f json >"$work/advisor.json"
"$npuprof" compare -q "$work/data/even" "$work/data/slow" --fail-on 'step>2%' -f json >"$work/compare.json"
"$npuprof" timeline -q -d "$work/data/slow" --slice -o "$work/slice.json" >/dev/null
rm -rf "$work/data"/*/cluster_analysis_output
before=$(snapshot "$work/data")

# A client: talk.ask(method, params) gives the response, talk.call(tool, arguments) what the tool says.
cat >"$work/client.py" <<'EOF'
import json, subprocess, sys
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}}
# Which members a message of either revision has to have, with their types: what the published schemas of the protocol require.
TEXT, NUMBER, OBJECT, LIST, ID = (str,), (int, float), (dict,), (list,), (str, int)
KEPT = {"ttlMs": NUMBER, "cacheScope": TEXT}
SELF = {"name": TEXT, "version": TEXT}
RESULTS = {
    "server/discover": {"supportedVersions": LIST, "capabilities": OBJECT, **KEPT},
    "initialize": {"protocolVersion": TEXT, "capabilities": OBJECT, "serverInfo": OBJECT},
    "ping": {},
    "tools/list": {"tools": LIST, **KEPT},
    "tools/call": {"content": LIST},
    "resources/list": {"resources": LIST, **KEPT},
    "resources/templates/list": {"resourceTemplates": LIST, **KEPT},
    "resources/read": {"contents": LIST, **KEPT},
    "subscriptions/listen": {},
}
ELEMENTS = {"tools": {"name": TEXT, "inputSchema": OBJECT}, "resources": {"name": TEXT, "uri": TEXT}, "resourceTemplates": {"name": TEXT, "uriTemplate": TEXT},
            "contents": {"uri": TEXT, "text": TEXT}, "content": {"type": TEXT, "text": TEXT}}
NOTES = {"notifications/progress": {"progressToken": ID, "progress": NUMBER}, "notifications/subscriptions/acknowledged": {"notifications": OBJECT}}
# JSON without a name twice in an object, which readers take to mean different things.
def parse(text):
    def once(pairs):
        names = [name for name, _ in pairs]
        assert len(names) == len(set(names)), names
        return dict(pairs)
    return json.loads(text, object_pairs_hook=once)
def need(value, members, where):
    for name, types in members.items():
        assert name in value, (where, name)
        assert isinstance(value[name], types) and not isinstance(value[name], bool), (where, name, value[name])
def check(answer, method, modern):
    need(answer, {"jsonrpc": TEXT}, "message")
    assert answer["jsonrpc"] == "2.0"
    if "method" in answer:
        assert "id" not in answer
        need(answer["params"], NOTES[answer["method"]], answer["method"])
        listened = answer["method"] == "notifications/subscriptions/acknowledged"
        assert ("io.modelcontextprotocol/subscriptionId" in answer["params"].get("_meta", {})) == listened
        return
    if "error" in answer:
        need(answer["error"], {"code": (int,), "message": TEXT}, "error")
        if answer["error"]["code"] == -32022:
            need(answer["error"]["data"], {"supported": LIST, "requested": TEXT}, "error")
        return
    need(answer, {"id": ID, "result": OBJECT}, "message")
    result = answer["result"]
    needed = RESULTS[method]
    need(result, {"resultType": TEXT, **needed} if modern else {k: v for k, v in needed.items() if k not in KEPT}, method)
    if method == "subscriptions/listen":
        assert result["_meta"]["io.modelcontextprotocol/subscriptionId"] == answer["id"]
    elif modern:
        need(result["_meta"]["io.modelcontextprotocol/serverInfo"], SELF, "serverInfo")
        assert result.get("cacheScope", "private") in ("private", "public") and result.get("ttlMs", 0) >= 0
    if "serverInfo" in result:
        need(result["serverInfo"], SELF, "serverInfo")
    for name, members in ELEMENTS.items():
        for element in result.get(name, []):
            need(element, members, name)
    assert all(t["inputSchema"]["type"] == "object" for t in result.get("tools", []))
class Talk:
    def __init__(self, npuprof, *args, modern=True):
        self.process = subprocess.Popen([npuprof, "mcp", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.modern, self.number, self.notes = modern, 0, []
    def send(self, line):
        self.process.stdin.write(line if isinstance(line, bytes) else (json.dumps(line) + "\n").encode())
        self.process.stdin.flush()
    def hear(self):
        line = self.process.stdout.readline()
        assert line.endswith(b"\n") and line.count(b"\n") == 1, line
        self.size = len(line)
        return parse(line)
    def ask(self, method, params=None, token=None):
        self.number += 1
        meta = dict(META) if self.modern else {}
        if token is not None:
            meta["progressToken"] = token
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": {**(params or {}), **({"_meta": meta} if meta else {})}})
        while True:
            answer = self.hear()
            check(answer, method, self.modern)
            if "method" in answer:
                self.notes.append(answer)
                continue
            assert answer["jsonrpc"] == "2.0" and answer["id"] == self.number, answer
            assert ("result" in answer) != ("error" in answer)
            return answer
    def result(self, method, params=None, token=None):
        result = self.ask(method, params, token)["result"]
        if self.modern:
            assert result["resultType"] == "complete" and result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "npuprof"
        else:
            assert "resultType" not in result
        return result
    def call(self, tool, token=None, **arguments):
        result = self.result("tools/call", {"name": tool, "arguments": arguments}, token)
        [content] = result["content"]
        assert content["type"] == "text"
        if result["isError"]:
            return content["text"]
        assert self.size <= arguments.get("max_bytes", 8000), self.size
        return parse(content["text"])
    def end(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        return self.process.wait(), rest
EOF

cat >"$work/conversation.py" <<'EOF'
import json, os, sys
sys.path.insert(0, os.path.dirname(__file__))
from client import META, Talk, check, parse
npuprof, data, work, era = sys.argv[1:]
load = lambda name: json.load(open(f"{work}/{name}.json"))
talk = Talk(npuprof, "-d", data, modern=era == "2026-07-28")
if talk.modern:
    begun = talk.result("server/discover")
    print("begin", era in begun["supportedVersions"], begun["capabilities"], begun["ttlMs"] >= 0, begun["cacheScope"])
else:
    begun = talk.result("initialize", {"protocolVersion": era, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
    talk.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    print("begin", begun["protocolVersion"] == era, begun["capabilities"], begun["serverInfo"]["name"], begun["serverInfo"]["version"] != "")
    assert talk.result("ping") == {}
tools = talk.result("tools/list")
print("tools", *[t["name"] for t in tools["tools"]])
print("schemas", all(t["inputSchema"]["type"] == "object" and t["description"] for t in tools["tools"]),
      ("ttlMs" in tools and "cacheScope" in tools) == talk.modern)
assert talk.result("resources/templates/list")["resourceTemplates"] == []
[guide] = talk.result("resources/list")["resources"]
[contents] = talk.result("resources/read", {"uri": guide["uri"]})["contents"]
print("resource", guide["uri"], contents["uri"] == guide["uri"], len(contents["text"]) > 500)
runs = talk.call("list_runs")
print("runs", [os.path.relpath(r["run"], data) + ":" + str(r["ranks"]) for r in runs["runs"]])
slow, even = data + "/slow", data + "/even"
verdict = talk.call("verdict", token="p", run=slow)
print("verdict", verdict["answer"]["verdict"] == load("cluster")["verdict"], verdict["trust"]["ranks_used"], verdict["units"] != "", verdict["missing"])
print("machines", verdict["machines"] == [{"rank": 3, "host": "host1", "device": 1}], verdict["next"][0]["arguments"])
parts = verdict["breakdown"]
print("breakdown", abs(sum(v for k, v in parts.items() if k != "step_ns") - parts["step_ns"]) < 10, parts["wait_ns"] > 0)
# What it says to ask next can be asked.
for each in verdict["next"]:
    asked = talk.call(each["tool"], run=slow, **each["arguments"])
    assert isinstance(asked, dict), (each, asked)
print("progress", len(talk.notes) > 0, all(n["method"] == "notifications/progress" and n["params"]["progressToken"] == "p" for n in talk.notes),
      [n["params"]["progress"] for n in talk.notes] == sorted({n["params"]["progress"] for n in talk.notes}))
whatif = talk.call("whatif", run=slow, fixes=["rank:3"])
asked = load("whatif")["together"]
print("whatif", whatif["asked"]["step_ns"] == asked["step_ns"], whatif["asked"]["saved_ns"] > 0, whatif["rows"][0]["fix"] != "")
# All pages of the slice: the same events as the command writes.
events, cursor = [], None
while True:
    page = talk.call("timeline_slice", run=slow, category="wait", **({"cursor": cursor} if cursor else {}))
    events += page["events"]
    cursor = page.get("next_cursor")
    if not cursor:
        break
# What is refused has the members of an error, and a version that is not spoken says which are.
talk.ask("tools/call", {"name": "none"})
talk.ask("resources/read", {"uri": "npuprof://none"})
talk.ask("none/such")
if talk.modern:
    talk.send({"jsonrpc": "2.0", "id": "old", "method": "tools/list",
               "params": {"_meta": {**META, "io.modelcontextprotocol/protocolVersion": "2024-11-05"}}})
    refused = talk.hear()
    check(refused, None, True)
    assert refused["error"]["code"] == -32022 and refused["error"]["data"]["requested"] == "2024-11-05"
    talk.send({"jsonrpc": "2.0", "id": "stream", "method": "subscriptions/listen", "params": {"_meta": META, "notifications": {"toolsListChanged": True}}})
    check(talk.hear(), "subscriptions/listen", True)
    talk.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "stream"}})
    talk.send({"jsonrpc": "2.0", "id": 77, "method": "subscriptions/listen", "params": {"_meta": META, "notifications": {}}})
    check(talk.hear(), "subscriptions/listen", True)
print("slice", events == [e for e in load("slice") if e["ph"] != "M" and e.get("cat") == "wait"], len(events) == page["total"])
# A subscription that is still open ends with its server.
status, rest = talk.end()
for line in rest.splitlines():
    check(parse(line), "subscriptions/listen", True)
print("status", status, rest.count(b"\n") == talk.modern)
EOF
for revision in 2026-07-28 2025-11-25; do
	behaviour "begin, list, verdict, whatif, slice: a conversation in revision $revision"
	run python3 "$work/conversation.py" "$npuprof" "$work/data" "$work" "$revision"
	expect_exit 0
	begin="begin True {'tools': {}, 'resources': {}} npuprof True"
	[ "$revision" = 2025-11-25 ] || begin="begin True {'tools': {}, 'resources': {}} True private"
	expect_stdout <<EOF
$begin
tools list_runs info verdict cluster_section whatif findings explain_rule compare query timeline_slice history
schemas True True
resource npuprof://guide True True
runs ['even:4', 'slow:4']
verdict True 4 True []
machines True {'fixes': ['rank:3']}
breakdown True True
progress True True True
whatif True True True
slice True True
status 0 True
EOF
done

behaviour 'what tools say is what commands say'
cat >"$work/same.py" <<'EOF'
import json, os, sys
sys.path.insert(0, os.path.dirname(__file__))
from client import Talk
npuprof, data, work = sys.argv[1:]
load = lambda name: json.load(open(f"{work}/{name}.json"))
talk, slow = Talk(npuprof, data), data + "/slow"
def whole(tool, member, **arguments):
    rows, cursor, pages = [], None, 0
    while True:
        page = talk.call(tool, **arguments, **({"cursor": cursor} if cursor else {}))
        rows += page[member]
        pages += 1
        cursor = page.get("next_cursor")
        if not cursor:
            assert len(rows) == page["total"]
            return rows, pages, page
def plain(value):
    return {k: v for k, v in value.items() if k != "evidence"}
findings, pages, page = whole("findings", "findings", run=slow, max_bytes=20000)
print("findings", [plain(f) for f in findings] == [plain(f) for f in load("advisor")["findings"]], page["gains"] == load("advisor")["total"])
print("evidence", max(len(f["evidence"]["rows"]) for f in findings), all(len(f["evidence"]["rows"]) == min(3, f["evidence"]["rows_total"]) for f in findings))
longest = max(findings, key=lambda f: f["evidence"]["rows_total"])
of_rule, _, _ = whole("findings", "findings", run=slow, rule=longest["rule"], max_bytes=50000)
print("of a rule", all(len(f["evidence"]["rows"]) == min(20, f["evidence"]["rows_total"]) for f in of_rule), len(of_rule) > 0)
high, _, _ = whole("findings", "findings", run=slow, severity="high", max_bytes=20000)
print("severity", {f["severity"] for f in high})
waterfall, _, page = whole("compare", "waterfall", run=slow, base=data + "/even", fail_on="step>2%")
compare = load("compare")
print("compare", waterfall == compare["waterfall"], page["step"] == compare["step"], page["gate"]["result"] == compare["gate"]["result"])
rows, pages, _ = whole("cluster_section", "rows", run=slow, section="np_partition", max_bytes=2000)
print("pages", pages > 3, sum(r["ns"] for r in rows if r["rank"] == 1) == sum(p["ns"] for s in load("cluster")["steps"] for r in s["ranks"] if r["rank"] == 1 for p in r["partition"]))
of_one, _, _ = whole("cluster_section", "rows", run=slow, section="np_partition", rank=1)
print("rank", of_one == [r for r in rows if r["rank"] == 1])
asked = talk.call("query", run=slow, sql="SELECT sum(ns) AS s FROM np_partition WHERE rank = 1")
print("query", asked["rows"] == [{"s": sum(r["ns"] for r in of_one)}])
sections, _, _ = whole("cluster_section", "sections", run=slow)
print("sections", {"np_wait", "np_link", "ClusterStepTraceTime"} <= {s["section"] for s in sections})
print("info", talk.call("info", run=slow)["input"]["ranks_used"], [r["rank"] for r in talk.call("info", run=slow, section="ranks")["ranks"]])
print("rule", "One rank makes the others wait" in talk.call("explain_rule", rule="cluster.straggler")["explanation"][0])
print(talk.call("explain_rule", rule="cluster.stragler"))
# Kept: a second question does not read profiles; other files are read again.
talk.notes.clear()
talk.call("verdict", token=1, run=slow)
print("kept", talk.notes)
for where, _, names in os.walk(slow):
    for name in names:
        if name.endswith(".db"):
            os.utime(os.path.join(where, name), (1, 1))
talk.call("verdict", token=2, run=slow)
print("changed", len(talk.notes) > 0)
print("status", *talk.end())
EOF
cp -rp "$work/data" "$work/copy"
run python3 "$work/same.py" "$npuprof" "$work/copy" "$work"
expect_exit 0
expect_stdout <<'EOF'
findings True True
evidence 3 True
of a rule True True
severity {'high'}
compare True True True
pages True True
rank True
query True
sections True
info 4 [0, 1, 2, 3]
rule True
there is no rule 'cluster.stragler'; did you mean 'cluster.straggler'?
kept []
changed True
status 0 b''
EOF

behaviour 'nothing outside the directories can be reached, and nothing can be changed'
cat >"$work/outside.py" <<'EOF'
import os, sys
sys.path.insert(0, os.path.dirname(__file__))
from client import Talk
npuprof, data, work = sys.argv[1:]
talk = Talk(npuprof, "-d", data)
nowhere = talk.call("verdict", run=data + "/none")
for path in (work + "/outside/run", data + "/../outside/run", "../outside/run", "/etc", "/", data + "/elsewhere", "", "slow/../../outside/run", "/proc/self/cwd", data + "x"):
    if talk.call("verdict", run=path) != nowhere:
        print("reached", path)
print(talk.call("verdict", run=data + "/linked").replace(data, "DATA").split("'")[2])
print(talk.call("compare", run="slow", base=data + "/elsewhere") == nowhere)
print(talk.call("verdict", run="slow")["run"] == data + "/slow")
for sql in ("ATTACH '/etc/passwd' AS x", "PRAGMA database_list", "DELETE FROM np_wait", "CREATE TABLE t(x)", "SELECT readfile('/etc/passwd')",
            "SELECT load_extension('x')", "VACUUM INTO '/tmp/x'", "SELECT 1; SELECT 2", "no sql", "",
            "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT x FROM t"):
    if not isinstance(talk.call("query", run="slow", sql=sql), str):
        print("ran", sql)
print("status", *talk.end())
EOF
run python3 "$work/outside.py" "$npuprof" "$work/data" "$work"
expect_exit 0
expect_stdout <<'EOF'
 leads out of the directories that may be read
True
True
status 0 b''
EOF
expect_equal "$(snapshot "$work/data")" "$before"

behaviour 'hostile lines are answered or skipped, and the server goes on'
cat >"$work/hostile.py" <<'EOF'
import os, sys
sys.path.insert(0, os.path.dirname(__file__))
from client import Talk
npuprof, data = sys.argv[1:]
talk = Talk(npuprof, "-d", data)
def code(line):
    talk.send(line)
    return talk.hear()["error"]["code"]
print(code(b"x" * 3_000_000 + b"\n"), code(b"[" * 200_000 + b"\n"), code(b'{"a":' * 1_000 + b"1" + b"}" * 1_000 + b"\n"), code(b"\xff\xfe\n"), code(b"\0\n"), code(b"[]\n"),
      code(b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}\n'))
talk.send(b"\n \r\n")
talk.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}})
talk.send({"jsonrpc": "2.0", "method": "notifications/cancelled"})
print(talk.ask("tools/call", {"name": "verdict", "arguments": "slow"})["error"]["code"], talk.ask("tools/call", {"name": "rm"})["error"]["code"])
print(talk.call("verdict", run=["slow"]))
print(talk.call("verdict", run="slow", cursor="-1"), talk.call("cluster_section", run="slow", section="np_partition", cursor="99999"), sep="\n")
print(talk.call("verdict", run="slow", max_bytes=100))
print(talk.call("verdict", run="s" * 100_000)[:20])
print(talk.call("verdict", run="slow")["trust"]["ranks_used"])
# The last line is answered though it has no end.
talk.send(b'{"jsonrpc":"2.0","id":"last","method":"none"}')
status, rest = talk.end()
print("status", status, rest)
EOF
run python3 "$work/hostile.py" "$npuprof" "$work/data"
expect_exit 0
expect_stdout <<'EOF'
-32600 -32700 -32600 -32700 -32700 -32600 -32600
-32602 -32602
argument 'run' has to be of type string
that is no cursor: take next_cursor of the answer before
the cursor lies behind the list, which has 663 elements
argument 'max_bytes' is out of range
there is no such run
4
status 0 b'{"jsonrpc":"2.0","id":"last","error":{"code":-32602,"message":"_meta does not name a protocol version (2026-07-28), and there was no initialize (2025-11-25)","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2024-11-05"]}}}\n'
EOF

behaviour 'an answer is no longer than it may be, however much is missing'
run "$synth" -q -o "$work/lacking" --ranks 6 --steps 3 --layers 1 --level 0 --hosts 2
for rank in $(find "$work/lacking" -mindepth 1 -maxdepth 1 -type d | sort | head -n 4); do
	find "$rank" -name '*.db' -exec truncate -s 5000 {} +
done
cat >"$work/lacking.py" <<'EOF'
import os, sys
sys.path.insert(0, os.path.dirname(__file__))
from client import Talk
talk = Talk(sys.argv[1], "-d", sys.argv[2])
for section in ("analyses", "ranks", "groups"):
    page = talk.call("info", section=section, max_bytes=2000)
    print(section, len(page["missing"]) < page["missing_total"], len(page[section]) > 0)
whole = talk.call("info", max_bytes=200000)
print(len(whole["missing"]), "missing_total" in whole)
print("text" in talk.call("verdict", max_bytes=2000)["answer"]["verdict"])
talk.end()
EOF
run python3 "$work/lacking.py" "$npuprof" "$work/lacking"
expect_exit 0
expect_stdout <<'EOF'
analyses True True
ranks True True
groups True True
5 False
True
EOF

behaviour 'ranks without a profile are said, however well all others were read'
run "$synth" -q -o "$work/part" --ranks 8 --steps 3 --layers 1 --omit-ranks 3,5
cat >"$work/part.py" <<'EOF'
import os, sys
sys.path.insert(0, os.path.dirname(__file__))
from client import Talk
talk = Talk(sys.argv[1], "-d", sys.argv[2])
answer = talk.call("verdict")
print(answer["trust"]["ranks_used"], answer["trust"]["world_size"], *[note["reason"] for note in answer["notes"]], answer["missing"])
print("notes" in talk.call("compare", run=sys.argv[2], base=sys.argv[2]))
talk.end()
EOF
run python3 "$work/part.py" "$npuprof" "$work/part"
expect_exit 0
expect_stdout <<'EOF'
6 8 2 of the 8 ranks of the job have no profile here: 3,5 []
True
EOF

behaviour 'a job with several phases is asked for one'
run "$synth" -q -o "$work/phases" --ranks 2 --steps 2 --layers 2 --layout verl
cat >"$work/phases.py" <<'EOF'
import os, sys
sys.path.insert(0, os.path.dirname(__file__))
from client import Talk
talk = Talk(sys.argv[1], "-d", sys.argv[2])
print(talk.call("verdict"), talk.call("verdict", phase="rollout")["phase"], talk.call("verdict", phase="none"), sep="\n")
talk.end()
EOF
run python3 "$work/phases.py" "$npuprof" "$work/phases"
expect_exit 0
expect_equal "$(head -n 2 "$work/stdout" | sed 's/: .*//')" "this job has several phases; name one as phase
rollout"

behaviour 'the history is that of the store named at the start'
for name in even slow; do
	run "$npuprof" history add "$work/data/$name" --store "$work/runs.db"
	expect_exit 0
done
for action in list trend effects advise; do
	"$npuprof" history "$action" --store "$work/runs.db" -f json >"$work/history-$action.json"
done
cat >"$work/history.py" <<'EOF'
import json, os, sys
sys.path.insert(0, os.path.dirname(__file__))
from client import Talk
npuprof, data, work = sys.argv[1:]
talk = Talk(npuprof, "-d", data, "--store", work + "/runs.db")
for action, member in (("list", "runs"), ("trend", "series"), ("effects", "effects"), ("advise", "machines")):
    page = talk.call("history", action=action, max_bytes=50000)
    expected = json.load(open(f"{work}/history-{action}.json"))
    print(action, page[member] == expected[member], all(page[k] == v for k, v in expected.items() if not isinstance(v, list)))
print(talk.call("history", action="prune"))
usual = talk.call("history", action="judge", run="slow", fail_on="step>2%")
print(usual["step_is"], usual["gated"], usual["result"], usual["trust"]["ranks_used"], usual["figures"][0]["figure"], usual["figures"][0]["allowed"])
print("status", *talk.end())
bare = Talk(npuprof, "-d", data)
print(bare.call("history"))
bare.end()
EOF
run env -u NPUPROF_HISTORY python3 "$work/history.py" "$npuprof" "$work/data" "$work"
expect_exit 0
expect_stdout <<'EOF'
list True True
trend True True
effects True True
advise True True
argument 'action' is none of those that tools/list names
None True withheld 4 step 0.02
status 0 b''
no earlier runs are known: the server was started without a store (npuprof mcp --store FILE)
EOF

behaviour 'a directory that is not there, or none, is a line'
run "$npuprof" mcp -d "$work/nowhere"
expect_exit 2
expect_stderr_has 'nowhere'
run "$npuprof" mcp
expect_exit 2
