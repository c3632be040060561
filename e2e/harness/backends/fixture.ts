import { setTimeout as sleep } from 'node:timers/promises';

/** Data of every fixture server, on each library. `name` distinguishes two servers. */
export const CITIES = ['Basel', 'Berlin', 'Bern', 'Oslo'];
export const PEOPLE = ['Ada', 'Alan', 'Grace'];
/** A PNG of one pixel. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export const greetingUri = (name: string): string => `fixture://${name}/greeting`;
export const pictureUri = (name: string): string => `fixture://${name}/picture`;
export const itemTemplate = (name: string): string => `fixture://${name}/item/{id}`;

/** Tools of a fixture server, sorted. */
export const TOOLS = [
  'add',
  'big',
  'crash',
  'echo',
  'environment',
  'failing',
  'image',
  'slow',
  'structured',
  'whoami',
] as const;

export const beginningWith = (words: readonly string[], start: string): string[] =>
  words.filter((word) => word.toLowerCase().startsWith(start.toLowerCase()));

/** Waits and returns the time; a cancelled call ends at once. */
export async function slowly(ms: number, signal: AbortSignal): Promise<string> {
  await sleep(ms, undefined, { signal });
  return `waited ${ms} ms`;
}

/** Returns the environment of the process, for the test that looks for secrets in it. */
export const environmentJson = (): string => JSON.stringify(process.env);

/** Ends the process without an answer. */
export function crash(): never {
  process.stderr.write('fixture: crashing as asked\n');
  process.exit(7);
}
