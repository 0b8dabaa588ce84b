"""The HTTP API of a stack in MiniStack.

SAM writes routes, integrations and the authorizer of an HttpApi as an OpenAPI document. API Gateway imports it; MiniStack
does not, so what the document says is created call by call. The document is the one that CloudFormation was given.
"""

import re


def complete(cloud, stack: str) -> tuple[str, int]:
    """Creates what the stack's OpenAPI document says. Gives the API's id and the number of routes."""
    formation, gateway = cloud("cloudformation"), cloud("apigatewayv2")
    template = formation.get_template(StackName=stack, TemplateStage="Processed")["TemplateBody"]
    physical = {
        resource["LogicalResourceId"]: resource["PhysicalResourceId"]
        for page in formation.get_paginator("list_stack_resources").paginate(StackName=stack)
        for resource in page["StackResourceSummaries"]
    }
    parameters = {
        one["ParameterKey"]: one["ParameterValue"]
        for one in formation.describe_stacks(StackName=stack)["Stacks"][0]["Parameters"]
    }
    # The WebSocket API is of the same type. It has no document: SAM writes its routes as resources, which MiniStack creates.
    (logical_id, document) = next(
        (name, resource["Properties"]["Body"])
        for name, resource in template["Resources"].items()
        if resource["Type"] == "AWS::ApiGatewayV2::Api" and "Body" in resource["Properties"]
    )
    api = physical[logical_id]
    value = Values(template, parameters, physical)

    authorizers = {}
    for name, scheme in document["components"]["securitySchemes"].items():
        declared = scheme["x-amazon-apigateway-authorizer"]
        jwt = declared["jwtConfiguration"]
        authorizers[name] = gateway.create_authorizer(
            ApiId=api,
            AuthorizerType="JWT",
            Name=name,
            IdentitySource=[declared["identitySource"]],
            JwtConfiguration={
                "Issuer": value.of(jwt["issuer"]),
                "Audience": [value.of(one) for one in jwt["audience"]],
            },
        )["AuthorizerId"]

    routes = 0
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method == "options":
                continue
            declared = operation["x-amazon-apigateway-integration"]
            function = re.search(r"\$\{(\w+)\.Arn\}", declared["uri"]["Fn::Sub"]).group(1)
            integration = gateway.create_integration(
                ApiId=api,
                IntegrationType="AWS_PROXY",
                IntegrationMethod="POST",
                IntegrationUri=value.function_arn(function),
                PayloadFormatVersion=declared["payloadFormatVersion"],
            )["IntegrationId"]
            guard = {}
            for requirement in operation.get("security", []):
                (name,) = requirement
                guard = {"AuthorizationType": "JWT", "AuthorizerId": authorizers[name]}
            gateway.create_route(
                ApiId=api, RouteKey=f"{method.upper()} {path}", Target=f"integrations/{integration}", **guard
            )
            routes += 1
    return api, routes


class Values:
    """The few intrinsic functions that an authorizer's settings are made of."""

    def __init__(self, template: dict, parameters: dict[str, str], physical: dict[str, str]):
        self.template, self.parameters, self.physical = template, parameters, physical

    def of(self, value) -> str:
        match value:
            case str():
                return value
            case {"Ref": name}:
                return self.parameters.get(name) or self.physical[name]
            case {"Fn::If": [condition, yes, no]}:
                return self.of(yes if self.holds(self.template["Conditions"][condition]) else no)
        raise SystemExit(f"verification cannot work out {value!r} of the HTTP API")

    def holds(self, condition) -> bool:
        match condition:
            case {"Fn::Equals": [left, right]}:
                return self.of_or_empty(left) == self.of_or_empty(right)
            case {"Fn::Not": [inner]}:
                return not self.holds(inner)
            case {"Condition": name}:
                return self.holds(self.template["Conditions"][name])
        raise SystemExit(f"verification cannot work out the condition {condition!r}")

    def of_or_empty(self, value) -> str:
        match value:
            case {"Ref": name} if name in self.parameters:
                return self.parameters[name]
        return self.of(value)

    def function_arn(self, logical_id: str) -> str:
        return f"arn:aws:lambda:us-east-1:000000000000:function:{self.physical[logical_id]}"
