import { escapeInvisible } from '../../gateway/contract/text/printable.ts';

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
