import { fail, memberOf, type Span } from '../../http/json-walk.ts';
import { readString, type Envelope } from '../../http/json-scan.ts';
import type { ClientInfo } from '../../policy/policy.ts';
import { RELAYED_CAPABILITIES } from '../server-requests.ts';
import type { ClientFacts } from '../session.ts';
import { LATEST_REVISION, REVISIONS } from '../transport/handshake.ts';

/** Kept for each of up to 20,000 sessions; those of the protocol have some 300. */
const LONGEST_CAPABILITIES = 2_048;
/** Characters of the client's name and of its version that are kept. */
const LONGEST_CLIENT_INFO = 128;

/**
 * What `initialize` says of the client, with the revision the session gets: the asked one when we speak it, else our
 * newest, and the client decides. Undefined when it names no revision. Throws `ScanError` (`invalid`) for capabilities that
 * are too long to be kept for the life of a session.
 */
export function readClientFacts(body: Buffer, { params }: Envelope): ClientFacts | undefined {
  const asked = readString(body, memberOf(body, params, 'protocolVersion'));
  if (asked === undefined) return undefined;
  const capabilities = readCapabilities(body, memberOf(body, params, 'capabilities'));
  return {
    revision: (REVISIONS as readonly string[]).includes(asked) ? asked : LATEST_REVISION,
    capabilities,
    offers: new Set(Object.keys(JSON.parse(capabilities) as object)),
    client: readClientInfo(body, memberOf(body, params, 'clientInfo')),
  };
}

function readClientInfo(body: Buffer, info: Span | undefined): ClientInfo {
  const text = (key: string): string =>
    (readString(body, memberOf(body, info, key)) ?? '').slice(0, LONGEST_CLIENT_INFO);
  return { name: text('name'), version: text('version') };
}

/** Capabilities that backends are told of, as JSON text. They are measured first: parsing tiny members takes much memory. */
function readCapabilities(body: Buffer, declared: Span | undefined): string {
  const relayed: Record<string, unknown> = {};
  for (const name of RELAYED_CAPABILITIES) {
    const span = memberOf(body, declared, name);
    if (!span) continue;
    checkLength(span.end - span.start);
    relayed[name] = JSON.parse(body.toString('utf8', span.start, span.end));
  }
  const text = JSON.stringify(relayed);
  checkLength(text.length);
  return text;
}

function checkLength(length: number): void {
  if (length > LONGEST_CAPABILITIES)
    fail('invalid', `"capabilities" are longer than ${String(LONGEST_CAPABILITIES)} characters`);
}

/**
 * The result of `initialize`. It never waits for a backend, so it promises every kind of list with `listChanged`: what
 * comes late is announced. `subscribe` stands there when a backend known by now can do it.
 */
export const initializeResult = (revision: string, version: string, subscribe: boolean): string =>
  JSON.stringify({
    protocolVersion: revision,
    capabilities: {
      tools: { listChanged: true },
      resources: subscribe ? { listChanged: true, subscribe } : { listChanged: true },
      prompts: { listChanged: true },
      completions: {},
      logging: {},
    },
    serverInfo: { name: 'vmcp', version },
  });
