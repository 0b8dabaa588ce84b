"""MiniStack, with a note of everything that it was asked to allow, and with a WebSocket API that can be reached. Run by
MiniStack's own Python.

Every check of a policy goes through one function. What was asked, by whom, on what and with which outcome is written to
the file that is named as the argument: each once, one JSON object a line.
"""

import json
import os
import sys
import threading

from ministack import app
from ministack.core import iam_evaluator
from ministack.core.responses import get_account_id
from ministack.services.cloudformation import provisioners

enforce = iam_evaluator.enforce
notes, lock, seen = open(sys.argv.pop(), "w"), threading.Lock(), set()


def enforce_and_note(access_key, action, service, region, resource_arn="*", **others):
    outcome = enforce(access_key, action, service, region, resource_arn=resource_arn, **others)
    check = (access_key, action, resource_arn, outcome is None)
    if check not in seen:
        seen.add(check)
        caller = iam_evaluator.resolve_principal(access_key or "", get_account_id())
        # …:assumed-role/<role>/<function>
        note = {"caller": getattr(caller, "arn", "nobody"), "action": action, "resource": resource_arn}
        with lock:
            print(json.dumps({**note, "allowed": outcome is None}), file=notes, flush=True)
    return outcome


handlers = provisioners._RESOURCE_HANDLERS
create_api = handlers["AWS::ApiGatewayV2::Api"]["create"]


def create_reachable_api(logical_id, properties, stack_name):
    """MiniStack says that an API is at http://<id>.execute-api.<host>, for a WebSocket API, too. No client can connect
    there: the scheme is wrong, and nobody resolves the name. The same API answers at a path of the host itself, so this
    is the address that functions and clients are given."""
    api, attributes = create_api(logical_id, properties, stack_name)
    if properties.get("ProtocolType") == "WEBSOCKET":
        address = f"ws://127.0.0.1:{os.environ['GATEWAY_PORT']}/_aws/execute-api/{api}"
        attributes = {**attributes, "ApiEndpoint": address}
    return api, attributes


iam_evaluator.enforce = enforce_and_note
handlers["AWS::ApiGatewayV2::Api"]["create"] = create_reachable_api
# Without a route response, API Gateway does not send a function's answer to the client. MiniStack always sends it, and
# refuses a template that asks for it. So there is nothing to create and nothing to delete.
handlers["AWS::ApiGatewayV2::RouteResponse"] = {
    "create": lambda logical_id, properties, stack_name: (logical_id, {}),
    "delete": lambda physical_id, properties: None,
}
app.main()
