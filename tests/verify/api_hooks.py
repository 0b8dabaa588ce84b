"""What Schemathesis has to know about Roost beside docs/openapi.yaml: who calls, and what the texts look like that JSON
Schema has no words for. `check_api.py` runs it, with ROOST_URL set.
"""

import itertools
import json
import os
import string
import urllib.request

import schemathesis
from hypothesis import strategies as st

ROOST_URL = os.environ["ROOST_URL"]
# More than one worker asks for these.
subjects = itertools.count()


def post(path: str, body: dict, token: str = "") -> dict:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(ROOST_URL + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def stranger() -> str:
    """A token of somebody who has no profile yet."""
    return post("/dev/token", {"sub": f"check-api|{next(subjects)}"})["access_token"]


def signed_up(handle: str) -> str:
    token = stranger()
    post("/v1/users", {"handle": handle, "name": "Caller"}, token)
    return token


# Everybody acts as the same person, except where that would end the run: a person signs up once, and is deleted once.
CALLER = signed_up("caller")
# Others with a tweet each, so that there is something to follow, to read and to react to.
FRIENDS = [signed_up(f"friend{number}") for number in range(3)]
TWEETS = [post("/v1/tweets", {"text": "Hello from the roost"}, friend) for friend in FRIENDS]


@schemathesis.auth(refresh_interval=None)
class Tokens:
    def get(self, case, context):
        match context.operation.label:
            case "POST /v1/users":
                return stranger()
            case "DELETE /v1/users/me":
                return signed_up(f"leaver{next(subjects)}")
            case _:
                return CALLER

    def set(self, case, data, context):
        case.headers = case.headers or {}
        case.headers["Authorization"] = f"Bearer {data}"


# Why a request that is as the document says may be refused all the same: what it names is not there, or not the caller's,
# or it contradicts what is there.
REFUSALS = {
    f"urn:roost:problem:{name}"
    for name in (
        "blocked",
        "foreign-cursor",
        "handle-taken",
        "key-reused",
        "not-yours",
        "stale-marker",
        "tweet-deleted",
        "tweet-not-found",
        "user-not-found",
        "yourself",
    )
}


@schemathesis.check
def valid_requests_are_accepted(context, response, case):
    is_valid = case.meta is not None and case.meta.generation.mode.is_positive
    if not is_valid or response.status_code < 400 or response.status_code == 401:
        return
    problem = response.json()
    assert "type" in problem, f"the gateway refuses a valid request: {problem}"
    # A page is read downwards, upwards or in another order; which parameters go together is in the description.
    goes_not_together = [error.get("parameter") for error in problem.get("errors", [])] == ["since_id"]
    assert problem["type"] in REFUSALS or goes_not_together, f"a valid request is refused: {problem}"


# The rules are in the descriptions. Characters that count once, in any way of counting, are enough here: the rules have
# tests of their own.
VISIBLE = string.ascii_letters + string.digits + ".,!?äöü😀"


def text(most: int, least: int = 1):
    return st.text(VISIBLE, min_size=least, max_size=most)


ID = st.integers(1, 2**63 - 1).map(str)
USER_ID = st.sampled_from([tweet["author_id"] for tweet in TWEETS]) | ID
schemathesis.openapi.format("id", st.sampled_from([tweet["id"] for tweet in TWEETS]) | ID)
schemathesis.openapi.format("user-id", USER_ID)
schemathesis.openapi.format("user-id-or-me", st.just("me") | USER_ID)
schemathesis.openapi.format("name", text(50))
schemathesis.openapi.format("bio", text(160, least=0))
schemathesis.openapi.format("tweet-text", text(280))
schemathesis.openapi.format("alt", text(1000, least=0))
