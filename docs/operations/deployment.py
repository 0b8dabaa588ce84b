"""The deployment that `make deploy` made: its name, its region and its outputs.

`sam deploy --guided` keeps the answers in a file, samconfig.deploy.toml unless DEPLOYMENT names another one. Without it,
STACK and AWS_REGION say which deployment is meant.
"""

import os
import re
import sys
from pathlib import Path

import boto3
import tomlkit
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

ANSWERS = Path(os.environ.get("DEPLOYMENT") or "samconfig.deploy.toml")


class Deployment:
    def __init__(self, answers: Path = ANSWERS):
        sections = tomlkit.parse(answers.read_text()).unwrap().get("default", {}) if answers.exists() else {}
        kept: dict = {**sections.get("global", {}).get("parameters", {}), **sections.get("deploy", {}).get("parameters", {})}
        self.stack = os.environ.get("STACK") or kept.get("stack_name", "roost")
        self.region = kept.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        overrides = kept.get("parameter_overrides", "")
        # SAM writes one text, or a list of texts: Name="value".
        text = overrides if isinstance(overrides, str) else " ".join(overrides)
        self.parameters = dict(re.findall(r'(\w+)="?([^"\s]*)"?', text))

    def client(self, service: str, **settings):
        return boto3.client(service, region_name=self.region, **settings)

    def outputs(self) -> dict[str, str]:
        try:
            (stack,) = self.client("cloudformation").describe_stacks(StackName=self.stack)["Stacks"]
        except (BotoCoreError, ClientError) as error:
            sys.exit(f"cannot find the deployment {self.stack} in {self.region}: {error}\n{next_step(error)}")
        return {one["OutputKey"]: one["OutputValue"] for one in stack.get("Outputs", [])}


def next_step(error: Exception) -> str:
    if isinstance(error, NoCredentialsError):
        return "name your credentials: AWS_PROFILE=<profile>, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    return "'make deploy' makes one; STACK=<name> and AWS_REGION=<region> name another"


if __name__ == "__main__":
    # For the Makefile: the answer to one parameter, or nothing.
    print(Deployment().parameters.get(sys.argv[1], ""))
