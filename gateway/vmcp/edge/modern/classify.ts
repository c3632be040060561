import type { IncomingHttpHeaders } from 'node:http';
import { paramsOf, readString, type ClientEnvelope } from '../../../http/json-scan.ts';
import { isObjectSpan, memberOf } from '../../../http/json-walk.ts';
import { methodOf } from '../../../contract/protocol/methods.ts';
import {
  isSessionless,
  META,
  MODERN_REVISION,
  SESSION_REVISIONS,
  SUPPORTED_REVISIONS,
} from '../../../contract/protocol/revisions.ts';
import { CODE } from '../../error-codes.ts';
import { LOG_LEVELS } from '../../log-level.ts';
import { decodeHeaderValue } from '../../header-value.ts';
import { logLevelOf } from './client-facts.ts';
import { hasClaim, readMeta, type RequestMeta } from './request-meta.ts';

/** A rejected request. Its status is 400. */
export interface Rejection {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Era of a message, and why one of the newer era cannot be served. */
export type Classified =
  | { readonly era: 'legacy' }
  | { readonly era: 'modern'; readonly meta: RequestMeta; readonly olderHeader?: OlderHeader }
  | { readonly era: 'modern'; readonly meta: undefined } // a notification
  | { readonly era: 'rejected'; readonly rejection: Rejection };

/** Name of a client that was accepted although its version header is older than its request. */
export interface OlderHeader {
  readonly client: string;
  readonly version: string;
}

const LEGACY: Classified = { era: 'legacy' };

/**
 * Finds the era of a client's message: that of its `params._meta`, and for a notification without one that of its
 * `MCP-Protocol-Version`. The headers must agree with the body; only those of `olderVersionHeaderClients`, names of
 * clients, may name an older revision. @see MCP 2026-07-28, basic/transports, SEP-2243
 */
export function classify(
  headers: IncomingHttpHeaders,
  body: Buffer,
  envelope: ClientEnvelope,
  olderVersionHeaderClients: readonly string[],
): Classified {
  const version = headers['mcp-protocol-version'] as string | undefined;
  const meta = readMeta(body, envelope.surface);
  if (envelope.method === undefined) return isSessionless(version) ? rejected(NO_RESPONSES) : LEGACY;
  if (meta === undefined || !hasClaim(meta)) return unclaimed(version, headers, body, envelope, meta);
  const isInitialize = envelope.method === 'initialize';
  const { claimed } = meta;
  if (isInitialize && !isSessionless(claimed)) return LEGACY;
  const olderHeader =
    olderVersionHeaderClients.length === 0
      ? undefined
      : olderHeaderOf(version, meta, claimed, olderVersionHeaderClients);
  const rejection =
    metaRejection(meta) ??
    (olderHeader ? contradiction(headers, body, envelope) : headerRejection(headers, body, envelope, claimed ?? ''));
  if (rejection) return rejected(rejection);
  return olderHeader ? { era: 'modern', meta, olderHeader } : { era: 'modern', meta };
}

/** Returns the client when it is one of `names`, and its version header that of an older revision. */
function olderHeaderOf(
  version: string | undefined,
  { text, client }: RequestMeta,
  claimed: string | undefined,
  names: readonly string[],
): OlderHeader | undefined {
  if (version === undefined || !isSessionless(claimed) || !SESSION_REVISIONS.includes(version)) return undefined;
  const name = readString(text, memberOf(text, client, 'name'));
  return name !== undefined && names.includes(name) ? { client: name, version } : undefined;
}

const rejected = (rejection: Rejection): Classified => ({ era: 'rejected', rejection });

const NO_RESPONSES: Rejection = {
  code: CODE.invalidRequest,
  message: `revision ${MODERN_REVISION} has no requests of the server: send inputResponses with the request instead`,
};

/** Handles a message whose `_meta` does not describe the request. */
function unclaimed(
  version: string | undefined,
  headers: IncomingHttpHeaders,
  body: Buffer,
  envelope: ClientEnvelope,
  meta: RequestMeta | undefined,
): Classified {
  const { method = '', id } = envelope;
  if (!isSessionless(version)) {
    const isUnknown = version !== undefined && !SUPPORTED_REVISIONS.includes(version);
    // another text than a revision is not repeated: it may be a credential in the wrong header
    if (isUnknown && id !== undefined && method !== 'initialize')
      return rejected(unsupported(REVISION.test(version) ? version : ''));
    const rejection = contradiction(headers, body, envelope);
    return rejection ? rejected(rejection) : LEGACY;
  }
  if (id === undefined) {
    const sent = headers['mcp-method'];
    return sent === undefined || sent === method
      ? { era: 'modern', meta: undefined }
      : rejected(mismatch('Mcp-Method', 'method'));
  }
  const missing = meta ? [META.version, META.capabilities] : ['_meta'];
  const message = `a request of revision ${MODERN_REVISION} needs ${missing.join(' and ')} in params`;
  return rejected({ code: CODE.invalidParams, message, data: { missing } });
}

/** Returns the problem of the members that describe the request. */
function metaRejection(meta: RequestMeta): Rejection | undefined {
  const { text, claimed, capabilities, client, logLevel, repeated } = meta;
  const invalid = (key: string, message: string): Rejection => ({
    code: CODE.invalidParams,
    message: `_meta: "${key}" ${message}`,
    data: { missing: [key] },
  });
  if (repeated !== undefined) return invalid(repeated, 'occurs twice');
  if (claimed === undefined || claimed === '') return invalid(META.version, 'must be the revision of the request');
  if (!capabilities || !isObjectSpan(text, capabilities)) return invalid(META.capabilities, 'must be an object');
  if (client && !isObjectSpan(text, client)) return invalid(META.client, 'must be an object');
  if (logLevel && logLevelOf(meta) === -1) return invalid(META.logLevel, `must be one of ${LOG_LEVELS.join(', ')}`);
  return undefined;
}

/** Returns the problem of headers that contradict the body, and of a revision that is not served. */
function headerRejection(
  headers: IncomingHttpHeaders,
  body: Buffer,
  envelope: ClientEnvelope,
  claimed: string,
): Rejection | undefined {
  const version = headers['mcp-protocol-version'];
  const isNotification = envelope.id === undefined;
  if (version === undefined ? !isNotification : version !== claimed)
    return mismatch('MCP-Protocol-Version', `_meta "${META.version}"`);
  if (!isSessionless(claimed)) return unsupported(claimed);
  const method = headers['mcp-method'];
  if (method === undefined ? !isNotification : method !== envelope.method) return mismatch('Mcp-Method', 'method');
  return nameMismatch(headers['mcp-name'], body, envelope);
}

const REVISION = /^(?:DRAFT-)?\d{4}-(?:\d{2}-\d{2}|v\d{1,3})$/u;

const unsupported = (requested: string): Rejection => ({
  code: CODE.unsupportedVersion,
  message: `the requested revision is not served in this form: use ${MODERN_REVISION}, or initialize`,
  data: { supported: SUPPORTED_REVISIONS, requested },
});

const mismatch = (header: string, member: string): Rejection => ({
  code: CODE.headerMismatch,
  message: `the header ${header} must equal ${member} of the body`,
  data: { mismatch: { header, member } },
});

/**
 * Returns the problem of a request of an older revision whose headers name another method or item than its body: what
 * is in front of the gateway may decide by these headers.
 */
function contradiction(headers: IncomingHttpHeaders, body: Buffer, envelope: ClientEnvelope): Rejection | undefined {
  const method = headers['mcp-method'];
  if (method !== undefined && method !== envelope.method) return mismatch('Mcp-Method', 'method');
  const sent = headers['mcp-name'];
  if (typeof sent !== 'string') return undefined;
  return nameMismatch(sent, body, envelope);
}

/** Returns the problem of an `Mcp-Name` that differs from the member that it repeats, if that is a string. */
function nameMismatch(sent: unknown, body: Buffer, envelope: ClientEnvelope): Rejection | undefined {
  const member = methodOf(envelope.method).nameHeader;
  const name = member && readString(body, paramsOf(envelope)[member]);
  if (member === undefined || name === undefined) return undefined;
  return typeof sent === 'string' && decodeHeaderValue(sent) === name
    ? undefined
    : mismatch('Mcp-Name', `params.${member}`);
}
