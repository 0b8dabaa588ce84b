"""What a program does with the client that openapi-python-client generates from docs/openapi.yaml: two people sign up, one
follows the other, who posts, and the first one reads. `check_api.py` runs it, with ROOST_URL set.
"""

import json
import os
import time
import urllib.request
from datetime import UTC, datetime, timedelta

from roost_client import AuthenticatedClient
from roost_client.api.home_timeline import home_timeline, put_marker
from roost_client.api.people import create_user, follow_user, get_user
from roost_client.api.tweets import get_tweet, post_tweet
from roost_client.models import (
    GetUserExpand,
    HomePage,
    HomeTweet,
    Marker,
    MarkerMove,
    NewTweet,
    NewUser,
    Person,
    Problem,
    ProblemType,
    Relationship,
    Tweet,
    TweetWithAuthor,
    User,
)

ROOST_URL = os.environ["ROOST_URL"]
# A tweet is on its followers' timelines a moment after its 201.
PATIENCE_SECONDS = 20


def client_of(subject: str) -> AuthenticatedClient:
    request = urllib.request.Request(f"{ROOST_URL}/dev/token", json.dumps({"sub": subject}).encode())
    with urllib.request.urlopen(request, timeout=30) as answer:
        token = json.load(answer)["access_token"]
    return AuthenticatedClient(base_url=ROOST_URL, token=token, raise_on_unexpected_status=True)


def sign_up(client: AuthenticatedClient, handle: str, name: str) -> User:
    user = create_user.sync(client=client, body=NewUser(handle=handle, name=name))
    assert isinstance(user, User), user
    assert (user.handle, user.name, user.is_celebrity) == (handle, name, False), user
    return user


def first_page(client: AuthenticatedClient) -> HomePage:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        page = home_timeline.sync(client=client, limit=5, explain=True)
        assert isinstance(page, HomePage), page
        if page.data or time.monotonic() > deadline:
            return page
        time.sleep(0.1)


def main() -> None:
    alice, bob = client_of("generated|alice"), client_of("generated|bob")
    ada = sign_up(alice, "gen_alice", "Alice")
    sign_up(bob, "gen_bob", "Bob")
    assert follow_user.sync_detailed(ada.id, client=bob).status_code == 204

    posted = post_tweet.sync(client=alice, body=NewTweet(text="Hello from the roost"), idempotency_key="hello-1")
    assert isinstance(posted, Tweet), posted
    assert datetime.now(UTC) - posted.created_at < timedelta(minutes=1), posted.created_at
    again = post_tweet.sync_detailed(client=alice, body=NewTweet(text="Hello from the roost"), idempotency_key="hello-1")
    assert again.headers["idempotent-replayed"] == "true", again.headers
    assert isinstance(again.parsed, Tweet) and again.parsed.id == posted.id, again

    page = first_page(bob)
    assert page.meta.result_count == 1 and page.meta.complete, page.meta
    (tweet,) = page.data
    assert isinstance(tweet, HomeTweet) and tweet.id == posted.id and not tweet.liked, tweet
    assert tweet.explain and tweet.explain.via, tweet
    assert [user.id for user in page.includes.users] == [ada.id], page.includes

    found = get_tweet.sync(posted.id, client=bob)
    assert isinstance(found, TweetWithAuthor) and found.includes.users[0].handle == "gen_alice", found
    person = get_user.sync(ada.id, client=bob, expand=GetUserExpand.RELATIONSHIP)
    assert isinstance(person, Person) and isinstance(person.relationship, Relationship), person
    assert person.relationship.following and not person.relationship.followed_by, person

    marker = put_marker.sync(client=bob, body=MarkerMove(last_read_id=posted.id, version=0))
    assert isinstance(marker, Marker) and marker.version == 1, marker
    refused = put_marker.sync(client=bob, body=MarkerMove(last_read_id=posted.id, version=0))
    assert isinstance(refused, Problem), refused
    assert refused.type_ == ProblemType.URNROOSTPROBLEMSTALE_MARKER, refused
    assert isinstance(refused.marker, Marker) and refused.marker.version == 1, refused
    print("the generated client signed up, followed, posted, read, and understood a problem")


if __name__ == "__main__":
    main()
