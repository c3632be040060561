import type { LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { beforeAll, describe, expect, it } from 'vitest';
import { classifyAddress } from '../address-class.ts';
import { createOutbound, type Outbound, type OutboundOptions } from '../fetch.ts';
import type { OutboundError } from '../outbound-error.ts';
import { recordListener } from '../own-listeners.ts';
import type { OutboundPolicy } from '../policy.ts';
import { createAuthority, type Authority } from '../testdata/authority.ts';
import { forwardProxy, withProxies } from '../testdata/forward-proxy.ts';
import { onEnd, resolver, serve, serveRaw, trusted } from '../testdata/servers.ts';

const PUBLIC: OutboundPolicy = { allowPrivate: false, allowLoopback: false, allowHttp: true };
const OWN_ADDRESS = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(
    ({ family, address, internal }) => family === 'IPv4' && !internal && classifyAddress(address) !== 'forbidden',
  )?.address;
const CREDENTIAL = `Basic ${Buffer.from('user:se:cret').toString('base64')}`;

/** Resolver of a network without DNS for names outside. */
const nowhere: LookupFunction = (_name, _options, callback) => {
  setImmediate(() => {
    callback(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), []);
  });
};

function guard(options: Partial<OutboundOptions> = {}): Outbound {
  const outbound = createOutbound({ policy: PUBLIC, lookup: nowhere, ...options });
  onEnd(() => outbound.close());
  return outbound;
}

/** Sends a request, and returns status and body, or kind and message of the failure. */
async function ask(outbound: Outbound, url: string, timeoutMs = 5_000): Promise<string> {
  const limits = { maxBytes: 1_000, timeoutMs };
  return outbound.request({ url, method: 'POST', body: 'a=b', headers: { 'x-own': 'yes' }, ...limits }).then(
    ({ status, body }) => `${String(status)} ${body}`,
    (error: unknown) => `${(error as OutboundError).kind}: ${(error as OutboundError).message}`,
  );
}

let authority: Authority;
beforeAll(() => {
  authority = createAuthority('own');
});

