# SPDX-License-Identifier: Apache-2.0
"""Is what npuprof says of a run what is true of it?

Each judgement is a list of (name, right, what was found). A run is right if all are.
"""

import json

GAIN_SHARE, GAIN_OF_STEP, FIDELITY = 0.20, 0.01, 0.005
SMALL = 0.02  # of the step: so much may be said of all hosts of a healthy run, which are never quite on time


def _verdict(cluster):
    return cluster.get("verdict") or {"kind": "none", "what": None, "recovered_ns": None, "with": [], "text": ""}


def _said(cluster):
    """All sentences of the answer, for words that must occur."""
    verdict = _verdict(cluster)
    findings = " ".join(
        f"{each.get('what', '')} {each.get('detail', '')}" for each in cluster.get("job_findings") or []
    )
    return f"{verdict.get('reason') or ''} {verdict.get('text') or ''} {findings}".lower()


def _costs_nothing(truth):
    """A fault whose cost cannot be told from none, for others wait longer anyway, need not be named."""
    return truth["saved_ns"] <= GAIN_OF_STEP * truth["step_ns"]


def _named(truth, cluster):
    verdict = _verdict(cluster)
    if _costs_nothing(truth) and verdict["kind"] == "none":
        return True
    for each in truth["accept"]:
        if each["kind"] == "none" and verdict["kind"] in ("host-gaps", "between") and (
            verdict["recovered_ns"] or 0
        ) <= SMALL * truth["step_ns"]:
            return True
        if verdict["kind"] == each["kind"] and each["what"] in (None, verdict["what"]):
            return True
    return False


def _cause(truth, cluster):
    verdict = _verdict(cluster)
    if verdict["kind"] != "rank":
        return "-"
    for each in cluster.get("stragglers") or []:
        if str(each["rank"]) == verdict["what"]:
            return each["cause"]
    return "-"


def _gain(truth, cluster, found):
    """Within a fifth of what the fault cost, or 1 % of the step, by the basis the answer has."""
    costs = [truth["saved_ns"]]
    if cluster.get("step_basis") != "iteration":
        costs.append(truth["saved_span_ns"])
    allowed = GAIN_OF_STEP * truth["step_ns"]
    return any(abs((found or 0) - cost) <= max(GAIN_SHARE * abs(cost), allowed) for cost in costs)


def _replay(truth, whatif):
    """(right, what): whether the untouched replay gives the step that was."""
    replay = whatif.get("replay")
    if not replay:
        return False, "no replay"
    basis = whatif.get("step_basis", "span")
    true = truth["step_ns"] if basis == "iteration" else truth["span_ns"]
    error = max(replay["fidelity"], 0)
    off = 100 * (replay["step_ns"] / true - 1)
    return error <= FIDELITY, f"fidelity {100 * error:.2f} %, {off:+.2f} % of the true {basis}"


def _between(truth, cluster):
    """The named leaf of the time between steps holds most of it."""
    sums = {}
    for step in cluster["steps"]:
        for rank in step["ranks"]:
            for each in rank.get("partition") or []:
                sums[each["leaf"]] = sums.get(each["leaf"], 0) + each["ns"]
    leaves = {leaf: ns for leaf, ns in sums.items() if leaf.startswith("between/")}
    best = max(leaves, key=leaves.get, default="-")
    return best == truth["also"]["between"], best


def _also(truth, cluster, status):
    also, verdict = truth["also"], _verdict(cluster)
    if "text" in also:
        missing = [word for word in also["text"] if word not in _said(cluster)]
        yield "said", not missing, f"without {', '.join(missing)}" if missing else ""
    if "anywhere" in also:
        answer = json.dumps(cluster, ensure_ascii=False).lower()
        missing = [word for word in also["anywhere"] if word not in answer]
        yield "said", not missing, f"without {', '.join(missing)}" if missing else ""
    if "course" in also:
        found = next(
            (
                each.get("course")
                for each in cluster.get("stragglers") or []
                if str(each["rank"]) == truth["accept"][0]["what"]
            ),
            None,
        ) or {}
        yield "course", found.get("kind") == also["course"], str(found.get("kind"))
    if "with" in also:
        found = sorted([f"{verdict['kind']}:{verdict['what']}"] + list(verdict.get("with") or []))
        yield "both", found == sorted(also["with"]), " ".join(found)
    if "between" in also:
        yield ("leaf",) + _between(truth, cluster)
    if "finding" in also:
        findings = [str(each.get("what")) for each in cluster.get("job_findings") or []]
        yield "finding", any(also["finding"] in each for each in findings), " ".join(findings) or "none"
    if "withheld" in also:
        rank = also["withheld"]
        partial = any(each.get("rank") == rank for each in (cluster.get("trust") or {}).get("coverage") or [])
        yield "coverage", partial, "" if partial else "not named"
        yield "not blamed", verdict["what"] != str(rank), ""
    if "not" in also:
        yield "not blamed", verdict["what"] != str(also["not"]), ""
    if "exit" in also:
        yield "exit status", status == also["exit"], str(status)


def judge(truth, cluster, whatif, status):
    """[(name, right, found)] for the answers of `cluster` and `whatif`, and the exit status of `cluster`."""
    verdict = _verdict(cluster)
    out = [("verdict", _named(truth, cluster), f"{verdict['kind']} {verdict['what'] or ''}".strip())]
    if truth["cause"] and not (_costs_nothing(truth) and verdict["kind"] == "none"):
        cause = _cause(truth, cluster)
        out.append(("cause", cause in truth["cause"], cause))
    if truth["judge_gain"] and truth["accept"][0]["kind"] != "none":
        found = verdict.get("recovered_ns")
        text = f"{100 * (found or 0) / truth['step_ns']:.1f} % for {100 * truth['saved_ns'] / truth['step_ns']:.1f} %"
        out.append(("gain", _gain(truth, cluster, found), text))
    if not truth["cut"] and truth["ranks"] - len(truth["omitted"]) > 1:
        out.append(("replay",) + _replay(truth, whatif))
    return out + list(_also(truth, cluster, status))
