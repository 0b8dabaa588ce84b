"""Processes batches again that a stream consumer gave up on: `make redrive`.

Lambda keeps such a batch in the bucket FailedBatches, with the function that gave up and the event it was given. Here
that function is given the same event once more. When it has processed every record, the object is deleted; when not, it
stays, and this says why. Every consumer bears repetition, so a batch may be redriven at any time and in any order.

The bucket is the deployment's, unless BUCKET names another one. KEY names one object.
"""

import json
import os
import sys

from botocore.config import Config
from botocore.exceptions import NoCredentialsError

from deployment import Deployment, next_step

# Lambda lets no function run for longer than 15 minutes. A caller that gives up before its function does would invoke it
# again beside the first.
PATIENT = Config(read_timeout=920, retries={"total_max_attempts": 1})


def redrive(functions, name: str, event: str) -> str | None:
    """What went wrong, if anything did."""
    answer = functions.invoke(FunctionName=name, Payload=event.encode())
    report = json.loads(answer["Payload"].read() or b"{}")
    if "FunctionError" in answer:
        return f"the function failed: {report.get('errorMessage', report)}"
    failures = (report or {}).get("batchItemFailures", [])
    return f"{len(failures)} records failed again" if failures else None


def main() -> None:
    deployment = Deployment()
    bucket = os.environ.get("BUCKET") or deployment.outputs()["FailedBatches"]
    storage, functions = deployment.client("s3"), deployment.client("lambda", config=PATIENT)
    keys = [os.environ["KEY"]] if os.environ.get("KEY") else []
    if not keys:
        pages = storage.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        keys = [one["Key"] for page in pages for one in page.get("Contents", [])]
    left = 0
    for key in keys:
        kept = json.loads(storage.get_object(Bucket=bucket, Key=key)["Body"].read())
        name = kept["requestContext"]["functionArn"]
        payload = kept["payload"]
        event = payload if isinstance(payload, str) else json.dumps(payload)
        problem = redrive(functions, name, event)
        print(f"{key}: {problem or 'processed'} ({name.rsplit(':function:', 1)[-1]})")
        if problem:
            left += 1
        else:
            storage.delete_object(Bucket=bucket, Key=key)
    print(f"{len(keys) - left} of {len(keys)} batches processed")
    if left:
        sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except NoCredentialsError as error:
        sys.exit(f"{error}\n{next_step(error)}")