describe('a request over https', () => {
  const sealed = (names = 'DNS:backend.test') =>
    serve((req, res) => res.end(`sealed ${String(req.headers['proxy-authorization'])}`), {
      tls: authority.sign(names),
    });

  it('goes through a tunnel to a name that only the proxy can resolve, and the server sees no credential of the proxy', async () => {
    const proxy = await forwardProxy({ authorization: CREDENTIAL });
    withProxies({ HTTPS_PROXY: `http://user:se%3Acret@127.0.0.1:${String(proxy.port)}` });
    const { port } = await sealed();
    const outbound = guard({ caFile: trusted(authority) });
    const url = `https://backend.test:${String(port)}/path?query`;
    for (let call = 0; call < 5; call += 1) expect(await ask(outbound, url)).toBe('200 sealed undefined');
    expect(new Set(proxy.requests)).toEqual(new Set([`CONNECT backend.test:${String(port)}`]));
    expect(proxy.requests.length).toBeLessThanOrEqual(2); // connections are kept
    expect(proxy.heads[0]).toMatchObject({ host: `backend.test:${String(port)}` });
  });

  it('verifies the certificate of the server, not that of the proxy', async () => {
    const proxy = await forwardProxy();
    withProxies({ HTTPS_PROXY: `127.0.0.1:${String(proxy.port)}` });
    const [own, other] = [await sealed(), await sealed('DNS:other.test')];
    const untrusted = await ask(guard(), `https://backend.test:${String(own.port)}/`);
    expect(untrusted).toMatch(/^unreachable: https:\/\/backend\.test:\d+ cannot be reached \((SELF_SIGNED|UNABLE_TO)/u);
    const misnamed = await ask(guard({ caFile: trusted(authority) }), `https://backend.test:${String(other.port)}/`);
    expect(misnamed).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it('reaches a server with an IPv6 address, whose CONNECT has brackets', async () => {
    const proxy = await forwardProxy();
    withProxies({ HTTPS_PROXY: `http://127.0.0.1:${String(proxy.port)}` });
    await ask(guard(), 'https://[2606:4700::1]:8443/');
    expect(proxy.requests).toEqual(['CONNECT [2606:4700::1]:8443']);
  });

  it.each([
    [407, 'write USER:PASSWORD@ in front of its host in HTTPS_PROXY'],
    [403, 'allow the host and its port in the proxy, or list the host in NO_PROXY'],
    [502, 'check that the host is up and that the proxy can reach it, or list the host in NO_PROXY'],
    [503, 'check that the host is up and that the proxy can reach it, or list the host in NO_PROXY'],
  ])('fails with the place of a proxy that answers %i, and what to do', async (status, advice) => {
    const proxy = await forwardProxy({ status });
    withProxies({ HTTPS_PROXY: `http://127.0.0.1:${String(proxy.port)}` });
    const answer = `the proxy 127.0.0.1:${String(proxy.port)} answers HTTP ${String(status)} for backend.test:443`;
    expect(await ask(guard(), 'https://backend.test/')).toBe(`unreachable: ${answer}: ${advice}`);
  });

  it('names a refused credential without printing it', async () => {
    const proxy = await forwardProxy({ authorization: CREDENTIAL });
    withProxies({ https_proxy: `http://user:wrong@127.0.0.1:${String(proxy.port)}` });
    const answer = await ask(guard(), 'https://backend.test/');
    expect(answer).toMatch(/answers HTTP 407 for backend\.test:443: correct the credential in https_proxy$/u);
    expect(answer).not.toMatch(/wrong|user/u);
  });

  it('fails with the place of a proxy that is down, silent, closes, or speaks no HTTP', async () => {
    const down = await forwardProxy();
    await down.close();
    withProxies({ HTTPS_PROXY: `http://127.0.0.1:${String(down.port)}` });
    const place = `127.0.0.1:${String(down.port)}`;
    expect(await ask(guard(), 'https://backend.test/')).toBe(
      `unreachable: the proxy ${place} cannot be reached (ECONNREFUSED): start it, or correct HTTPS_PROXY`,
    );
    const closing = await forwardProxy({ onConnect: (socket) => socket.destroy() });
    withProxies({ HTTPS_PROXY: `http://127.0.0.1:${String(closing.port)}` });
    expect(await ask(guard(), 'https://backend.test/')).toMatch(/^unreachable: the proxy 127\.0\.0\.1:\d+ cannot be /u);
    const other = await serveRaw((socket) => void socket.end('220 mail ready\r\n'));
    withProxies({ HTTPS_PROXY: `http://${other}` });
    expect(await ask(guard(), 'https://backend.test/')).toMatch(/^unreachable: the proxy 127\.0\.0\.1:\d+ cannot be /u);
    const early = await forwardProxy({ onConnect: (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n') });
    withProxies({ HTTPS_PROXY: `http://127.0.0.1:${String(early.port)}` });
    expect(await ask(guard(), 'https://backend.test/')).toMatch(
      /^unreachable: the proxy 127\.0\.0\.1:\d+ ends the connection to backend\.test:443 before TLS has begun$/u,
    );
  });

  it('uses a proxy with TLS, whose certificate is verified', async () => {
    const proxy = await forwardProxy({ tls: authority.sign('IP:127.0.0.1') });
    withProxies({ HTTPS_PROXY: `https://127.0.0.1:${String(proxy.port)}` });
    expect(await ask(guard({ caFile: trusted(authority) }), 'https://backend.test/')).toMatch(
      /^unreachable: the proxy 127\.0\.0\.1:\d+ cannot be reached \((SELF_SIGNED|UNABLE_TO)\w+\): add its CA with NODE_EXTRA_CA_CERTS$/u,
    ); // the CA of a backend does not vouch for the proxy
    expect(proxy.requests).toEqual([]);
  });
});

describe('a request over http', () => {
  it('names its whole URL, and the server sees no credential of the proxy', async () => {
    const proxy = await forwardProxy({ authorization: CREDENTIAL });
    withProxies({ HTTP_PROXY: `http://user:se%3Acret@127.0.0.1:${String(proxy.port)}` });
    const { port } = await serve((req, res) => {
      const { host, 'x-own': own, 'proxy-authorization': credential } = req.headers;
      res.end([req.method, req.url, host, own, credential].map(String).join(' '));
    });
    const outbound = guard();
    const url = `http://backend.test:${String(port)}/path?query`;
    expect(await ask(outbound, url)).toBe(`200 POST /path?query backend.test:${String(port)} yes undefined`);
    expect(proxy.requests).toEqual([`POST ${url}`]);
    expect(proxy.heads[0]).toMatchObject({ connection: 'close' }); // what follows could reach the server
  });

  it.each([
    [407, {}],
    [403, {}],
    [502, {}],
    [503, { 'x-squid-error': 'ERR_DNS_FAIL 0', 'content-type': 'application/json' }],
    [504, { 'content-type': 'text/plain' }],
    [401, { server: 'tinyproxy/1.11.1', 'www-authenticate': 'Basic realm="Tinyproxy"' }],
    [500, { server: 'tinyproxy/1.11.1' }],
  ])('fails with the place of a proxy that answers %i itself', async (status, headers) => {
    const proxy = await forwardProxy({ status, headers });
    withProxies({ HTTP_PROXY: `http://127.0.0.1:${String(proxy.port)}` });
    const answer = `the proxy 127.0.0.1:${String(proxy.port)} answers HTTP ${String(status)} for backend.test:80`;
    expect(await ask(guard(), 'http://backend.test/')).toContain(`unreachable: ${answer}: `);
  });

  it.each([
    [403, { 'content-type': 'text/html', 'www-authenticate': 'Bearer' }],
    [403, { 'content-type': 'application/json' }],
    [502, { 'content-type': 'application/problem+json' }],
    [503, { 'content-type': 'text/plain', 'retry-after': '3' }],
    [500, { 'content-type': 'text/html' }],
  ])('gets a %i with %j from the server', async (status, headers) => {
    const proxy = await forwardProxy({ status, headers });
    withProxies({ HTTP_PROXY: `http://127.0.0.1:${String(proxy.port)}` });
    expect(await ask(guard(), 'http://backend.test/')).toContain(`${String(status)} `);
  });
});

describe('the guard behind a proxy', () => {
  it.each([
    ['10.1.2.3', '"public.test" resolves to 10.1.2.3, a private address: set allowPrivateIPs to allow it'],
    ['169.254.169.254', 'a link-local, metadata'],
    ['127.0.0.1', 'a loopback address'],
  ])('refuses a name that resolves here to %s', async (address, reason) => {
    const proxy = await forwardProxy();
    withProxies({ HTTPS_PROXY: `http://127.0.0.1:${String(proxy.port)}` });
    const answer = await ask(guard({ lookup: resolver(['8.8.8.8', address]) }), 'https://public.test/');
    expect(answer).toMatch(/^refused: /u);
    expect(answer).toContain(reason);
    expect(proxy.requests).toEqual([]);
  });

  it.each(['10.1.2.3', '192.168.1.1', '[fd00::1]', '169.254.169.254', '127.0.0.1', 'localhost', 'jira.tools.svc'])(
    'refuses the literal host %s',
    async (host) => {
      const proxy = await forwardProxy();
      withProxies({ HTTPS_PROXY: `http://127.0.0.1:${String(proxy.port)}` });
      expect(await ask(guard(), `https://${host}:1/`)).toMatch(/^refused: /u);
      expect(proxy.requests).toEqual([]);
    },
  );

  it('leaves a name to the proxy whose DNS lookup hangs, and does not look it up again soon', async () => {
    const proxy = await forwardProxy();
    withProxies({ HTTP_PROXY: `http://127.0.0.1:${String(proxy.port)}` });
    const { port } = await serve((_, res) => res.setHeader('connection', 'close').end());
    const asked: string[] = [];
    const hanging: LookupFunction = (name) => void asked.push(name);
    const outbound = guard({ lookup: hanging });
    const url = `http://hanging.test:${String(port)}/`;
    expect([await ask(outbound, url), await ask(outbound, url)]).toEqual(['200 ', '200 ']);
    expect(asked).toEqual(['hanging.test']);
  });

  it('row 99: leads no URL of a document through a proxy to a listener of this process', async () => {
    const proxy = await forwardProxy();
    withProxies({ HTTP_PROXY: `http://127.0.0.1:${String(proxy.port)}` });
    const own = await serve((_, res) => res.end('own'), { onServer: (server) => recordListener(server, 'mcp') });
    const url = `http://own.test:${String(own.port)}/`;
    const fault = 'refused: "own.test" at this port is vmcp itself';
    expect(await ask(guard(), url)).toBe(fault); // only the proxy, which runs here, can resolve the name
    const local = { ...PUBLIC, allowLoopback: true, allowPrivate: true };
    expect(await ask(guard({ policy: local, lookup: resolver(['127.0.0.1']) }), url)).toBe(fault);
    if (OWN_ADDRESS !== undefined) {
      const everywhere = await serve((_, res) => res.end(), {
        host: '0.0.0.0',
        onServer: (server) => recordListener(server, 'internal'),
      });
      const literal = `http://${OWN_ADDRESS}:${String(everywhere.port)}/`;
      expect(await ask(guard({ policy: local }), literal)).toMatch(/^refused: .* is vmcp itself$/u);
    }
    expect([own.connections(), proxy.requests]).toEqual([0, []]);
    expect(await ask(guard({ configuredUrl: url }), url)).toBe('200 own');
  });

  it('refuses a proxy that is a listener of this process', async () => {
    const own = await serve((_, res) => res.end('own'), { onServer: (server) => recordListener(server, 'internal') });
    withProxies({ HTTPS_PROXY: `http://127.0.0.1:${String(own.port)}` });
    const place = `127.0.0.1:${String(own.port)}`;
    const answer = await ask(guard(), 'https://backend.test/');
    expect(answer).toBe(`refused: the proxy ${place} is vmcp itself: correct HTTPS_PROXY`);
  });

  it('limits the lookup, the connection to the proxy and its answer together', async () => {
    const silent = await serveRaw(() => undefined);
    withProxies({ HTTPS_PROXY: `http://${silent}` });
    const started = performance.now();
    expect(await ask(guard(), 'https://backend.test/', 300)).toMatch(/^timeout: /u);
    expect(performance.now() - started).toBeLessThan(3_000);
  });
});
