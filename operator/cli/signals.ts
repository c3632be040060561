/**
 * Resolves at the first SIGINT or SIGTERM. A second SIGINT ends the process at once, for a user at the terminal. A second
 * SIGTERM has no effect: its sender can use SIGKILL.
 */
export function untilSignal(stderr: { write(text: string): unknown }): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isStopping = false;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (isStopping && signal === 'SIGINT') process.exit(130);
      if (isStopping) return;
      isStopping = true;
      stderr.write(`${signal}: stopping as soon as running calls have ended; Ctrl-C stops at once\n`);
      resolve(signal);
    };
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  });
}
