"""`make verify`: the template is built and deployed by the real SAM CLI, and the end-to-end suite runs on the deployment.

There is no AWS account here, so MiniStack is the cloud: its CloudFormation, Lambda, DynamoDB, Kinesis, S3, IAM and API
Gateway, on one port, with IAM policies enforced. Redis is real. In this order:

1. build     `sam build`, every function
2. page      the page of the local cloud in a browser, as `make check-page` does it (check_page.py)
3. start     Redis, an issuer of tokens, and MiniStack (cloud.py), which notes whatever a policy was asked for
4. guided    `sam deploy --guided`, answered with Enter until it asks for a change set (guided.py)
5. mistakes  parameters that do not go together, and a first deployment that fails half-way and leaves nothing behind
6. deploy    `sam deploy`, then the routes that MiniStack does not import (gateway.py)
7. suite     `cargo test -p roost-tests --test it` against the deployment
8. schedules every function that runs on a schedule, a few times
9. redrive   a batch that was given up, by `make redrive`
10. tokens   those of a Cognito user pool, as `make smoke` takes them
11. policies what each function may do, against what it did and what its environment names (permissions.py)
12. tear-down `sam delete`, always; then everything that was started is stopped

Logs are in `.verify/`. What a deployment cannot show is skipped by the suite itself, which says why: tests that kill
processes, restart Redis or choose parameters of their own run on the local cloud (`make test`).
"""

import base64
import json
import os
import platform
import re
import secrets
import shutil
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path

import boto3
from samcli.yamlhelper import yaml_parse

import gateway
from guided import Stuck, press_enter
from issuer import Issuer
from permissions import Permissions
from processes import Process, answers, free_port, ping_redis

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/operations"))

from deployment import Deployment
from tokens import Tokens

STATE = ROOT / ".verify"
TOOLS = ROOT / ".venv" / "bin"
CHECKS = STATE / "checks.jsonl"
TEMPLATE = STATE / "build" / "template.yaml"
ANSWERS = STATE / "samconfig.deploy.toml"
REGION, STACK = "us-east-1", "roost"

# Small enough that a handful of people meet everything: celebrities, pages that are handed over, flips back.
PARAMETERS = {
    "Architecture": "arm64" if platform.machine() in ("aarch64", "arm64") else "x86_64",
    "CelebrityThreshold": "12",
    "TierDwellSeconds": "0",
    "FanOutPageSize": "3",
    # One follower is served before the POST is answered, two are served by the stream.
    "SyncFanOutFollowers": "1",
    "ReconcileSample": "1000",
    "AuditSample": "1000",
    # Scheduled functions are invoked several times in a row.
    "CacheWatchSeconds": "1",
    # The people of the suite are faster than people; what the limits do is tested on the local cloud.
    "ReadsPerMinute": "600000",
    "WritesPerMinute": "600000",
}
# MiniStack takes about a tenth of a second for an invocation, and delivers streams one batch at a time.
PATIENCE = "8"
TESTS_AT_ONCE = "4"
# Of what failed tests said, as much as one reads.
FAILURE_LINES = 200
STEPS = ("build", "page", "start", "guided", "mistakes", "deploy", "suite", "schedules", "redrive", "tokens", "policies")


def say(text: str) -> None:
    print(text, flush=True)


class Step:
    """A line that says what is being done, and how long it took."""

    def __init__(self, name: str):
        self.name = name

    def __enter__(self):
        self.started = time.monotonic()
        say(f"── {self.name}")
        return self

    def __exit__(self, failure, *_):
        outcome = "failed" if failure else "done"
        say(f"   {outcome} after {time.monotonic() - self.started:.0f} s")


