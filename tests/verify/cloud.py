"""MiniStack, with a note of everything that it was asked to allow. Run by MiniStack's own Python.

Every check of a policy goes through one function. What was asked, by whom, on what and with which outcome is written to
the file that is named as the argument: each once, one JSON object a line.
"""

import json
import sys
import threading

from ministack import app
from ministack.core import iam_evaluator
from ministack.core.responses import get_account_id

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


iam_evaluator.enforce = enforce_and_note
app.main()
