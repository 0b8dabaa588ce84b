// One line for each test, the figures it measured, what failed in full, and at last how many passed and how many failed.

export default async function* report(events) {
  let passed = 0;
  let failed = 0;
  for await (const { type, data } of events) {
    const took = () => `${(data.details.duration_ms / 1000).toFixed(1)} s`;
    if (type === "test:pass" && !data.skip) {
      passed += 1;
      yield `  ok      ${data.name} (${took()})\n`;
    } else if (type === "test:fail") {
      failed += 1;
      const { error } = data.details;
      const why = String(error.cause?.stack ?? error.cause ?? error.stack ?? error);
      yield `  FAILED  ${data.name} (${took()})\n${why.replace(/^/gm, "          ")}\n`;
    } else if (type === "test:diagnostic" && data.file) {
      yield `  figure  ${data.message}\n`;
    } else if (type === "test:stderr") {
      yield data.message;
    }
  }
  yield `${passed} passed, ${failed} failed\n`;
}
