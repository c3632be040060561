import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { LookupFunction } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { Client } from 'undici';
import { guardedConnector, type ConnectorOptions } from './connector.ts';
import { OutboundError } from './outbound-error.ts';
import type { OutboundPolicy } from './policy.ts';
import { createAuthority, type Authority } from './testdata/authority.ts';
import { onEnd, resolver, serve, serveRaw } from './testdata/servers.ts';

const CLOSED: OutboundPolicy = { allowPrivate: false, allowLoopback: false, allowHttp: true };
const LOOPBACK: OutboundPolicy = { allowPrivate: false, allowLoopback: true, allowHttp: true };

/** Status of a GET, or why there was none. */
async function get(origin: string, policy: OutboundPolicy, options: Partial<ConnectorOptions> = {}): Promise<string> {
  const client = new Client(origin, { connect: guardedConnector(policy, { timeoutMs: 2_000, ...options }) });
  try {
    const { statusCode, body } = await client.request({ path: '/', method: 'GET' });
    return `${String(statusCode)} ${await body.text()}`;
  } catch (error) {
    if (error instanceof OutboundError) return `${error.kind}: ${error.message}`;
    return (error as NodeJS.ErrnoException).code ?? String(error);
  } finally {
    await client.destroy();
  }
}

describe('guardedConnector', () => {
  it('connects to the address of a single DNS lookup', async () => {
    const { port } = await serve((_, res) => res.end('here'));
    const lookup = resolver(['127.0.0.1']);
    expect(await get(`http://backend.example:${String(port)}`, LOOPBACK, { lookup })).toBe('200 here');
    expect(lookup.asked).toEqual(['backend.example']);
  });

  it('ignores a DNS change between lookup and connection', async () => {
    const first = await serve((_, res) => res.end('first'));
    const second = await serve((_, res) => res.end('second'), { host: '127.0.0.2', port: first.port });
    const lookup = resolver(['127.0.0.1'], ['127.0.0.2']);
    expect(await get(`http://rebinding.example:${String(first.port)}`, LOOPBACK, { lookup })).toBe('200 first');
    expect([lookup.asked.length, second.connections()]).toEqual([1, 0]);
  });

  it('checks the addresses of a name at each connection', async () => {
    const { port, connections } = await serve((_, res) => res.setHeader('connection', 'close').end());
    const lookup = resolver(['127.0.0.1'], ['10.0.0.1'], ['127.0.0.1', '169.254.169.254']);
    const connect = guardedConnector(LOOPBACK, { timeoutMs: 2_000, lookup });
    const client = new Client(`http://rebinding.example:${String(port)}`, { connect });
    onEnd(() => client.destroy());
    const ask = (): Promise<unknown> => client.request({ path: '/', method: 'GET' }).then(({ body }) => body.dump());
    await ask();
    await expect(ask()).rejects.toMatchObject({ kind: 'refused' });
    await expect(ask()).rejects.toMatchObject({ kind: 'refused' });
    expect(connections()).toBe(1);
  });

  it.each([
    ['127.0.0.1', 'a loopback address'],
    ['::1', 'a loopback address'],
    ['::ffff:127.0.0.1', 'a loopback address'],
    ['10.0.0.1', 'a private address'],
    ['100.64.0.1', 'a private address'],
    ['fd00::1', 'a private address'],
    ['::ffff:10.0.0.1', 'a private address'],
    ['64:ff9b::a00:1', 'a private address'],
    ['2002:a00:1::1', 'a private address'],
    ['169.254.169.254', 'a link-local'],
    ['64:ff9b::a9fe:a9fe', 'a link-local'],
    ['2002:7f00:1::', 'a link-local'],
    ['fe80::1', 'a link-local'],
    ['0.0.0.0', 'a link-local'],
  ])('makes no connection to a name that resolves to %s', async (address, what) => {
    const { port, connections } = await serve((_, res) => res.end());
    const lookup = resolver([address]);
    const answer = await get(`http://public.example:${String(port)}`, CLOSED, { lookup });
    expect(answer).toContain(`refused: "public.example" resolves to ${address}, ${what}`);
    expect(connections()).toBe(0);
  });

  it('refuses a name when one of its addresses is not allowed', async () => {
    const { port, connections } = await serve((_, res) => res.end());
    const lookup = resolver(['127.0.0.1', '10.0.0.1']);
    expect(await get(`http://both.example:${String(port)}`, LOOPBACK, { lookup })).toMatch(/^refused: .*10\.0\.0\.1/u);
    expect(connections()).toBe(0);
  });

  it.each(['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '017700000001', 'localhost'])(
    'refuses the literal host %s without a connection or a DNS lookup',
    async (host) => {
      const { port, connections } = await serve((_, res) => res.end());
      const lookup = resolver(['127.0.0.1']);
      expect(await get(`http://${host}:${String(port)}`, CLOSED, { lookup })).toMatch(
        /^refused: .* a loopback address/u,
      );
      expect([connections(), lookup.asked]).toEqual([0, []]);
    },
  );

  it('refuses http to a public host when the policy requires TLS', async () => {
    const { port, connections } = await serve((_, res) => res.end());
    const policy = { ...LOOPBACK, allowHttp: false };
    const lookup = resolver(['127.0.0.1']);
    expect(await get(`http://public.example:${String(port)}`, policy, { lookup })).toMatch(/^refused: http to/u);
    expect(connections()).toBe(0);
    expect(await get(`http://127.0.0.1:${String(port)}`, policy)).toBe('200 ');
    expect(await get(`http://localhost:${String(port)}`, policy, { lookup })).toBe('200 ');
  });

  it('reports ENOTFOUND when a DNS lookup fails or returns no address', async () => {
    const failing: LookupFunction = (_name, _options, callback) => {
      callback(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), []);
    };
    expect(await get('http://nowhere.example', LOOPBACK, { lookup: failing })).toBe('ENOTFOUND');
    expect(await get('http://nowhere.example', LOOPBACK, { lookup: resolver([]) })).toBe('ENOTFOUND');
  });

  it('times out when a DNS lookup hangs', async () => {
    const started = performance.now();
    const hanging: LookupFunction = () => undefined;
    expect(await get('http://slow.example', LOOPBACK, { lookup: hanging, timeoutMs: 300 })).toBe(
      'UND_ERR_CONNECT_TIMEOUT',
    );
    expect(performance.now() - started).toBeLessThan(3_000);
  });
});

