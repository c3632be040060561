import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { clientAddresses } from './client-address.ts';

/** Returns the client address of a request from this machine with these headers. */
async function addressOf(trusted: readonly string[], lines: readonly string[]): Promise<string> {
  const read = clientAddresses(trusted);
  const server = createServer((req, res) => res.end(read(req)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const headers = new Headers();
  for (const line of lines) headers.append('x-forwarded-for', line);
  const { port } = server.address() as AddressInfo;
  return (await fetch(`http://127.0.0.1:${String(port)}/`, { headers })).text();
}

const HERE = '127.0.0.1';

it.each([
  ['no proxy is trusted', [], ['203.0.113.7'], HERE],
  ['the peer is not trusted', ['10.0.0.0/8'], ['203.0.113.7'], HERE],
  ['there is no header', [HERE], [], HERE],
  ['one proxy is trusted', [HERE], ['203.0.113.7'], '203.0.113.7'],
  ['the client has prepended an address', [HERE], ['198.51.100.1, 203.0.113.7'], '203.0.113.7'],
  ['the client has sent its own header', [HERE], ['198.51.100.1', '203.0.113.7'], '203.0.113.7'],
  ['there is a chain of proxies', ['127.0.0.0/8', '10.0.0.0/8'], ['203.0.113.7, 10.1.2.3, 10.3.2.1'], '203.0.113.7'],
  ['all are proxies', ['127.0.0.0/8', '10.0.0.0/8'], ['10.1.2.3'], HERE],
  ['the header is invalid', [HERE], ['203.0.113.7, unknown'], HERE],
  ['the proxy has an IPv6 address', ['127.0.0.0/8', '2001:db8::/32'], ['203.0.113.7, 2001:db8::1'], '203.0.113.7'],
  ['the client has an IPv6 address', [HERE], ['2001:db8::7'], '2001:db8::7'],
  ['a proxy is written as a mapped address', [HERE, '10.0.0.1'], ['203.0.113.7, ::ffff:10.0.0.1'], '203.0.113.7'],
] as const)('row 50: reads the client address when %s', async (_what, trusted, lines, expected) => {
  expect(await addressOf(trusted, lines)).toBe(expected);
});

/** Returns a request with this peer address. */
const requestOf = (remoteAddress: string | undefined, ...hops: string[]): IncomingMessage =>
  ({ socket: { remoteAddress }, headersDistinct: hops.length > 0 ? { 'x-forwarded-for': hops } : {} }) as never;

it.each([
  ['a peer without a trusted proxy', [], ['10.0.0.9'], undefined],
  ['a peer that may be an unlisted proxy', [], ['10.0.0.9', '203.0.113.7'], undefined],
  ['a peer that is no trusted proxy', ['10.1.0.0/16'], ['10.0.0.9', '203.0.113.7'], undefined],
  ['a client behind a trusted proxy', ['10.0.0.0/8'], ['10.0.0.9', '203.0.113.7'], '203.0.113.7'],
  ['a trusted proxy without the header', ['10.0.0.0/8'], ['10.0.0.9'], undefined],
  ['a client among the trusted proxies', ['10.0.0.0/8'], ['10.0.0.9', '10.4.4.4'], undefined],
  ['an invalid address from a trusted proxy', ['10.0.0.0/8'], ['10.0.0.9', 'unknown'], undefined],
  ['loopback', [], ['::1'], '::1'],
  ['mapped loopback', [], ['::ffff:127.0.0.1'], '::ffff:127.0.0.1'],
  ['a closed socket', [], [undefined], undefined],
] as const)('returns no address that many clients may share: %s', (_what, trusted, [peer, ...hops], expected) => {
  expect(clientAddresses(trusted)(requestOf(peer, ...hops))).toBe(expected);
});
