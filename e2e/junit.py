"""Reads a JUnit report with junitparser: its sums hold, and it says what the JSON report says."""

import json
import sys

import junitparser

suites = junitparser.JUnitXml.fromfile(sys.argv[1])
report = json.load(open(sys.argv[2]))

seen = {}
for suite in suites:
    count = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for case in suite:
        count["tests"] += 1
        kinds = [type(r).__name__ for r in case.result]
        assert len(kinds) <= 1, f"{case.name} is {kinds}"
        if kinds:
            count[{"Failure": "failures", "Error": "errors", "Skipped": "skipped"}[kinds[0]]] += 1
            assert case.result[0].message, f"{case.name} does not say why"
        seen[suite.name, case.name] = kinds[0] if kinds else "passed"
    for name, n in count.items():
        assert getattr(suite, name) == n, f"{suite.name} says {name}={getattr(suite, name)}, and has {n}"

verdict = seen.pop(("isodetect", "verdict"))
want = {0: "passed", 1: "Failure", 2: "Error", 3: "Failure"}[report["verdict"]["exit_code"]]
assert verdict == want, f"the verdict is {verdict}, want {want}"
for domain in report["domains"]:
    for signal in domain["signals"]:
        got = seen.pop((domain["id"], signal["signal"]))
        fails = any(f["fails"] for f in report["findings"] if (f["domain"], f["signal"]) == (domain["id"], signal["signal"]))
        want = "Failure" if fails else "passed" if signal["state"] == "judged" else "Skipped"
        assert got == want, f"{signal['signal']} in {domain['id']} is {got}, want {want}"
assert not seen, f"{seen} is in no domain"
