/**
 * Resolves at the first SIGINT or SIGTERM. At a second one the process ends at once: somebody does not want to wait.
 */
export function untilSignal(stderr: { write(text: string): unknown }): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (asked) process.exit(130);
      asked = true;
      stderr.write(`${signal}: finishing running calls, once more stops at once\n`);
      resolve(signal);
    };
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  });
}
