import { isObjectSpan, memberOf, objectMembers, type Span } from '../../http/json-walk.ts';
import { readString, scanBackendEnvelope } from '../../http/json-scan.ts';
import { isSessionless, LATEST_REVISION, SESSION_REVISIONS } from '../../contract/protocol/revisions.ts';
import { BackendError, type ChannelOwner, type ServerFacts } from './channel.ts';
import { garbage } from './failure.ts';

export interface ClientInfo {
  readonly name: string;
  readonly version: string;
}

/** Returns the `params` of the `initialize` request to a backend. */
const initializeParams = (revision: string, { capabilities }: ChannelOwner, client: ClientInfo): Buffer =>
  Buffer.from(
    `{"protocolVersion":${JSON.stringify(revision)},"capabilities":${capabilities},"clientInfo":${JSON.stringify(client)}}`,
  );

export const INITIALIZED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}');

/**
 * Asks a backend to initialize; once more in another revision when it refuses the offered one and names those that it
 * supports. Returns the last reply. @see MCP 2025-11-25, basic/lifecycle, Error Handling
 */
export async function initialize(
  owner: ChannelOwner,
  client: ClientInfo,
  ask: (params: Buffer) => Promise<Buffer>,
): Promise<Buffer> {
  const offered = isSessionless(owner.revision) ? LATEST_REVISION : owner.revision;
  const reply = await ask(initializeParams(offered, owner, client));
  const supported = supportedRevisions(reply);
  const common = SESSION_REVISIONS.find((revision) => supported.includes(revision) && revision !== offered);
  return common === undefined ? reply : ask(initializeParams(common, owner, client));
}

/** Returns the revisions that an error names in `data.supported`. */
function supportedRevisions(reply: Buffer): readonly unknown[] {
  const { error } = scanBackendEnvelope(reply);
  const span = memberOf(reply, memberOf(reply, error, 'data'), 'supported');
  const named: unknown = span && JSON.parse(reply.toString('utf8', span.start, span.end));
  return Array.isArray(named) ? named : [];
}

function refusal(reply: Buffer, error: Span | undefined): BackendError {
  const code = memberOf(reply, error, 'code');
  const number = code ? Number(reply.toString('latin1', code.start, code.end)) : Number.NaN;
  const named = Number.isSafeInteger(number) ? ` (code ${String(number)})` : '';
  const [first] = supportedRevisions(reply);
  const isShown = typeof first === 'string' && /^[\w.-]{1,20}$/u.test(first);
  const why = isShown ? `: it supports revision "${first}", not ours` : '';
  return new BackendError(
    garbage(`the backend refused to initialize${named}${why}`, `it refuses to initialize${named}${why}`),
  );
}

/** Parses a backend's reply to `initialize`. Throws `BackendError` for an error or an invalid reply. */
export function readServerFacts(reply: Buffer, hasSession: boolean): ServerFacts {
  const { result, error } = scanBackendEnvelope(reply);
  if (result === undefined) throw refusal(reply, error);
  if (!isObjectSpan(reply, result)) throw refused('the initialize result is not an object');
  const members = objectMembers(reply, result);
  const revision = readString(reply, members.get('protocolVersion'));
  if (revision === undefined || !SESSION_REVISIONS.includes(revision)) {
    throw refused(
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

const refused = (detail: string): BackendError => new BackendError(garbage(detail));
