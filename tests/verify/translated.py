"""What CloudFormation gets to see: the template after SAM's transformation, checked by cfn-lint.

cfn-lint checks template.yaml as it is written. What SAM makes of it can still be wrong, and AWS would be the first to say
so. Both forms that `make deploy` deploys are translated: all at once, and gradual (docs/operations/gradual.py).
"""

import json
import logging
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/operations"))

import boto3
from gradual import prepare
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

VARIANTS = {
    "default": {},
    "gradual": {"Rollout": "Canary10Percent10Minutes", "CorsOrigins": "https://roost.example,https://www.roost.example"},
}


def translated(parameters: dict[str, str]) -> dict:
    """The template as SAM translates it with these parameters."""
    template = yaml_parse((ROOT / "template.yaml").read_text())
    if "Rollout" in parameters:
        prepare(template, stamp="0123456789abcdef")
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            # Where `sam deploy` would have put the code.
            resource["Properties"]["CodeUri"] = "s3://the-bucket/the-code"
    session = boto3.Session(region_name="us-east-1")
    return Translator({}, Parser(), boto_session=session).translate(template, dict(parameters))


def main() -> None:
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, parameters in VARIANTS.items():
            template = translated(parameters)
            aliases = [one for one in template["Resources"].values() if one["Type"] == "AWS::Lambda::Alias"]
            if bool(aliases) != ("Rollout" in parameters):
                sys.exit(f"{name}: {len(aliases)} functions have an alias")
            files.append(Path(folder) / f"{name}.json")
            files[-1].write_text(json.dumps(template, indent=1))
        # Warnings are about how a template is written, and this one was written by SAM.
        lint = Path(sys.executable).with_name("cfn-lint")
        ended = subprocess.run([lint, "--non-zero-exit-code", "error", "--ignore-checks", "W", "--", *files])
    if ended.returncode != 0:
        sys.exit("AWS would refuse what SAM makes of template.yaml")
    print(f"what SAM makes of template.yaml is in order: {', '.join(VARIANTS)}")


if __name__ == "__main__":
    main()
