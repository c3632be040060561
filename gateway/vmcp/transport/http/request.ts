import { SIGN, type CredentialHeaders, type UnsignedRequest } from '../../../outgoing/authenticator.ts';
import type { BackendRequest } from '../channel.ts';
import { BodyPieces, LARGE_BODY_BYTES } from './body-pieces.ts';

/** `Accept` of all requests except GET. */
export const ACCEPT_POST = 'application/json, text/event-stream';

/** Returns the value of a header that some servers send twice. Undefined for different values. */
export function singleValue(header: string | readonly string[] | undefined): string | undefined {
  const values = typeof header === 'string' ? header.split(', ') : (header ?? []);
  const [first, ...others] = values;
  if (others.every((value) => value === first)) return first;
  return typeof header === 'string' ? header : undefined;
}

/** Returns the headers of the stream's GET, made from those of a POST. */
export const getHeaders = (headers: readonly string[]): string[] =>
  headers.map((value) => (value === ACCEPT_POST ? 'text/event-stream' : value));

/** Returns a flat list of the client's headers without those of the same names as `own`. */
export const besideOwn = (extra: Readonly<Record<string, string>>, own: Readonly<Record<string, string>>): string[] =>
  Object.entries(extra).flatMap((header) => (Object.hasOwn(own, header[0]) ? [] : header));

/** Returns a flat list of headers in which the credential replaces headers of its names. */
export function withCredential(headers: string[], credential: CredentialHeaders | undefined): string[] {
  if (credential === undefined) return headers;
  const flat: string[] = [];
  for (const name in credential) flat.push(name, credential[name] ?? '');
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    if (!Object.hasOwn(credential, name)) flat.push(name, headers[at + 1] ?? '');
  }
  return flat;
}

/** Returns `request.headers`, which carry the credential, with the signature of the request if the credential signs. */
export async function withSignature(
  request: UnsignedRequest & { readonly headers: string[] },
  credential: CredentialHeaders | undefined,
): Promise<string[]> {
  const sign = credential?.[SIGN];
  return sign ? withCredential(request.headers, await sign(request)) : request.headers;
}

/** Writes the JSON-RPC requests of one channel. */
export class RequestBodies {
  #method = '';
  #methodPrefix = '';

  /** Returns a request with the channel's own id, and with `inserted` at the offset `at` of `params`. Large `params` are not copied. */
  of(ownId: string, { method, params }: BackendRequest, at = 0, inserted: Buffer = NOTHING): Buffer | BodyPieces {
    const head = this.#head(ownId, method);
    if (params === undefined) return Buffer.from(`${head}}`);
    const start = `${head},"params":`;
    if (params.length > LARGE_BODY_BYTES)
      return new BodyPieces([Buffer.from(start), ...withInserted(params, at, inserted), Buffer.from('}')]);
    const body = Buffer.allocUnsafe(start.length + params.length + inserted.length + 1);
    let end = body.write(start, 'latin1');
    if (inserted.length > 0) {
      end += params.copy(body, end, 0, at);
      end += inserted.copy(body, end);
    }
    end += params.copy(body, end, at);
    body[end] = 0x7d;
    return body;
  }

  #head(ownId: string, method: string): string {
    if (method !== this.#method) {
      this.#method = method;
      this.#methodPrefix = `,"method":${JSON.stringify(method)}`;
    }
    return `{"jsonrpc":"2.0","id":${ownId}${this.#methodPrefix}`;
  }
}

const NOTHING = Buffer.alloc(0);

const withInserted = (params: Buffer, at: number, inserted: Buffer): Buffer[] =>
  inserted.length === 0 ? [params] : [params.subarray(0, at), inserted, params.subarray(at)];
