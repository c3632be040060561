import { isObject, objectMembers } from '../../http/json-walk.ts';
import { readString, type Envelope } from '../../http/json-scan.ts';
import { LATEST_REVISION, REVISIONS } from '../transport/handshake.ts';

/** The revision a session gets: the asked one when we speak it, else our newest, and the client decides. */
export function negotiate(body: Buffer, { params }: Envelope): string | undefined {
  if (params === undefined || !isObject(body, params)) return undefined;
  const asked = readString(body, objectMembers(body, params).get('protocolVersion'));
  if (asked === undefined) return undefined;
  return (REVISIONS as readonly string[]).includes(asked) ? asked : LATEST_REVISION;
}

/**
 * The result of `initialize`. It never waits for a backend, so it promises every kind of list with `listChanged`: what
 * comes late is announced.
 */
export const initializeResult = (revision: string, version: string): string =>
  JSON.stringify({
    protocolVersion: revision,
    capabilities: {
      tools: { listChanged: true },
      resources: { listChanged: true },
      prompts: { listChanged: true },
      completions: {},
      logging: {},
    },
    serverInfo: { name: 'vmcp', version },
  });
