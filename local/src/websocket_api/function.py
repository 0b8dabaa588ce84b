#!/usr/bin/env python3
"""The functions of the WebSocket API's tests, all in one: the name of the file says which one it is."""

import http.client
import json
import os
import sys
import time
import urllib.parse

# The local cloud gives a URL here.
address = urllib.parse.urlsplit(os.environ["AWS_LAMBDA_RUNTIME_API"])
runtime = f"{address.path}/2018-06-01/runtime/invocation"


def note(name, context):
    """Leaves a context where the test looks."""
    with open(f"{os.environ['FOLDER']}/{name}", "w") as file:
        json.dump(context, file)


def authorize(event):
    ticket = event["queryStringParameters"]["ticket"]
    if ticket == "broken":
        raise ValueError("no such table")
    if ticket == "unauthorized":
        raise ValueError("Unauthorized")
    statement = {
        "Action": "execute-api:Invoke",
        "Effect": "Deny" if ticket == "bad" else "Allow",
        "Resource": event["methodArn"],
    }
    return {
        "principalId": ticket,
        "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
        "context": {"user_id": "7", "level": 3},
    }


def connect(event):
    status = event["queryStringParameters"].get("status", "200")
    if status == "fail":
        raise ValueError("no such table")
    if status == "slow":
        note("connecting", event["requestContext"])
        time.sleep(0.5)
        return {"statusCode": 200}
    return {"statusCode": int(status)}


def disconnect(event):
    note(event["requestContext"]["connectionId"], event["requestContext"])
    return {"statusCode": 200}


def messages(event):
    message = event["body"]
    if message == "fail":
        raise ValueError("no such table")
    if message == "slow":
        time.sleep(0.5)
    if message == "context":
        message = json.dumps(event["requestContext"])
    return {"statusCode": 200, "body": message}


def quiet(event):
    if event["body"].endswith('"fail"}'):
        raise ValueError("no such table")
    return {"statusCode": 200, "body": "nobody hears this"}


handler = globals()[os.path.basename(sys.argv[0])]
connection = http.client.HTTPConnection(address.netloc)
while True:
    connection.request("GET", f"{runtime}/next")
    answer = connection.getresponse()
    event = json.loads(answer.read())
    request_id = answer.headers["lambda-runtime-aws-request-id"]
    try:
        kind, document = "response", handler(event)
    except Exception as error:
        kind, document = "error", {"errorType": "Error", "errorMessage": str(error)}
    connection.request("POST", f"{runtime}/{request_id}/{kind}", json.dumps(document))
    connection.getresponse().read()