class Verification:
    def __init__(self):
        self.running: list = []
        self.deployed = False
        self.redis_port, self.port = free_port(), free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        # Nothing of the caller's environment reaches a function: a variable that the template forgets must be missed.
        self.bare = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        self.credentials = {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": self.endpoint,
        }
        self.environment = {
            **os.environ,
            **self.credentials,
            "PATH": f"{TOOLS}:{os.environ['PATH']}",
            "SAM_CLI_TELEMETRY": "0",
            # Whatever was deployed from this folder before is not meant.
            "DEPLOYMENT": str(ANSWERS),
        }

    def cloud(self, service: str):
        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def run(
        self, *command: str, log: str, environment: dict[str, str] | None = None, may_fail: bool = False
    ) -> bool:
        """Runs a command to its end. Gives whether it succeeded, if it may fail."""
        path = STATE / log
        with path.open("wb") as output:
            ended = subprocess.run(
                command, cwd=ROOT, env=environment or self.environment, stdout=output, stderr=subprocess.STDOUT
            )
        if ended.returncode != 0 and not may_fail:
            say("".join(f"   │ {line}\n" for line in path.read_text(errors="replace").splitlines()[-40:]).rstrip("\n"))
            raise SystemExit(f"{command[0]} failed; its whole output is in {path.relative_to(ROOT)}")
        return ended.returncode == 0

    def overrides(self, parameters: dict[str, str]) -> list[str]:
        return ["--parameter-overrides", *(f"{name}={value}" for name, value in parameters.items())]

    # ------------------------------------------------------------ the steps

    def build(self) -> None:
        # Unoptimised, like everything else that is tested: SAM builds the same code with the same wiring in a quarter of
        # the time. `SAM_BUILD_MODE= make verify` builds as a deployment does.
        environment = {"SAM_BUILD_MODE": "debug", "CARGO_LAMBDA_COMPILER": "cargo", **self.environment}
        if not environment["SAM_BUILD_MODE"]:
            del environment["SAM_BUILD_MODE"]
        release = [] if "SAM_BUILD_MODE" in environment else ["--release"]
        # All at once first: SAM would build one binary after the other, and now finds every one of them made.
        binaries = sorted(path.name for path in (ROOT / "functions").iterdir() if (path / "Cargo.toml").exists())
        chosen = [word for binary in binaries for word in ("--bin", binary)]
        self.run("cargo", "lambda", "build", *release, *chosen, log="cargo.log", environment=environment)
        self.run(
            "sam", "build", "--build-dir", str(STATE / "build"), *self.overrides(PARAMETERS),
            log="build.log", environment=environment,
        )  # fmt: skip
        # Half of an unoptimised binary is symbols, which would be zipped and uploaded, too.
        for binary in (STATE / "build").glob("*/bootstrap"):
            subprocess.run(["strip", binary], check=True)

    def page(self) -> None:
        """On the local cloud, which nothing of the deployment is a part of. So it comes before the machine is busy with it."""
        # With the features of `make test` and of the suite below, so that nothing is compiled twice.
        environment = dict(os.environ)
        self.run("cargo", "build", "--workspace", "--all-targets", log="page-build.log", environment=environment)
        log = "page.log"
        try:
            self.run(sys.executable, "tests/verify/check_page.py", log=log, environment=environment)
        finally:
            for line in (STATE / log).read_text(errors="replace").splitlines():
                if re.match(r"  (FAILED|figure)  |\d+ passed|the page in a browser", line):
                    say(f"   {line.strip()}")

    def start(self) -> None:
        # Functions log in as they do to a cache of ours: by password, as a user with the template's access string.
        server = shutil.which("redis-server") or shutil.which("valkey-server")
        access = re.search(r"^ +AccessString: (.+)$", (ROOT / "template.yaml").read_text(), re.MULTILINE).group(1)
        password, root_password = secrets.token_hex(16), secrets.token_hex(16)
        redis = Process(
            "Redis",
            [
                server, "--port", str(self.redis_port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                "--requirepass", root_password, "--user", "roost", f">{password}", *access.split(),
            ],
            self.bare,
            STATE / "redis.log",
        )  # fmt: skip
        self.running.append(redis)
        redis.wait_until(lambda: ping_redis(self.redis_port))
        self.redis_url = f"redis://roost:{password}@127.0.0.1:{self.redis_port}"
        # The suite looks everywhere and empties the cache.
        self.redis_root_url = f"redis://:{root_password}@127.0.0.1:{self.redis_port}"

        self.issuer = Issuer()
        self.running.append(self.issuer)

        ministack = Process(
            "MiniStack",
            [str(ROOT / ".venv/ministack/bin/python"), str(ROOT / "tests/verify/cloud.py"), str(CHECKS)],
            {
                **self.bare,
                **self.credentials,
                # It unpacks the functions there.
                "TMPDIR": str(STATE / "tmp"),
                "BIND_HOST": "127.0.0.1",
                "GATEWAY_PORT": str(self.port),
                "MINISTACK_HOST": "127.0.0.1",
                "SFTP_ENABLED": "0",
                "IOT_MTLS_ENABLED": "0",
                # IAM policies are enforced.
                "AUTH": "true",
            },
            STATE / "ministack.log",
        )
        self.running.append(ministack)
        ministack.wait_until(lambda: answers(f"{self.endpoint}/_ministack/health"))
        secret = self.cloud("secretsmanager").create_secret(Name="url-of-the-cache", SecretString=self.redis_url)
        self.parameters = {
            **PARAMETERS,
            "RedisUrlSecretArn": secret["ARN"],
            "JwtIssuer": self.issuer.url,
            "JwtAudience": self.issuer.AUDIENCE,
        }

    def guided(self) -> None:
        """Whoever answers every question with Enter gets as far as the change set, and the answers are kept.

        MiniStack refuses that change set, because it has no serverless cache."""
        shutil.copy(ROOT / "samconfig.toml", ANSWERS)
        command = ["sam", "deploy", "--guided", "--config-file", str(ANSWERS), "--template-file", str(TEMPLATE)]
        environment = {**self.environment, "TERM": "dumb", "COLUMNS": "200"}
        try:
            _, said = press_enter([*command, "--no-progressbar"], environment, ROOT)
        except Stuck as problem:
            raise SystemExit(f"sam deploy --guided: {problem}") from None
        (STATE / "guided.log").write_text(said)
        if "CreateChangeSet operation: Template format error: Unrecognized resource types" not in said:
            raise SystemExit("sam deploy --guided asked for no change set; what it said is in .verify/guided.log")
        asked = set(yaml_parse((ROOT / "template.yaml").read_text())["Parameters"])
        kept = Deployment(ANSWERS)
        if set(kept.parameters) != asked or (kept.stack, kept.region) != (STACK, REGION):
            raise SystemExit(f"the answers were not kept: {vars(kept)}, but asked was for {sorted(asked)}")
        say(f"   {len(asked)} parameters were answered with Enter, and the answers were kept")

    def mistakes(self) -> None:
        self.rules()
        self.deployed = True
        # The tables are made before the functions, which need what the secret says.
        parameters = {**self.parameters, "RedisUrlSecretArn": f"{self.parameters['RedisUrlSecretArn']}-not-there"}
        if self.sam_deploy(parameters, log="mistakes.log", may_fail=True):
            raise SystemExit("a secret that does not exist was accepted")
        left = self.cloud("dynamodb").list_tables()["TableNames"]
        left += [one["Name"] for one in self.cloud("s3").list_buckets()["Buckets"] if "failedbatches" in one["Name"]]
        if left:
            raise SystemExit(f"a first deployment failed and left {left} behind")
        self.run("sam", "delete", "--stack-name", STACK, "--region", REGION, "--no-prompts", log="delete.log")
        say("   parameters that do not go together were refused; what a failed deployment had made was taken back")

    def rules(self) -> None:
        """CloudFormation refuses parameters that do not go together, with the words of the template."""
        template = yaml_parse((ROOT / "template.yaml").read_text())
        nothing = {"Nothing": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}
        body = json.dumps({part: template[part] for part in ("Parameters", "Rules")} | {"Resources": nothing})
        formation = self.cloud("cloudformation")

        def refusal(**parameters: str) -> str:
            given = [{"ParameterKey": name, "ParameterValue": value} for name, value in parameters.items()]
            try:
                formation.create_stack(StackName="rules", TemplateBody=body, Parameters=given)
                formation.delete_stack(StackName="rules")
                formation.get_waiter("stack_delete_complete").wait(StackName="rules", WaiterConfig={"Delay": 1})
                return ""
            except formation.exceptions.ClientError as error:
                return str(error)

        secret = self.parameters["RedisUrlSecretArn"]
        for parameters, expected in (
            ({}, ""),
            ({"JwtIssuer": "https://i", "JwtAudience": "a"}, ""),
            ({"JwtIssuer": "https://i"}, "JwtIssuer needs JwtAudience"),
            ({"JwtAudience": "a"}, "JwtAudience needs JwtIssuer"),
            ({"RedisUrlSecretArn": secret, "SubnetIds": "a,b", "SecurityGroupIds": "c"}, ""),
            ({"RedisUrlSecretArn": secret, "SubnetIds": "a,b"}, "SubnetIds need SecurityGroupIds"),
            ({"SubnetIds": "a,b", "SecurityGroupIds": "c"}, "SubnetIds are for the cache"),
            ({"SecurityGroupIds": "c"}, "SecurityGroupIds need SubnetIds"),
            ({"ZoneA": "us-east-1a", "ZoneB": "us-east-1c"}, ""),
            ({"ZoneA": "us-east-1a"}, "are set together"),
            ({"ZoneA": "us-east-1a", "ZoneB": "us-east-1a"}, "two different zones"),
            ({"RedisUrlSecretArn": "redis://somewhere"}, "RedisUrlSecretArn"),
            ({"VpcCidr": "10.0.0.0/24"}, "VpcCidr"),
            ({"VpcCidr": "10.0.0.0/19"}, ""),
        ):
            said = refusal(**parameters)
            if (expected not in said) if expected else said:
                raise SystemExit(f"{parameters}: expected {expected or 'no refusal'!r}, got {said!r}")

    def sam_deploy(self, parameters: dict[str, str], log: str, may_fail: bool = False) -> bool:
        return self.run(
            "sam", "deploy", "--config-file", str(ROOT / "samconfig.toml"), "--template-file", str(TEMPLATE),
            "--stack-name", STACK, "--no-confirm-changeset", "--no-progressbar", *self.overrides(parameters),
            log=log, may_fail=may_fail,
        )  # fmt: skip

    def deploy(self) -> None:
        self.deployed = True
        self.sam_deploy(self.parameters, log="deploy.log")
        api, routes = gateway.complete(self.cloud, STACK)
        self.url = f"{self.endpoint}/_aws/execute-api/{api}/$default"
        self.resources()
        say(f"   {routes} routes at {self.url}")

    def resources(self) -> None:
        """The deployed stack, by type; one by one in `.verify/resources.json`."""
        pages = self.cloud("cloudformation").get_paginator("list_stack_resources").paginate(StackName=STACK)
        resources = [resource for page in pages for resource in page["StackResourceSummaries"]]
        listing = [[one["ResourceType"], one["LogicalResourceId"], one["ResourceStatus"]] for one in resources]
        (STATE / "resources.json").write_text(json.dumps(sorted(listing), indent=1))
        for kind, count in sorted(Counter(one["ResourceType"] for one in resources).items()):
            say(f"   {count:4} {kind}")
        unfinished = [row for row in listing if row[2] != "CREATE_COMPLETE"]
        if unfinished:
            raise SystemExit(f"not created: {unfinished}")

    def suite(self) -> None:
        environment = {
            **self.environment,
            "ROOST_URL": self.url,
            "ROOST_TOKEN_URL": self.issuer.token_url,
            "ROOST_DYNAMODB_URL": self.endpoint,
            "ROOST_KINESIS_URL": self.endpoint,
            "ROOST_REDIS_URL": self.redis_root_url,
            "ROOST_STACK": STACK,
            "ROOST_PATIENCE": PATIENCE,
            "ROOST_CELEBRITY_THRESHOLD": PARAMETERS["CelebrityThreshold"],
            # What a test says is worth more than where it said it.
            "RUST_BACKTRACE": "0",
        }
        # Of the whole workspace, so that cargo takes what `make test` has compiled.
        command = ["cargo", "test", "--workspace", "--test", "it", "--", "--show-output"]
        command += ["--test-threads", TESTS_AT_ONCE]
        log = "suite.log"
        try:
            self.run(*command, log=log, environment=environment)
        finally:
            lines = (STATE / log).read_text(errors="replace").splitlines()
            skipped = Counter(line.split(": ", 2)[2] for line in lines if line.startswith("skipped: "))
            for why, count in skipped.most_common():
                say(f"   {count:4} skipped: {why}")
            if "failures:" in lines:
                # What the failed tests said; the end of the log has only their names.
                said = lines[lines.index("failures:") :]
                say("\n".join(f"   │ {line[:300]}" for line in said[:FAILURE_LINES]))
            say("".join(f"   {line}" for line in lines if line.startswith("test result")))
            # Why it failed, if that is why.
            for line in Permissions(self.cloud, STACK, CHECKS).refusals():
                say(f"   {line}")

    def schedules(self) -> None:
        """Every function that runs on a schedule, with its event. A count is made wrong first: something to repair."""
        template = self.cloud("cloudformation").get_template(StackName=STACK, TemplateStage="Processed")["TemplateBody"]
        binaries = [
            template["Resources"][target["Arn"]["Fn::GetAtt"][0]]["Metadata"]["BuildProperties"]["Binary"]
            for resource in template["Resources"].values()
            if resource["Type"] == "AWS::Events::Rule"
            for target in resource["Properties"]["Targets"]
        ]
        users = self.cloud("dynamodb")
        row = next(
            item
            for page in users.get_paginator("scan").paginate(TableName=f"{STACK}-users")
            for item in page["Items"]
            if item["pk"]["S"].startswith("user#") and item["follower_count"]["N"] != "0"
        )

        def followers(wrong: int | None = None) -> str:
            key = {"TableName": f"{STACK}-users", "Key": {"pk": row["pk"]}}
            if wrong is not None:
                value = {":wrong": {"N": str(wrong)}}
                users.update_item(
                    **key, UpdateExpression="SET follower_count = :wrong", ExpressionAttributeValues=value
                )
            return users.get_item(**key, ConsistentRead=True)["Item"]["follower_count"]["N"]

        right = followers()
        followers(wrong=int(right) + 1000)
        for attempt in range(20):
            for binary in binaries:
                self.invoke(binary)
            if followers() == right and attempt > 1:
                say(f"   {', '.join(binaries)} ran; a wrong count was put right")
                return
        raise SystemExit(f"a wrong count is still {followers()} instead of {right}")

    def invoke(self, binary: str) -> None:
        event = (ROOT / "events" / f"{binary}.json").read_bytes()
        answer = self.cloud("lambda").invoke(FunctionName=f"{STACK}-{binary}", Payload=event)
        if "FunctionError" in answer:
            raise SystemExit(f"{binary} failed: {answer['Payload'].read()}")

    def redrive(self) -> None:
        """A batch that was given up, as Lambda keeps it, is processed and gone after `make redrive`."""
        outputs = self.cloud("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]["Outputs"]
        bucket = next(one["OutputValue"] for one in outputs if one["OutputKey"] == "FailedBatches")
        # Which bucket and which region it has to find out by itself.
        elsewhere = {**self.environment, "AWS_REGION": "eu-north-1", "AWS_DEFAULT_REGION": "eu-north-1"}
        function = self.cloud("lambda").get_function_configuration(FunctionName=f"{STACK}-publish-tweets")
        kept = {
            "requestContext": {"functionArn": function["FunctionArn"], "condition": "RetryAttemptsExhausted"},
            "payload": (ROOT / "events" / "publish-tweets.json").read_text(),
        }
        storage = self.cloud("s3")
        storage.put_object(Bucket=bucket, Key="aws/lambda/a-batch", Body=json.dumps(kept))
        self.run(str(TOOLS / "python"), "docs/operations/redrive.py", log="redrive.log", environment=elsewhere)
        if storage.list_objects_v2(Bucket=bucket)["KeyCount"] != 0:
            raise SystemExit("the batch was redriven and is still there")

    def tokens(self) -> None:
        """Tokens as `make smoke` takes them, from a pool and a client that are made as the template says."""
        cognito = self.cloud("cognito-idp")
        resources = yaml_parse((ROOT / "template.yaml").read_text())["Resources"]
        pool, client = (resources[name]["Properties"] for name in ("UserPool", "UserPoolClient"))
        pool = {**pool, "UserPoolName": STACK, "DeletionProtection": "INACTIVE", "UserPoolTier": "LITE"}
        pool["PoolName"] = pool.pop("UserPoolName")
        pool_id = cognito.create_user_pool(**pool)["UserPool"]["Id"]
        client = {**client, "UserPoolId": pool_id, "ClientName": STACK}
        client_id = cognito.create_user_pool_client(**client)["UserPoolClient"]["ClientId"]
        tokens = Tokens(cognito, pool_id, client_id)
        ada, ada_again, bob = (claims(tokens.url, name) for name in ("test|ada", "test|ada", "test|bob"))
        if ada["sub"] != ada_again["sub"] or ada["sub"] == bob["sub"]:
            raise SystemExit(f"a name is one user: {ada}, {ada_again}, {bob}")
        if ada["client_id"] != client_id or not ada["iss"].endswith(f"/{pool_id}"):
            raise SystemExit(f"the gateway would refuse a token with {ada}")
        tokens.stop()
        if left := cognito.list_users(UserPoolId=pool_id)["Users"]:
            raise SystemExit(f"{len(left)} users are left in the pool")
        cognito.delete_user_pool(UserPoolId=pool_id)

    def policies(self) -> None:
        permissions = Permissions(self.cloud, STACK, CHECKS)
        wrong = permissions.report()
        for line in wrong:
            say(f"   {line}")
        if wrong:
            raise SystemExit("the policies are not what the functions need")
        say(f"   {len(permissions.configurations)} functions may do what they did, know the tables they use, and nothing else")

    def tear_down(self) -> None:
        if self.deployed:
            with Step("tear-down"):
                try:
                    self.run("sam", "delete", "--stack-name", STACK, "--region", REGION, "--no-prompts", log="delete.log")
                finally:
                    self.stop()
        self.stop()

    def stop(self) -> None:
        while self.running:
            self.running.pop().stop()


def claims(url: str, name: str) -> dict:
    """What the token says that the suite gets for a name."""
    request = urllib.request.Request(url, json.dumps({"sub": name}).encode())
    with urllib.request.urlopen(request, timeout=30) as answer:
        token = json.load(answer)["access_token"]
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


def main() -> None:
    shutil.rmtree(STATE, ignore_errors=True)
    (STATE / "tmp").mkdir(parents=True)
    started = time.monotonic()
    verification = Verification()
    try:
        for step in STEPS:
            with Step(step):
                getattr(verification, step)()
    finally:
        verification.tear_down()
    say(f"verified in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted")
