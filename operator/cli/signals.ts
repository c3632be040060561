/**
 * Resolves at the first SIGINT or SIGTERM. At a further SIGINT the process ends at once: somebody sits there and does not
 * want to wait. Whoever sends SIGTERM has SIGKILL for that.
 */
export function untilSignal(stderr: { write(text: string): unknown }): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (asked && signal === 'SIGINT') process.exit(130);
      if (asked) return;
      asked = true;
      stderr.write(`${signal}: finishing running calls, SIGINT (Ctrl-C) stops at once\n`);
      resolve(signal);
    };
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  });
}
