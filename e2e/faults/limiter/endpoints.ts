import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { IsObject } from 'typebox';
import type { AuthServerContext } from '../../../gateway/authserver/context.ts';
import { ENDPOINTS, METADATA_ENDPOINTS } from '../../../gateway/authserver/endpoints/index.ts';
import { settingsFor } from '../../../gateway/authserver/endpoints/testdata/client-server.ts';
import { OPERATIONS } from '../../../gateway/management/operations.ts';
import { METHODS } from '../../../gateway/vmcp/methods/index.ts';
import { root } from '../../harness/vmcp.ts';

type Text = (bytes: number) => string;

const whole = (value: Text, bytes: number): string => value(bytes);

/** One method of one path at one listener. */
export interface Endpoint {
  readonly name: string;
  readonly listener: 'public' | 'management';
  readonly method: string;
  readonly path: string;
  /** Headers with which the body is read: credentials, a session. */
  readonly headers?: readonly string[];
  /** Returns a body of about `bytes` with JSON values of this text in it; absent where no JSON is read. */
  readonly withJson?: (value: Text, bytes: number) => string;
  readonly readsForm?: boolean;
  /** The query and the headers are read as for an endpoint before. */
  readonly sharesHead?: boolean;
}

const isBodyless = (method: string): boolean => method === 'GET' || method === 'HEAD' || method === 'OPTIONS';

/** Endpoints of the authorization server, from its registry. */
export function authServerEndpoints(issuer: string): Endpoint[] {
  const settings = settingsFor({
    urls: { issuer },
    consentUrl: `${issuer}/oauth/consent`,
    callbackUrl: `${issuer}/oauth/callback`,
  });
  const context = { settings, now: Date.now } as AuthServerContext; // endpoints read the other members in requests only
  return [...METADATA_ENDPOINTS, ...ENDPOINTS]
    .flatMap((create) => create(context))
    .flatMap(({ method, paths, cors }) => [
      ...paths.map((path) => ({ method, path })),
      ...(cors === true ? paths.map((path) => ({ method: 'OPTIONS', path })) : []),
    ])
    .map(({ method, path }) => ({
      ...{ name: `${method} ${path}`, listener: 'public', method, path: filled(path) },
      ...(!isBodyless(method) && { withJson: whole, readsForm: true }),
    }));
}

/** Endpoints of the management API and of the registry protocol, from their registry. */
export const managementEndpoints = (): Endpoint[] =>
  OPERATIONS.map(({ id, method, path, input }) => {
    const members = IsObject(input.body) ? Object.keys(input.body.properties) : ['a'];
    return {
      ...{ name: id, listener: 'management', method, path: filled(path) },
      ...(!isBodyless(method) && {
        withJson: (value, bytes) =>
          isObject(value)
            ? value(bytes)
            : `{${members.map((member) => `"${member}":${value(bytes / members.length)}`).join(',')}}`,
      }),
    };
  });

const isObject = (value: Text): boolean => value(100).startsWith('{');

const filled = (path: string): string => path.replaceAll(/\{\w+\}/gu, 'x');

/** Methods of MCP in a session, from their registry. */
export const mcpEndpoints = (headers: readonly string[], tool: string): Endpoint[] =>
  [...METHODS.keys(), 'initialize', 'subscriptions/listen', 'server/discover', 'tasks/get', 'unknown'].flatMap(
    (method) =>
      (method === 'tools/call' ? ['arguments', '_meta', 'params'] : ['arguments']).map((place) => ({
        ...{
          name: `${method} (${place})`,
          listener: 'public',
          method: 'POST',
          path: '/mcp',
          headers,
          sharesHead: true,
        },
        withJson: (value: Text, bytes: number) => messageOf(method, tool, place, value(bytes)),
      })),
  );

function messageOf(method: string, tool: string, place: string, value: string): string {
  const object = value.startsWith('{') ? value : `{"path":${value}}`;
  const named = `"name":"${tool}","uri":"x:y","protocolVersion":"2025-11-25"`;
  const params = place === 'params' ? object.replace('{', `{${named},`) : `{${named},"${place}":${object}}`;
  return `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
}

/** Paths that `gateway/app.ts` serves itself. */
const OWN_PATHS: Readonly<Record<string, readonly [Endpoint['listener'], ...methods: string[]]>> = {
  '/': ['public', 'GET'],
  '/mcp': ['public', 'GET', 'POST', 'DELETE', 'PUT'],
  '/sse': ['public', 'POST'],
  '/messages': ['public', 'POST'],
  '/health': ['public', 'GET', 'POST'],
  '/ping': ['public', 'GET'],
  '/readyz': ['public', 'GET'],
  '/.well-known': ['public', 'GET'],
  '/metrics': ['management', 'GET', 'POST'],
  '/status': ['management', 'GET'],
  '/api/backends/health': ['management', 'GET'],
};

/** Returns the endpoints of `gateway/app.ts`. Throws for a path of its text that is not in the table. */
export function ownEndpoints(headers: readonly string[]): Endpoint[] {
  const text = readFileSync(join(root, 'gateway/app.ts'), 'utf8');
  const served = new Set(Array.from(text.matchAll(/'(\/[\w./-]*)'/gu), ([, path = '']) => path));
  const missing = [...served].filter((path) => !(path in OWN_PATHS));
  if (missing.length > 0) throw new Error(`add ${missing.join(', ')} to OWN_PATHS`);
  return Object.entries(OWN_PATHS).flatMap(([path, [listener, ...methods]]) =>
    methods.map((method) => ({
      ...{ name: `${method} ${path} at ${listener}`, listener, method, path, headers },
      ...(!isBodyless(method) && { withJson: whole }),
    })),
  );
}
