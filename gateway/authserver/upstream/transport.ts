import type { CustomFetch } from 'openid-client';
import type { Outbound, OutboundReply } from '../../outbound/fetch.ts';
import { OutboundError } from '../../outbound/outbound-error.ts';
import { standardReply, type ReplyRules } from './token-reply.ts';

const MAX_DOCUMENT_BYTES = 256 * 1024;
const MAX_TOKEN_REPLY_BYTES = 1024 * 1024;
/** Fetch refuses a body beside these. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

export interface TransportOptions {
  readonly outbound: Outbound;
  readonly timeoutMs: number;
  /** Replies of this URL are brought into the standard shape. */
  readonly tokenEndpoint?: string | undefined;
  readonly rules: ReplyRules;
}

/** What openid-client fetches with for one operation: the outbound guard, and a memory of what came back. */
export class Transport {
  readonly #options: TransportOptions;
  /** Of the last reply; undefined when there was none. */
  status: number | undefined;
  /** Of the last request. */
  url = '';
  /** The 200 reply of the token endpoint as it was received, parsed. */
  tokenReply: unknown;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  readonly fetch: CustomFetch = async (url, { method, headers, body }) => {
    const { outbound, timeoutMs, tokenEndpoint } = this.#options;
    const get = method === 'GET';
    this.url = url;
    this.status = undefined;
    const reply = await outbound.request({
      url,
      method: get ? 'GET' : 'POST',
      headers,
      body: body instanceof URLSearchParams ? body.toString() : undefined,
      maxBytes: get ? MAX_DOCUMENT_BYTES : MAX_TOKEN_REPLY_BYTES,
      timeoutMs,
      followRedirects: get,
    });
    this.status = reply.status;
    if (reply.status < 200 || reply.status > 599) throw new OutboundError('unreachable', 'the status is none of HTTP');
    return url === tokenEndpoint && reply.status === 200 ? this.#tokenResponse(reply) : responseOf(reply);
  };

  #tokenResponse(reply: OutboundReply): Response {
    this.tokenReply = parsed(reply.body);
    const standard = standardReply(this.tokenReply, this.#options.rules);
    return standard ? Response.json(standard.body, { status: standard.status }) : responseOf(reply);
  }
}

/** A challenge beside an error hides the error from openid-client, so that only the content type is passed on. */
function responseOf({ status, contentType, body }: OutboundReply): Response {
  const headers = contentType === '' ? {} : { 'content-type': contentType };
  return new Response(WITHOUT_BODY.has(status) ? null : body, { status, headers });
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
