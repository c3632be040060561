import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** HTTP request as it arrived. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

export interface Signature {
  readonly accessKeyId: string;
  readonly region: string;
  readonly service: string;
  readonly signedHeaders: readonly string[];
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/\s]+)\/([0-9]{8})\/([^/\s]+)\/([^/\s]+)\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/u;

/** Percent-encodes all bytes except unreserved characters (RFC 3986 §2.3). */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/gu, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);

function canonicalQuery(query: string): string {
  const pairs = query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.includes('=') ? pair.indexOf('=') : pair.length;
      return [pair.slice(0, at), pair.slice(at + 1)].map((part) => encoded(decodeURIComponent(part)));
    });
  return pairs
    .map(([name = '', value = '']) => `${name}=${value}`)
    .toSorted()
    .join('&');
}

/**
 * Verifies the AWS Signature Version 4 of a request, without a library: the gateway signs with one. Throws an Error that
 * says what is wrong.
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function verifySignature(
  { method, target, headers, body }: ReceivedRequest,
  secretOf: (accessKeyId: string) => string | undefined,
): Signature {
  const header = (name: string): string => String(headers[name] ?? '');
  const parts = AUTHORIZATION.exec(header('authorization'));
  if (!parts) throw new Error('no AWS4-HMAC-SHA256 signature');
  const [, accessKeyId = '', date = '', region = '', service = '', names = '', signature = ''] = parts;
  const signedHeaders = names.split(';');
  const secret = secretOf(accessKeyId);
  if (secret === undefined) throw new Error('unknown access key');
  const unsigned = Object.keys(headers).find((name) => name.startsWith('x-amz-') && !signedHeaders.includes(name));
  if (unsigned !== undefined || !signedHeaders.includes('host')) throw new Error(`${unsigned ?? 'host'} is not signed`);
  const time = header('x-amz-date');
  if (!time.startsWith(date)) throw new Error('the scope has another date than the request');
  const hash = sha256(body);
  if (headers['x-amz-content-sha256'] !== undefined && header('x-amz-content-sha256') !== hash)
    throw new Error('the hash is not that of the body');
  const [path = '', query = ''] = target.split('?', 2);
  const canonical = [
    method,
    path.split('/').map(encoded).join('/'),
    canonicalQuery(query),
    ...signedHeaders.map((name) => `${name}:${header(name).trim().replaceAll(/ +/gu, ' ')}`),
    '',
    names,
    hash,
  ].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = [date, region, service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secret}`);
  if (!timingSafeEqual(hmac(key, text), Buffer.from(signature, 'hex'))) throw new Error('the signature does not match');
  return { accessKeyId, region, service, signedHeaders };
}
