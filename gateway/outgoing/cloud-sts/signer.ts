import { SignatureV4 } from '@smithy/signature-v4';
import { createHash, createHmac } from 'node:crypto';
import type { RequestSigner, UnsignedRequest } from '../authenticator.ts';
import type { SessionCredentials } from './assume-role.ts';

type Bytes = string | ArrayBuffer | ArrayBufferView;

/** Hash in the form that the signing library expects. */
class Sha256 {
  readonly #hash: { update(data: string | Uint8Array): unknown; digest(): Buffer };

  constructor(secret?: Bytes) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', readable(secret));
  }

  update(data: Bytes): void {
    this.#hash.update(readable(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {
    throw new Error('a hash is used once');
  }
}

function readable(data: Bytes): string | Uint8Array {
  if (typeof data === 'string') return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** Headers that nothing on the way changes. The method, the path, the query and the body are always signed. */
const isSigned = (name: string): boolean => name === 'content-type' || name.startsWith('mcp-');

/**
 * Returns a signer of requests by AWS Signature Version 4.
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function requestSigner(
  { accessKeyId, secretAccessKey, sessionToken }: SessionCredentials,
  { region, service }: { readonly region: string; readonly service: string },
  now: () => number,
): RequestSigner {
  const credentials = { accessKeyId, secretAccessKey, sessionToken };
  const signer = new SignatureV4({ credentials, region, service, sha256: Sha256 });
  return async (request) => {
    const signed = await signer.sign(signable(request), { signingDate: new Date(now()) });
    const { host: _, ...headers } = signed.headers;
    return headers;
  };
}

/** Returns the request in the form of the library, with the hash of the body in a header. */
function signable({ method, origin, path, headers, body }: UnsignedRequest) {
  const url = new URL(origin + path);
  const hash = createHash('sha256');
  for (const piece of body) hash.update(piece);
  const signed: Record<string, string> = { host: url.host, 'x-amz-content-sha256': hash.digest('hex') };
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    if (isSigned(name) || name === 'host') signed[name] = headers[at + 1] ?? '';
  }
  const { protocol, hostname, pathname } = url;
  return { method, protocol, hostname, path: pathname, query: queryOf(url), headers: signed };
}

/** Returns the decoded parameters of a URL. A `+` stands for itself, as AWS reads it. */
function queryOf({ search }: URL): Record<string, string[]> {
  const query: Record<string, string[]> = {};
  for (const pair of search.slice(1).split('&')) {
    if (pair === '') continue;
    const [name = '', ...value] = pair.split('=');
    (query[decodeURIComponent(name)] ??= []).push(decodeURIComponent(value.join('=')));
  }
  return query;
}
