import { isObjectSpan, objectMembers } from '../../http/json-walk.ts';
import { readString, scanBackendEnvelope } from '../../http/json-scan.ts';
import { isModern } from '../era.ts';
import { BackendError, type ChannelOwner, type ServerFacts } from './channel.ts';

/** Supported MCP revisions, newest first. */
export const REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
export const LATEST_REVISION = REVISIONS[0];

export interface ClientInfo {
  readonly name: string;
  readonly version: string;
}

/** Returns the `params` of the `initialize` request to a backend. */
export const initializeParams = (owner: ChannelOwner, client: ClientInfo): Buffer =>
  Buffer.from(
    `{"protocolVersion":${JSON.stringify(isModern(owner.revision) ? LATEST_REVISION : owner.revision)},"capabilities":${owner.capabilities},"clientInfo":${JSON.stringify(client)}}`,
  );

export const INITIALIZED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}');

/** Parses a backend's reply to `initialize`. Throws `BackendError` for an error or an invalid reply. */
export function readServerFacts(reply: Buffer, hasSession: boolean): ServerFacts {
  const { result } = scanBackendEnvelope(reply);
  if (result === undefined) throw garbage('the backend refused to initialize');
  if (!isObjectSpan(reply, result)) throw garbage('the initialize result is not an object');
  const members = objectMembers(reply, result);
  const revision = readString(reply, members.get('protocolVersion'));
  if (revision === undefined || !(REVISIONS as readonly string[]).includes(revision)) {
    throw garbage(
      `the backend speaks revision ${JSON.stringify(revision ?? null).slice(0, 40)}, which the gateway does not`,
    );
  }
  const parsed = (key: string): Record<string, unknown> => {
    const span = members.get(key);
    return span && isObjectSpan(reply, span)
      ? (JSON.parse(reply.toString('utf8', span.start, span.end)) as Record<string, unknown>)
      : {};
  };
  return {
    revision,
    capabilities: parsed('capabilities'),
    serverInfo: parsed('serverInfo'),
    instructions: readString(reply, members.get('instructions')),
    hasSession,
  };
}

const garbage = (detail: string): BackendError => new BackendError({ kind: 'garbage', detail });
