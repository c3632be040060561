import { compareText } from '../resolve/snapshot.ts';
import { distinct, type ObjectProblem } from '../resolve/problems.ts';

/** Object whose status contains the message. */
export interface Self {
  readonly kind: string;
  readonly name: string;
}

const MAX_PROBLEMS = 20;
/** Longest condition message that the schema accepts. */
const MAX_BYTES = 32_768;

/** Renders a problem as `path: message [Reason]`, preceded by the object when it is not the object itself. */
export function problemText({ kind, name, path, message, reason }: ObjectProblem, self: Self): string {
  const place = kind === self.kind && name === self.name ? '' : `${kind}/${name}: `;
  return `${place}${path === '' ? '' : `${path}: `}${message} [${reason}]`;
}

/** Joins the problems in a stable order, those of the object itself first. */
export function problemsMessage(problems: readonly ObjectProblem[], self: Self): string {
  const texts = ordered(problems, self).map((problem) => problemText(problem, self));
  const more = texts.length - MAX_PROBLEMS;
  const shown = more > 0 ? [...texts.slice(0, MAX_PROBLEMS), `and ${String(more)} more`] : texts;
  return cut(shown.join('; '));
}

/** Returns the distinct problems in a stable order, those of the object itself first. */
export function ordered(problems: readonly ObjectProblem[], self: Self): ObjectProblem[] {
  const isForeign = ({ kind, name }: ObjectProblem): number => Number(kind !== self.kind || name !== self.name);
  const key = ({ kind, name, path, reason, message }: ObjectProblem): string =>
    JSON.stringify([kind, name, path, reason, message]);
  return distinct(problems).toSorted((a, b) => isForeign(a) - isForeign(b) || compareText(key(a), key(b)));
}

/** Shortens a text to a number of bytes without splitting a character. */
export function cut(text: string, maxBytes: number = MAX_BYTES): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= maxBytes) return text;
  const kept = new TextDecoder().decode(bytes.subarray(0, maxBytes - 3), { stream: true });
  return `${kept}…`;
}
