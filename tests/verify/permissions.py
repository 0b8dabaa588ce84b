"""What each function may do, against what it was seen doing.

MiniStack enforces the policies while the suite runs, so a missing permission fails the suite. A permission too many fails
nothing there; it is found by comparing the policy `calls` of a function's role with what cloud.py noted. What Lambda
itself does for a function (read its stream, put failed batches away, write its log, join a network) is in other policies.
"""

import json
import re
from pathlib import Path


# What a function needs when something happens that verification does not bring about, and why. It must be allowed all
# the same. The tests of these paths run on the local cloud.
RARE = {
    ("AnswerLiveFunction", "dynamodb:BatchGetItem", "users"): "looks up tiers that the cache has lost",
    ("AuditTimelinesFunction", "dynamodb:BatchGetItem", "reactions"): "reads reactions that the cache has lost",
    ("AuditTimelinesFunction", "dynamodb:BatchGetItem", "relations"): "asks about blocks for readers whom thousands have blocked",
    ("AuditTimelinesFunction", "dynamodb:BatchGetItem", "tweets"): "reads tweets that the cache has lost",
    ("AuditTimelinesFunction", "dynamodb:GetItem", "users"): "reads a marker that the cache has lost",
    ("AuditTimelinesFunction", "dynamodb:BatchWriteItem", "fills"): "rebuilds a list that is lost meanwhile",
    ("ConnectLiveFunction", "dynamodb:BatchGetItem", "users"): "looks up tiers that the cache has lost",
    ("CountReactionsFunction", "dynamodb:BatchWriteItem", "reactions"): "removes likes of a tweet that went meanwhile",
    ("CountReactionsFunction", "dynamodb:BatchWriteItem", "tweets"): "removes reposts of a tweet that went meanwhile",
    ("BlockUserFunction", "dynamodb:DeleteItem", "relations"): "takes a block back whose account went meanwhile",
    ("CountFollowsFunction", "dynamodb:BatchWriteItem", "handovers"): "has counts cached later if the cache is down",
    ("FanOutTweetsFunction", "dynamodb:UpdateItem", "users"): "counts tweets a day, with TierPolicy load",
    ("FillTimelinesFunction", "dynamodb:BatchGetItem", "users"): "looks up tiers that the cache has lost",
    ("FollowUserFunction", "dynamodb:DeleteItem", "followers"): "takes a follow back whose account went meanwhile",
    ("FollowUserFunction", "dynamodb:DeleteItem", "following"): "takes a follow back whose account went meanwhile",
    ("FollowUserFunction", "dynamodb:Query", "following"): "counts the edges of somebody at the limit, and now and then",
    ("HomeTimelineFunction", "dynamodb:BatchGetItem", "relations"): "asks about blocks for readers whom thousands have blocked",
    ("HomeTimelineNewFunction", "dynamodb:BatchGetItem", "tweets"): "asks about reposts that the cache has lost",
    ("HomeTimelineNewFunction", "dynamodb:BatchGetItem", "users"): "looks up tiers that the cache has lost",
    ("HomeTimelineNewFunction", "dynamodb:BatchWriteItem", "fills"): "leaves the rest of a long list to be filled",
    ("ListLikesFunction", "dynamodb:BatchGetItem", "tweets"): "reads liked tweets that the cache has lost",
    ("MuteUserFunction", "dynamodb:DeleteItem", "relations"): "takes a mute back whose account went meanwhile",
    ("NotifyReadersFunction", "dynamodb:BatchGetItem", "tweets"): "asks about reposts that the cache has lost",
    ("NotifyReadersFunction", "dynamodb:BatchGetItem", "users"): "looks up tiers that the cache has lost",
    ("NotifyReadersFunction", "dynamodb:BatchWriteItem", "fills"): "leaves the rest of a long list to be filled",
    ("PostTweetFunction", "dynamodb:DeleteItem", "tweets"): "takes a tweet back whose account went meanwhile",
    ("PutMarkerFunction", "dynamodb:DeleteItem", "users"): "takes a marker back whose account went meanwhile",
    ("ReconcileCountsFunction", "dynamodb:BatchGetItem", "tweets"): "repairs a tweet's counts",
    ("ReconcileCountsFunction", "dynamodb:Query", "reactors"): "counts reactions, if its sample has a tweet with some",
    ("ReconcileCountsFunction", "dynamodb:UpdateItem", "tweets"): "repairs a tweet's counts",
    ("RepostTweetFunction", "dynamodb:DeleteItem", "tweets"): "takes a repost back whose account went meanwhile",
    ("UserTimelineFunction", "dynamodb:BatchGetItem", "tweets"): "reads reposted tweets that the cache has lost",
    ("UpdateMeFunction", "dynamodb:BatchWriteItem", "handovers"): "has a card forgotten later if the cache is down",
    ("WarmTimelinesFunction", "dynamodb:BatchGetItem", "users"): "looks whether expected users without a list still exist",
    ("WarmTimelinesFunction", "dynamodb:PutItem", "ledger"): "remembers where it stopped, if there were lists to make",
    ("WarmTimelinesFunction", "dynamodb:Query", "following"): "makes the lists of people who read yesterday, or a week ago",
    ("WarmTimelinesFunction", "dynamodb:Query", "tweets"): "makes the lists of people who read yesterday, or a week ago",
}


