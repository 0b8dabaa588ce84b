"""Prepares a template for the parameter Rollout: `gradual.py <template> <prepared template>`.

A gradual update needs an alias for each function behind the API, and SAM takes an alias or leaves it: no condition can
decide. With an alias, a change of a parameter alone would not reach a function, because SAM makes a new version only if
the template's own text has changed. So most deployments are better off without, and `make deploy` adds aliases only if
Rollout asks for them, with a stamp that makes every deployment a new version.
"""

import hashlib
import sys
import time
from pathlib import Path

from samcli.yamlhelper import yaml_dump, yaml_parse


def prepare(template: dict, stamp: str) -> int:
    """Gives every function behind the API its alias. Gives their number."""
    prepared = 0
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        events = properties.get("Events", {}) if resource["Type"] == "AWS::Serverless::Function" else {}
        if any(event["Type"] == "HttpApi" for event in events.values()):
            properties["AutoPublishAlias"] = "live"
            properties["AutoPublishAliasAllProperties"] = True
            properties["AutoPublishCodeSha256"] = stamp
            properties["DeploymentPreference"] = {"Type": {"Ref": "Rollout"}, "Alarms": [{"Ref": "RolloutFails"}]}
            prepared += 1
    return prepared


def main(source: str, target: str) -> None:
    template = yaml_parse(Path(source).read_text())
    # SAM makes the name of the version out of its beginning, so it has to look like the hash that SAM expects.
    prepared = prepare(template, stamp=hashlib.sha256(str(time.time_ns()).encode()).hexdigest())
    Path(target).write_text(yaml_dump(template))
    print(f"{prepared} functions behind the API are updated gradually")


if __name__ == "__main__":
    main(*sys.argv[1:])
