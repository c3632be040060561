import { fail, memberOf, type Span } from '../../http/json-walk.ts';
import { readString, type Envelope } from '../../http/json-scan.ts';
import type { ClientInfo } from '../../policy/policy.ts';
import { relayedExtensions, sessionExtensions } from '../aggregation/extensions.ts';
import type { View, ViewCapabilities } from '../aggregation/view.ts';
import { RELAYED_CAPABILITIES } from '../server-requests.ts';
import type { ClientFacts } from '../session.ts';
import { LATEST_REVISION, SESSION_REVISIONS } from '../../contract/protocol/revisions.ts';

/** Longest capabilities that a session stores, in characters. Those of the protocol have about 300. */
const LONGEST_CAPABILITIES = 2_048;
/** Characters of the client's name and version that a session stores. */
const LONGEST_CLIENT_INFO = 128;

/**
 * Reads the client's data from `initialize`. The revision is the requested one when supported, else the newest. Returns
 * undefined without a revision. Throws `ScanError` (`invalid`) for capabilities that are too long to store.
 */
export function readClientFacts(body: Buffer, { params }: Envelope): ClientFacts | undefined {
  const asked = readString(body, memberOf(body, params, 'protocolVersion'));
  if (asked === undefined) return undefined;
  const capabilities = readCapabilities(body, memberOf(body, params, 'capabilities'), (declared) =>
    sessionExtensions(relayedExtensions(declared)),
  );
  return {
    revision: SESSION_REVISIONS.includes(asked) ? asked : LATEST_REVISION,
    capabilities,
    offers: new Set(Object.keys(JSON.parse(capabilities) as object)),
    client: readClientInfo(body, memberOf(body, params, 'clientInfo')),
  };
}

export function readClientInfo(body: Buffer, info: Span | undefined): ClientInfo {
  const text = (key: string): string =>
    (readString(body, memberOf(body, info, key)) ?? '').slice(0, LONGEST_CLIENT_INFO);
  return { name: text('name'), version: text('version') };
}

/**
 * Returns the JSON text of the capabilities that are declared to backends: those whose requests the gateway relays, and
 * extensions. Checks their length before it parses them, as parsing many small members takes much memory.
 */
export function readCapabilities(body: Buffer, declared: Span | undefined, extensionsOf = relayedExtensions): string {
  const relayed: Record<string, unknown> = {};
  const read = (name: string): unknown => {
    const span = memberOf(body, declared, name);
    if (!span) return undefined;
    checkLength(span.end - span.start);
    return JSON.parse(body.toString('utf8', span.start, span.end));
  };
  for (const name of RELAYED_CAPABILITIES) {
    const value = read(name);
    if (value !== undefined) relayed[name] = value;
  }
  const extensions = extensionsOf(read('extensions'));
  if (Object.keys(extensions).length > 0) relayed['extensions'] = extensions;
  const text = JSON.stringify(relayed);
  checkLength(text.length);
  return text;
}

function checkLength(length: number): void {
  if (length > LONGEST_CAPABILITIES)
    fail('invalid', `"capabilities" are longer than ${String(LONGEST_CAPABILITIES)} characters`);
}

/**
 * Returns the capabilities of the gateway. It declares every list with `listChanged`, and `subscribe`, because backends may offer
 * their first item later and that is announced, and extensions when a known backend supports them.
 */
export const serverCapabilities = (extensions: ViewCapabilities['extensions']): object => ({
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
  ...(Object.keys(extensions).length > 0 && { extensions }),
});

/** Returns the result of `initialize`. It does not wait for backends. */
export const initializeResult = (
  revision: string,
  version: string,
  { capabilities, instructions }: Pick<View, 'capabilities' | 'instructions'>,
): string =>
  JSON.stringify({
    protocolVersion: revision,
    capabilities: serverCapabilities(sessionExtensions(capabilities.extensions)),
    serverInfo: { name: 'vmcp', version },
    instructions: instructions.merged,
  });
