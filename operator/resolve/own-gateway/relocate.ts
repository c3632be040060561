import type { ObjectProblem } from '../problems.ts';
import type { MCPServer } from '../snapshot.ts';
import { CONTROLS } from '../fields/controls.ts';

/** Fields of a VirtualMCPServer, and the fields of an MCPServer with the same meaning. The longest match applies. */
const FIELDS: readonly (readonly [counterpart: string, field: string])[] = [
  ...CONTROLS.map(({ field, counterpart }) => [`spec.${counterpart}`, `spec.${field}`] as const),
  ['spec.incomingAuth', 'spec.oidcConfigRef'] as const,
].toSorted(([a], [b]) => b.length - a.length);

/** Places in messages that name a field of a VirtualMCPServer. */
const WORDS: readonly (readonly [theirs: string, ours: string])[] = [
  ['set its incomingAuth.type to oidc', 'set its oidcConfigRef'],
];

/** Returns a problem of the equivalent VirtualMCPServer as a problem of the MCPServer; others stay unchanged. */
export function relocate(problem: ObjectProblem, { kind, metadata: { name } }: MCPServer): ObjectProblem {
  const message = rephrase(problem.message, name);
  if (problem.kind !== 'VirtualMCPServer' || problem.name !== name) return { ...problem, message };
  return { ...problem, kind, path: pathOf(problem.path), message };
}

function pathOf(path: string): string {
  const row = FIELDS.find(([counterpart]) => path === counterpart || /^[.[]/u.test(tailAfter(path, counterpart)));
  return row ? `${row[1]}${path.slice(row[0].length)}` : path;
}

const tailAfter = (path: string, start: string): string => (path.startsWith(start) ? path.slice(start.length) : '');

const rephrase = (message: string, name: string): string =>
  [...FIELDS, ...WORDS].reduce(
    (text, [theirs, ours]) => text.replaceAll(theirs, ours),
    message.replaceAll(`VirtualMCPServer "${name}"`, `MCPServer "${name}"`),
  );
