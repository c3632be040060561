import { describe, expect, it } from 'vitest';
import { verifySignature, type ReceivedRequest } from '../../../examples/backends/signature-v4.ts';
import type { UnsignedRequest } from '../authenticator.ts';
import { requestSigner } from './signer.ts';

const EXAMPLE_KEY = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);

/** Examples of AWS: the IAM User Guide, and the test suite of Signature Version 4. */
const PUBLISHED: readonly (readonly [string, Partial<ReceivedRequest>, string, string])[] = [
  [
    'the example of the IAM User Guide',
    {
      target: '/?Action=ListUsers&Version=2010-05-08',
      headers: { host: 'iam.amazonaws.com', 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
    },
    'us-east-1/iam',
    '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  ],
  ['get-vanilla', {}, 'us-east-1/service', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  [
    'get-vanilla-query-order-key-case',
    { target: '/?Param2=value2&Param1=value1' },
    'us-east-1/service',
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  [
    'post-vanilla',
    { method: 'POST' },
    'us-east-1/service',
    '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  ],
];

describe('the verifier of these tests', () => {
  it.each(PUBLISHED)('accepts %s', (_, request, scope, signature) => {
    const headers = { host: 'example.amazonaws.com', ...request.headers, 'x-amz-date': '20150830T123600Z' };
    const names = Object.keys(headers).toSorted().join(';');
    const authorization = `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/${scope}/aws4_request, SignedHeaders=${names}, Signature=${signature}`;
    const received = { method: 'GET', target: '/', body: Buffer.alloc(0), ...request };
    const found = verifySignature({ ...received, headers: { ...headers, authorization } }, () => EXAMPLE_KEY);
    expect(found).toMatchObject({ accessKeyId: 'AKIDEXAMPLE' });
  });
});

const CREDENTIALS = {
  accessKeyId: 'ASIAEXAMPLE',
  secretAccessKey: EXAMPLE_KEY,
  sessionToken: 'token/+=',
  expiresAt: NOW + 3_600_000,
};
const sign = requestSigner(CREDENTIALS, { region: 'eu-west-1', service: 'aws-mcp' }, () => NOW);

const POST: UnsignedRequest = {
  method: 'POST',
  origin: 'https://mcp.example:8443',
  path: '/mcp',
  headers: ['content-type', 'application/json', 'accept', 'text/event-stream', 'mcp-session-id', 's 1'],
  body: [Buffer.from('{"jsonrpc":'), Buffer.from('"2.0"}')],
};

async function received(request: UnsignedRequest): Promise<ReceivedRequest> {
  const headers: Record<string, string> = { host: new URL(request.origin).host };
  for (let at = 0; at < request.headers.length; at += 2)
    headers[request.headers[at] ?? ''] = request.headers[at + 1] ?? '';
  const { method, path: target } = request;
  return { method, target, headers: { ...headers, ...(await sign(request)) }, body: Buffer.concat(request.body) };
}

const verified = (request: ReceivedRequest) => verifySignature(request, () => EXAMPLE_KEY);

describe('requestSigner', () => {
  it.each<[string, Partial<UnsignedRequest>]>([
    ['a POST', {}],
    ['a GET without a body', { method: 'GET', body: [] }],
    ['a DELETE', { method: 'DELETE', body: [] }],
    ['a path with encoded characters', { path: '/a%20b/%C3%BC/mcp' }],
    ['a query', { path: '/mcp?b=2&a=%2F&a=1&flag' }],
    ['the default port', { origin: 'https://mcp.example' }],
  ])('signs %s', async (_, members) => {
    const { signedHeaders, ...scope } = verified(await received({ ...POST, ...members }));
    expect(scope).toEqual({ region: 'eu-west-1', service: 'aws-mcp', accessKeyId: 'ASIAEXAMPLE' });
    expect(signedHeaders.join(';')).toBe(
      'content-type;host;mcp-session-id;x-amz-content-sha256;x-amz-date;x-amz-security-token',
    );
  });

  it('sends the session token and the time of the request', async () => {
    expect(await sign(POST)).toMatchObject({ 'x-amz-security-token': 'token/+=', 'x-amz-date': '20260102T030405Z' });
  });

  it.each<[string, (request: ReceivedRequest) => Partial<ReceivedRequest>]>([
    ['method', () => ({ method: 'PUT' })],
    ['path', () => ({ target: '/other' })],
    ['query', () => ({ target: '/mcp?a=1' })],
    ['body', () => ({ body: Buffer.from('{}') })],
    ['host', ({ headers }) => ({ headers: { ...headers, host: 'other.example' } })],
    ['session id', ({ headers }) => ({ headers: { ...headers, 'mcp-session-id': 'other' } })],
    ['session token', ({ headers }) => ({ headers: { ...headers, 'x-amz-security-token': 'other' } })],
    ['time', ({ headers }) => ({ headers: { ...headers, 'x-amz-date': '20260102T030406Z' } })],
  ])('protects the %s', async (_, change) => {
    const request = await received(POST);
    expect(() => verified({ ...request, ...change(request) })).toThrow(/does not match|not that of the body/u);
  });
});
