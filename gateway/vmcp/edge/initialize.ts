import { fail, isObject, objectMembers, type Span } from '../../http/json-walk.ts';
import { readString, type Envelope } from '../../http/json-scan.ts';
import { relayedCapabilities } from '../server-requests.ts';
import type { ClientFacts } from '../session.ts';
import { LATEST_REVISION, REVISIONS } from '../transport/handshake.ts';

const LONGEST_CAPABILITIES = 16_384;

/**
 * What `initialize` says of the client, with the revision the session gets: the asked one when we speak it, else our
 * newest, and the client decides. Undefined when it names no revision. Throws `ScanError` (`invalid`) for capabilities that
 * are too long to be kept for the life of a session.
 */
export function readClientFacts(body: Buffer, { params }: Envelope): ClientFacts | undefined {
  if (params === undefined || !isObject(body, params)) return undefined;
  const members = objectMembers(body, params);
  const asked = readString(body, members.get('protocolVersion'));
  if (asked === undefined) return undefined;
  const declared = readObject(body, members.get('capabilities'));
  const capabilities = relayedCapabilities(declared);
  if (capabilities.length > LONGEST_CAPABILITIES)
    fail('invalid', `"capabilities" are longer than ${String(LONGEST_CAPABILITIES)} characters`);
  return {
    revision: (REVISIONS as readonly string[]).includes(asked) ? asked : LATEST_REVISION,
    capabilities,
    offers: new Set(Object.keys(JSON.parse(capabilities) as object)),
  };
}

function readObject(body: Buffer, span: Span | undefined): Readonly<Record<string, unknown>> {
  if (!span || !isObject(body, span)) return {};
  return JSON.parse(body.toString('utf8', span.start, span.end)) as Readonly<Record<string, unknown>>;
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