describe('TLS', () => {
  let authority: Authority;
  let stranger: Authority;
  beforeAll(() => {
    authority = createAuthority('own');
    stranger = createAuthority('stranger');
  });
  const serveTls = async (names: string, options = {}): Promise<number> => {
    const { port } = await serve((_, res) => res.end('sealed'), { tls: { ...authority.sign(names), ...options } });
    return port;
  };
  const lookup = resolver(['127.0.0.1']);

  it('trusts a configured certificate authority for a name and for an address', async () => {
    const port = await serveTls('DNS:issuer.example,IP:127.0.0.1');
    const ca = [stranger.cert, authority.cert];
    expect(await get(`https://issuer.example:${String(port)}`, LOOPBACK, { lookup, ca })).toBe('200 sealed');
    expect(await get(`https://127.0.0.1:${String(port)}`, LOOPBACK, { ca })).toBe('200 sealed');
  });

  it('rejects other authorities and certificates for other names', async () => {
    const port = await serveTls('DNS:issuer.example');
    const origin = `https://issuer.example:${String(port)}`;
    expect(await get(origin, LOOPBACK, { lookup })).toMatch(/SELF_SIGNED|UNABLE_TO/u);
    expect(await get(origin, LOOPBACK, { lookup, ca: [stranger.cert] })).toMatch(/SELF_SIGNED|UNABLE_TO/u);
    const other = `https://other.example:${String(port)}`;
    expect(await get(other, LOOPBACK, { lookup, ca: [authority.cert] })).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it('requires TLS 1.2 or later', async () => {
    const ca = [authority.cert];
    const weak = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    const old = await serveTls('IP:127.0.0.1', weak);
    expect(await get(`https://127.0.0.1:${String(old)}`, LOOPBACK, { ca })).toMatch(/^ERR_SSL|^ECONNRESET/u);
    const modern = await serveTls('IP:127.0.0.1', { maxVersion: 'TLSv1.2' });
    expect(await get(`https://127.0.0.1:${String(modern)}`, LOOPBACK, { ca })).toBe('200 sealed');
  });

  it('times out when a handshake hangs', async () => {
    const silent = await serveRaw(() => undefined);
    expect(await get(`https://${silent}`, LOOPBACK, { timeoutMs: 300 })).toBe('UND_ERR_CONNECT_TIMEOUT');
  });

  it('reloads a changed CA bundle, or keeps the last valid one and warns once', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'vmcp-bundle-'));
    onEnd(() => rmSync(dir, { recursive: true }));
    const caFile = join(dir, 'ca.crt');
    let now = 0;
    const write = (content: string): void => {
      writeFileSync(`${caFile}.new`, content);
      renameSync(`${caFile}.new`, caFile);
      now += 1_000; // how often the file is looked at
    };
    const port = await serveTls('IP:127.0.0.1');
    const warnings: unknown[] = [];
    const log = { warn: (_: string, facts: unknown) => void warnings.push(facts) };
    const connect = guardedConnector(LOOPBACK, { timeoutMs: 2_000, caFile, log, now: () => now });
    const ask = async (): Promise<string> => {
      const client = new Client(`https://127.0.0.1:${String(port)}`, { connect });
      try {
        return String((await client.request({ path: '/', method: 'GET' })).statusCode);
      } catch (error) {
        return error instanceof OutboundError ? error.message : ((error as NodeJS.ErrnoException).code ?? '');
      } finally {
        await client.destroy();
      }
    };
    expect(await ask()).toBe(`the CA bundle cannot be used: ${caFile} cannot be read (ENOENT)`);
    write('no certificate');
    expect(await ask()).toBe(`the CA bundle cannot be used: ${caFile} holds no PEM certificate`);
    write(stranger.cert);
    expect(await ask()).toMatch(/SELF_SIGNED|UNABLE_TO/u);
    write(`# two\n${stranger.cert}\n${authority.cert}`);
    expect(await ask()).toBe('200');
    expect(warnings).toEqual([]);
    write(authority.cert.replace(/^M/mu, '!'));
    expect([await ask(), await ask()]).toEqual(['200', '200']);
    expect(warnings).toEqual([
      { fault: `the CA bundle cannot be used: ${caFile} holds a certificate that cannot be read, number 1` },
    ]);
    write(stranger.cert);
    expect(await ask()).toMatch(/SELF_SIGNED|UNABLE_TO/u);
  });
});
