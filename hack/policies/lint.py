"""Runs parliament on the policies of this repository.

It fails for each finding that accepted.json does not have, and for each entry there without a finding.
"""

import json
import re
import sys
from pathlib import Path

import parliament

here = Path(__file__).parent
root = here.parent.parent
accepted = json.loads((here / "accepted.json").read_text())

# Values that have the form of what the variables of policies stand for.
VALUES = {
    "KMS_KEY": "arn:aws:kms:us-east-1:111111111111:key/00000000-0000-0000-0000-000000000000",
    "SHARED_VPC_CONTROL_PLANE_ROLE": "arn:aws:iam::222222222222:role/endpoint",
    "SHARED_VPC_INGRESS_ROLE": "arn:aws:iam::222222222222:role/route53",
}


def policies():
    for folder in "config/iam", "config/iam/commandline", "internal/cli/aws/clusteriam/policies":
        for path in sorted((root / folder).glob("*.json")):
            yield path.relative_to(root), re.sub(r"\$\{([A-Z_]+)\}", lambda m: VALUES.get(m[1], "demo-x7k2p"), path.read_text())


def named(detail):
    """The actions, or the resource, that a finding is about."""
    if isinstance(detail, list):
        return ", ".join(d["action"] if isinstance(d, dict) else d for d in detail)
    return str(detail)


findings = []
checked = 0
for path, text in policies():
    checked += 1
    for finding in parliament.analyze_policy_string(text).findings:
        findings.append((str(path), finding.issue, named(finding.detail)))
if checked < 30:
    sys.exit(f"{checked} policies: this script looks in the wrong folders")

used = set()
failures = []
for path, issue, detail in findings:
    for i, entry in enumerate(accepted):
        if entry["issue"] == issue and re.fullmatch(entry.get("file", ".*"), path) and re.search(entry.get("detail", ""), detail):
            used.add(i)
            break
    else:
        failures.append(f"{path}: {issue}: {detail}")
failures += [f"accepted.json: there is no finding {e}" for i, e in enumerate(accepted) if i not in used]
if failures:
    sys.exit("\n".join(failures))
