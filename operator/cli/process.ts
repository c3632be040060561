import { escapeInvisible } from '../../gateway/contract/text/printable.ts';
import { EXIT } from './exit.ts';

/**
 * Resolves at the first SIGINT or SIGTERM. A second SIGINT ends the process at once, for a user at the terminal. A second
 * SIGTERM has no effect: its sender can use SIGKILL.
 */
export function untilSignal(stderr: { write(text: string): unknown }): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isStopping = false;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (isStopping && signal === 'SIGINT') process.exit(EXIT.interrupted);
      if (isStopping) return;
      isStopping = true;
      stderr.write(`${signal}: stopping as soon as running calls have ended; Ctrl-C stops at once\n`);
      resolve(signal);
    };
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  });
}

/**
 * Ends this process when nobody reads its output any more, as in `vmcp tools | head -1`: a server drains as after SIGTERM,
 * and any other command ends at once, without a message.
 */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      if (process.listenerCount('SIGTERM') === 0) process.exit(EXIT.readerGone);
      process.kill(process.pid, 'SIGTERM');
    });
  }
}

/** Part of a standard stream that writes text. */
type Output = Pick<NodeJS.WriteStream, 'write'>;

/**
 * Escapes the invisible characters in every text that is written to a stream, whichever command writes it: names, descriptions and
 * errors of servers must not change what a terminal shows. Bytes pass unchanged, for text that is meant for a program, and for the
 * colours of the log.
 */
export function writeVisibly(stream: Output): void {
  const write = stream.write.bind(stream) as (...args: readonly unknown[]) => boolean;
  stream.write = (chunk: unknown, ...others: readonly unknown[]): boolean =>
    write(typeof chunk === 'string' ? escapeInvisible(chunk) : chunk, ...others);
}
