"""The classic home timeline in Python: a sorted set per follower, filled by pipelines of ZADD and ZREMRANGEBYRANK.

Reads commands from standard input, one a line, and answers each with the seconds that it took:
push TWEET adds a tweet to the sets of all followers, read N reads the newest 20 of N sets, one after the other.
"""

import sys
import time

import redis

CAP = 800
PIPELINE = 1_000
PAGE = 20

port, followers = int(sys.argv[1]), int(sys.argv[2])
server = redis.Redis(port=port)


def push(tweet):
    for first in range(0, followers, PIPELINE):
        pipeline = server.pipeline(transaction=False)
        for user in range(first, min(first + PIPELINE, followers)):
            key = f"feed:{user}"
            pipeline.zadd(key, {tweet: tweet})
            pipeline.zremrangebyrank(key, 0, -CAP - 1)
        pipeline.execute()


def read(users):
    for user in range(users):
        assert len(server.zrevrange(f"feed:{user}", 0, PAGE - 1)) == PAGE


for line in sys.stdin:
    command, argument = line.split()
    started = time.perf_counter()
    {"push": push, "read": read}[command](int(argument))
    print(time.perf_counter() - started, flush=True)
