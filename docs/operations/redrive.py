"""Processes batches again that a stream consumer gave up on: `make redrive BUCKET=…`.

Lambda keeps such a batch in the bucket FailedBatches, with the function that gave up and the event it was given. Here
that function is given the same event once more. When it has processed every record, the object is deleted; when not, it
stays, and this says why. Every consumer bears repetition, so a batch may be redriven at any time and in any order.
"""

import json
import sys

import boto3


def redrive(functions, name: str, event: str) -> str | None:
    """What went wrong, if anything did."""
    answer = functions.invoke(FunctionName=name, Payload=event.encode())
    report = json.loads(answer["Payload"].read() or b"{}")
    if "FunctionError" in answer:
        return f"the function failed: {report.get('errorMessage', report)}"
    failures = (report or {}).get("batchItemFailures", [])
    return f"{len(failures)} records failed again" if failures else None


def main(bucket: str, keys: list[str]) -> None:
    storage, functions = boto3.client("s3"), boto3.client("lambda")
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
    main(sys.argv[1], sys.argv[2:])
