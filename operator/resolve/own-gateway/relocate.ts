import { AUTH_SERVER } from '../../../crds/kinds/mcp-external-auth-config.ts';
import { AUTH_SERVER_PATH } from '../auth-server/spec.ts';
import { CONTROLS } from '../fields/controls.ts';
import type { ObjectProblem } from '../problems.ts';
import type { MCPServer } from '../snapshot.ts';

/** Fields of a VirtualMCPServer, and the fields of an MCPServer with the same meaning. The longest match applies. */
const FIELDS: readonly (readonly [counterpart: string, field: string])[] = CONTROLS.map(
  ({ field, counterpart }) => [`spec.${counterpart}`, `spec.${field}`] as const,
).toSorted(([a], [b]) => b.length - a.length);

/** Words in messages about a VirtualMCPServer, and the words for an MCPServer. */
const WORDS: readonly (readonly [theirs: string, ours: string])[] = [
  [`${AUTH_SERVER_PATH}.`, `spec.${AUTH_SERVER}.`],
  ...FIELDS,
  ['in authServerConfig', `in ${AUTH_SERVER}`],
  ['authServerConfig', 'authServerRef'],
  ['set its incomingAuth.type to oidc', 'set its oidcConfigRef'],
  ['the scopes of incomingAuth', 'oidcConfigRef.scopes'],
  ['list the networks of the Ingress or proxy in front', 'set the chart value operator.defaultTrustedProxies'],
];

/** Returns a problem of the equivalent VirtualMCPServer as a problem of the MCPServer; others keep their place. */
export function relocate(problem: ObjectProblem, { kind, metadata: { name }, spec }: MCPServer): ObjectProblem {
  const message = rephrase(problem.message, name);
  if (problem.kind !== 'VirtualMCPServer' || problem.name !== name) return { ...problem, message };
  const { authServerRef: ref } = spec;
  if (ref && isAtOrBelow(problem.path, AUTH_SERVER_PATH)) {
    const path = `spec.${AUTH_SERVER}${problem.path.slice(AUTH_SERVER_PATH.length)}`;
    return { ...problem, kind: 'MCPExternalAuthConfig', name: ref.name, path, message };
  }
  return { ...problem, kind, path: pathOf(problem.path), message };
}

/** Fields of `incomingAuth` that an MCPServer does not have are about its tokens. */
function pathOf(path: string): string {
  const row = FIELDS.find(([counterpart]) => isAtOrBelow(path, counterpart));
  if (row) return `${row[1]}${path.slice(row[0].length)}`;
  return isAtOrBelow(path, 'spec.incomingAuth') ? 'spec.oidcConfigRef' : path;
}

const isAtOrBelow = (path: string, start: string): boolean =>
  path === start || (path.startsWith(start) && /^[.[]/u.test(path.slice(start.length)));

const rephrase = (message: string, name: string): string =>
  WORDS.reduce(
    (text, [theirs, ours]) => text.replaceAll(theirs, ours),
    message.replaceAll(`VirtualMCPServer "${name}"`, `MCPServer "${name}"`),
  );
