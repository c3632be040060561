import type { MessageClient } from '../../../audit/audited-request.ts';
import { readString, type Span } from '../../../http/json-scan.ts';
import type { ClientInfo } from '../../../policy/policy.ts';
import { MODERN_REVISION } from '../../../contract/protocol/revisions.ts';
import { LOG_LEVELS } from '../../log-level.ts';
import type { ClientFacts } from '../../session.ts';
import type { RequestClient } from '../../transport/channel.ts';
import { readCapabilities, readClientInfo } from '../initialize.ts';
import type { RequestMeta } from './request-meta.ts';

/** A client as one of its requests describes it. `facts` are the same object for the same capabilities and client. */
export interface DescribedClient extends RequestClient {
  readonly facts: ClientFacts;
}

/** Clients by what they send with each request. */
const BY_META = new WeakMap<RequestMeta, DescribedClient>();
/** Their facts by JSON text: with a progress token or a trace, `_meta` differs from request to request. */
const BY_TEXT = new Map<string, ClientFacts>();
const MOST_TEXTS = 1_000;
/** Longest text that is kept, in characters. */
const LONGEST_TEXT = 2_048;

/** Returns the client that `meta` describes. Throws `ScanError` (`invalid`) for capabilities that are too long. */
export function clientOf(meta: RequestMeta): DescribedClient {
  const known = BY_META.get(meta);
  if (known) return known;
  const facts = factsOf(meta);
  const { revision, capabilities, client } = facts;
  const described = { facts, revision, capabilities, client, logLevel: logLevelOf(meta) };
  BY_META.set(meta, described);
  return described;
}

/** Returns the client of a message that may be rejected. `version` is its `MCP-Protocol-Version`. */
export const senderOf = (meta: RequestMeta | undefined, version: unknown): MessageClient => ({
  revision: (meta?.claimed ?? version) === MODERN_REVISION ? MODERN_REVISION : undefined,
  client: meta ? readClientInfo(meta.text, meta.client) : UNKNOWN,
});

const UNKNOWN: ClientInfo = { name: '', version: '' };

function factsOf(meta: RequestMeta): ClientFacts {
  const key = textOf(meta, meta.capabilities) + textOf(meta, meta.client);
  let facts = BY_TEXT.get(key);
  if (!facts) {
    facts = readFacts(meta);
    if (BY_TEXT.size >= MOST_TEXTS) BY_TEXT.clear();
    if (key.length <= LONGEST_TEXT) BY_TEXT.set(key, facts);
  }
  return facts;
}

const textOf = ({ text }: RequestMeta, span: Span | undefined): string =>
  span ? text.toString('latin1', span.start, span.end) : '';

function readFacts(meta: RequestMeta): ClientFacts {
  const capabilities = readCapabilities(meta.text, meta.capabilities);
  return {
    revision: MODERN_REVISION,
    capabilities,
    offers: new Set(Object.keys(JSON.parse(capabilities) as object)),
    client: readClientInfo(meta.text, meta.client),
  };
}

/** Returns the log level that a request asks for, an index of `LOG_LEVELS`; -1 for none or an unknown one. */
export const logLevelOf = ({ text, logLevel }: RequestMeta): number =>
  logLevel ? LOG_LEVELS.indexOf(readString(text, logLevel) as (typeof LOG_LEVELS)[number]) : -1;
