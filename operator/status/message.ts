import { compareText } from '../resolve/snapshot.ts';
import { distinct, type ObjectProblem } from '../resolve/problems.ts';

/** The object whose status the message stands in. */
export interface Self {
  readonly kind: string;
  readonly name: string;
}

const MOST_PROBLEMS = 20;
/** What the schema of conditions takes. */
const MOST_BYTES = 32_768;

/** `path: message [Reason]`, and in front of it the object where it is another one. */
export function problemText({ kind, name, path, message, reason }: ObjectProblem, self: Self): string {
  const place = kind === self.kind && name === self.name ? '' : `${kind}/${name}: `;
  return `${place}${path === '' ? '' : `${path}: `}${message} [${reason}]`;
}

/** Every problem, those of the object itself first, in an order that follows from them alone. */
export function problemsMessage(problems: readonly ObjectProblem[], self: Self): string {
  const texts = ordered(problems, self).map((problem) => problemText(problem, self));
  const more = texts.length - MOST_PROBLEMS;
  const shown = more > 0 ? [...texts.slice(0, MOST_PROBLEMS), `and ${String(more)} more`] : texts;
  return cut(shown.join('; '));
}

export function ordered(problems: readonly ObjectProblem[], self: Self): ObjectProblem[] {
  const isForeign = ({ kind, name }: ObjectProblem): number => Number(kind !== self.kind || name !== self.name);
  const key = ({ kind, name, path, reason, message }: ObjectProblem): string =>
    JSON.stringify([kind, name, path, reason, message]);
  return distinct(problems).toSorted((a, b) => isForeign(a) - isForeign(b) || compareText(key(a), key(b)));
}

/** Text of at most so many bytes, never ending within a character. */
export function cut(text: string, mostBytes: number = MOST_BYTES): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= mostBytes) return text;
  const kept = new TextDecoder().decode(bytes.subarray(0, mostBytes - 3), { stream: true });
  return `${kept}…`;
}
