"""Runs the end-to-end suite against the deployment: `make smoke`.

Where it is comes from the deployment's outputs, and tokens come from its own user pool (tokens.py). URL and TOKEN_URL say
otherwise. A deployment that takes tokens of another issuer needs TOKEN_URL.
"""

import os
import subprocess
import sys

from deployment import Deployment
from tokens import Tokens

SUITE = ["cargo", "test", "--workspace", "--test", "it", "--", "--test-threads", "4"]


def main() -> int:
    url, token_url = os.environ.get("URL"), os.environ.get("TOKEN_URL")
    deployment, tokens = Deployment(), None
    if not (url and token_url):
        outputs = deployment.outputs()
        url = url or outputs["ApiUrl"]
        if not token_url and "UserPoolId" not in outputs:
            sys.exit(f"who gives out tokens of {outputs['Issuer']}? make smoke TOKEN_URL=https://…")
        if not token_url:
            cognito = deployment.client("cognito-idp")
            tokens = Tokens(cognito, outputs["UserPoolId"], outputs["UserPoolClientId"])
            token_url = tokens.url
    environment = {
        **os.environ,
        "ROOST_URL": url,
        "ROOST_TOKEN_URL": token_url,
        "ROOST_STACK": deployment.stack,
        "ROOST_PATIENCE": os.environ.get("PATIENCE") or "3",
    }
    try:
        return subprocess.run(SUITE, env=environment).returncode
    finally:
        if tokens:
            tokens.stop()


if __name__ == "__main__":
    sys.exit(main())