def listed(value) -> list:
    return value if isinstance(value, list) else [value]


class Permissions:
    def __init__(self, cloud, stack: str, checks: Path):
        self.cloud, self.stack = cloud, stack
        # By function, what it called and what of that was refused.
        self.called: dict[str, set[tuple[str, str]]] = {}
        self.refused: dict[str, set[tuple[str, str]]] = {}
        for check in map(json.loads, checks.read_text().splitlines()):
            function = check["caller"].rsplit("/", 1)[-1]
            call = (check["action"], of_any_connection(check["resource"]))
            self.called.setdefault(function, set()).add(call)
            if not check["allowed"]:
                self.refused.setdefault(function, set()).add(call)
        functions = cloud("lambda")
        self.configurations = {
            resource["LogicalResourceId"]: functions.get_function_configuration(
                FunctionName=resource["PhysicalResourceId"]
            )
            for page in cloud("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
            for resource in page["StackResourceSummaries"]
            if resource["ResourceType"] == "AWS::Lambda::Function"
        }

    def report(self) -> list[str]:
        """What is wrong, one line each."""
        wrong = self.refusals()
        for name, configuration in sorted(self.configurations.items()):
            role = configuration["Role"].rsplit("/", 1)[-1]
            called, allowed = self.called.get(configuration["FunctionName"], set()), self.allowed(role)
            rare = self.rare(name)
            wrong += [f"{name} may call {' on '.join(call)}, and never did" for call in sorted(allowed - called - rare)]
            wrong += [f"{name} needs {' on '.join(call)} at times, and may not" for call in sorted(rare - allowed)]
            named, usable = names(configuration), places(allowed)
            wrong += [f"{name} gets the name of {place}, which its role does not allow" for place in sorted(named - usable)]
            wrong += [f"{name} may use {place}, and does not get its name" for place in sorted(usable - named)]
            wrong += [f"{name}: {statement} names *" for statement in self.statements(role) if names_all(statement)]
            if not self.was_invoked(configuration):
                wrong.append(f"{name} was never invoked")
        return wrong

    def rare(self, name: str) -> set[tuple[str, str]]:
        kinds = {"dynamodb": "table", "kinesis": "stream"}
        found = set()
        for function, action, resource in RARE:
            service = action.split(":")[0]
            if function == name:
                place = f"arn:aws:{service}:us-east-1:000000000000:{kinds[service]}"
                found.add((action, f"{place}/{self.stack}-{resource}"))
        return found

    def refusals(self) -> list[str]:
        return [
            f"{name} called {action} on {resource}, which its role does not allow"
            for name, configuration in sorted(self.configurations.items())
            for action, resource in sorted(self.refused.get(configuration["FunctionName"], ()))
        ]

    def was_invoked(self, configuration: dict) -> bool:
        group = f"/aws/lambda/{configuration['FunctionName']}"
        return bool(self.cloud("logs").describe_log_streams(logGroupName=group, limit=1)["logStreams"])

    def allowed(self, role: str) -> set[tuple[str, str]]:
        return {
            (action, resource)
            for statement in self.statements(role, only="calls")
            for action in listed(statement["Action"])
            for resource in listed(statement["Resource"])
        }

    def statements(self, role: str, only: str | None = None) -> list[dict]:
        """The statements of a role's policies, or of the inline policy that is named."""
        iam, found = self.cloud("iam"), []
        for policy in iam.list_role_policies(RoleName=role)["PolicyNames"]:
            if only in (None, policy):
                document = iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
                found += listed(document["Statement"])
        if only is None:
            for policy in iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]:
                arn = policy["PolicyArn"]
                version = iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
                document = iam.get_policy_version(PolicyArn=arn, VersionId=version)["PolicyVersion"]["Document"]
                found += listed(document["Statement"])
        return found


def of_any_connection(resource: str) -> str:
    """A connection's id stands at the end of what is called, and nobody knows it when a policy is written."""
    return re.sub(r"/@connections/[^/]+$", "/@connections/*", resource)


def places(calls: set[tuple[str, str]]) -> set[str]:
    """The tables and streams among the resources. A WebSocket API is neither; functions know it by its address."""
    return {resource.split("/")[1] for action, resource in calls if not action.startswith("execute-api:")}


def names(configuration: dict) -> set[str]:
    """The tables and streams that a function's environment names."""
    variables = configuration.get("Environment", {}).get("Variables", {})
    return {value for name, value in variables.items() if name.endswith(("_TABLE", "_STREAM"))}


def names_all(statement: dict) -> bool:
    """Whether it names *, and the template does not say by the Sid why that cannot be avoided."""
    avoidable = not statement.get("Sid", "").startswith("Unavoidable")
    return avoidable and any("*" in listed(statement[part]) for part in ("Action", "Resource"))
