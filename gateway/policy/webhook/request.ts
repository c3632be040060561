import { createHmac } from 'node:crypto';
import type { Identity } from '../../contract/identity.ts';
import type { PolicyCall } from '../policy.ts';

/** Version of requests and answers. */
export const WEBHOOK_VERSION = 'v0.1.0';

/** Facts of one request that are not part of the call. */
export interface RequestFacts {
  readonly uid: string;
  /** ms since the epoch. */
  readonly now: number;
  /** Name and namespace of the virtual server. */
  readonly server: string;
  readonly namespace: string | undefined;
  /** Claims of the token that this webhook receives, beside name, email and groups. */
  readonly claims: readonly string[];
}

/**
 * Returns the JSON body of a request. `args` is the JSON text of the arguments and is copied byte for byte, so that the
 * webhook reads the same numbers and keys as the backend.
 * @see docs/policies/webhooks.md
 */
export function webhookBody(call: PolicyCall, args: Buffer | undefined, facts: RequestFacts): string {
  const { session, method, name, backend, identity } = call;
  const item = method.startsWith('resources/') ? { uri: name } : { name };
  const params = JSON.stringify(item);
  const withArguments = args ? `${params.slice(0, -1)},"arguments":${args.toString('utf8')}}` : params;
  const head = JSON.stringify({
    version: WEBHOOK_VERSION,
    uid: facts.uid,
    timestamp: new Date(facts.now).toISOString(),
    principal: identity ? principalOf(identity, facts.claims) : null,
    context: {
      server_name: facts.server,
      ...(facts.namespace !== undefined && { namespace: facts.namespace }),
      backend_server: backend,
      transport: 'streamable-http',
      mcp_revision: session.revision,
      client: session.client,
    },
  });
  const request = `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${withArguments}}`;
  return `${head.slice(0, -1)},"mcp_request":${request}}`;
}

/** Returns the user as webhooks see it. Never a token. */
function principalOf({ issuer, subject, claims }: Identity, wanted: readonly string[]): object {
  const { name, email, groups } = claims;
  const found = wanted.filter((claim) => Object.hasOwn(claims, claim)).map((claim) => [claim, claims[claim]] as const);
  return {
    iss: issuer,
    sub: subject,
    ...(typeof name === 'string' && { name }),
    ...(typeof email === 'string' && { email }),
    ...(Array.isArray(groups) && { groups: groups.filter((group) => typeof group === 'string') }),
    claims: Object.fromEntries(found),
  };
}

/** Returns the headers that prove origin and age of `body`: HMAC-SHA256 over `SECONDS.BODY`. @see RFC 2104 */
export function signatureHeaders(body: string, key: string, nowMs: number): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const digest = createHmac('sha256', key).update(`${timestamp}.${body}`).digest('hex');
  return { 'x-webhook-timestamp': timestamp, 'x-webhook-signature': `sha256=${digest}` };
}
