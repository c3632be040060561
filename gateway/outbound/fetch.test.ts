import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import type { LookupFunction } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ACCEPT_ENCODING } from '../bytes/content-coding.ts';
import { heldBytes } from '../bytes/testdata/held-bytes.ts';
import { createOutbound, type Outbound, type OutboundOptions, type OutboundRequest } from './fetch.ts';
import { policyFor } from './policy.ts';
import { createAuthority } from './testdata/authority.ts';
import { onEnd, resolver, serve, serveRaw } from './testdata/servers.ts';

const MAX_BYTES = 256 * 1024;

function outbound(options: Partial<OutboundOptions> = {}): Outbound {
  const made = createOutbound({ policy: policyFor('http://127.0.0.1/', {}), ...options });
  onEnd(() => made.close());
  return made;
}

const GET = { method: 'GET', maxBytes: MAX_BYTES, timeoutMs: 3_000 } as const;

/** The reply of a server that ends with the test, asked once. */
async function ask(
  onRequest: RequestListener,
  request: Partial<OutboundRequest> = {},
): ReturnType<Outbound['request']> {
  const { port } = await serve(onRequest);
  return outbound().request({ ...GET, url: `http://127.0.0.1:${String(port)}/a?b=c`, ...request });
}

describe('a reply', () => {
  it('contains status, headers, media type, text and URL', async () => {
    const reply = await ask((req, res) => {
      res.writeHead(418, { 'Content-Type': 'Application/JSON; charset=utf-8', 'x-twice': ['1', '2'] });
      res.end(JSON.stringify([req.method, req.url, req.headers['x-own'], req.headers['accept-encoding'], 'ü']));
    }, { headers: { 'x-own': 'yes' } }); // oxfmt-ignore
    expect(reply).toMatchObject({ status: 418, contentType: 'application/json', headers: { 'x-twice': '1, 2' } });
    expect(JSON.parse(reply.body)).toEqual(['GET', '/a?b=c', 'yes', ACCEPT_ENCODING, 'ü']);
    expect(reply.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/a\?b=c$/u);
  });

  it('to a POST is returned with any status, including a redirect', async () => {
    const request = { method: 'POST', body: 'a=b', followRedirects: true } as const;
    const answer: RequestListener = (req, res) => {
      void text(req).then((body) => res.writeHead(307, { location: '/elsewhere' }).end(`${req.method ?? ''} ${body}`));
    };
    expect(await ask(answer, request)).toMatchObject({ status: 307, body: 'POST a=b' });
  });

  it('to requestBytes has its body byte for byte', async () => {
    const bytes = Buffer.from([0xef, 0xbb, 0xbf, 0xff, 0x00]);
    const { port } = await serve((_, res) => res.end(bytes));
    const reply = await outbound().requestBytes({ ...GET, url: `http://127.0.0.1:${String(port)}/` });
    expect(reply.body.equals(bytes)).toBe(true);
  });

  it('row 109: that is a success and not UTF-8 is refused', async () => {
    const bytes = Buffer.from('{"sub":"J\u00FCrg"}', 'latin1');
    await expect(ask((_, res) => res.end(bytes))).rejects.toMatchObject({ name: 'OutboundError', kind: 'not_text' });
    const failure = await ask((_, res) => res.writeHead(500).end(bytes));
    expect(failure).toMatchObject({ status: 500, body: '{"sub":"J\uFFFDrg"}' });
    expect((await ask((_, res) => res.end('\uFEFF{}'))).body).toBe('{}');
  });

  it('ends with its head on request, although its body is an endless stream', async () => {
    const head = { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' };
    const answer: RequestListener = (_, res) => void res.writeHead(401, head).write('data: one\n\n');
    const request = { method: 'POST', ignoreBody: true } as const;
    expect(await ask(answer, request)).toMatchObject({ status: 401, contentType: 'text/event-stream', body: '' });
  });

  it('without content type or body is empty text', async () => {
    expect(await ask((_, res) => res.writeHead(204).end())).toMatchObject({ status: 204, contentType: '', body: '' });
  });

  it.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['GZIP', gzipSync],
    ['deflate', deflateSync],
    ['Deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['identity, zstd', zstdCompressSync],
  ])('compressed with %s is decompressed', async (encoding, pack) => {
    const body = pack(Buffer.from('{"keys":[]}'));
    expect(await ask((_, res) => res.writeHead(200, { 'content-encoding': encoding }).end(body))).toMatchObject({
      body: '{"keys":[]}',
    });
  });

  it('arrives over a reused connection', async () => {
    const { port, connections } = await serve((_, res) => res.end('again'));
    const guard = outbound();
    for (let call = 0; call < 5; call += 1) await guard.request({ ...GET, url: `http://127.0.0.1:${String(port)}` });
    expect(connections()).toBeLessThanOrEqual(2);
  });
});

describe('the size limit', () => {
  const big = Buffer.alloc(MAX_BYTES + 1, 'a');

  it('rejects a reply longer than maxBytes, with or without Content-Length', async () => {
    const exact = await ask((_, res) => res.end(big.subarray(1)));
    expect(exact.body.length).toBe(MAX_BYTES);
    await expect(
      ask((_, res) => res.writeHead(200, { 'content-length': big.length }).write('a')),
    ).rejects.toMatchObject({
      kind: 'too_large',
      message: 'the reply is longer than 262144 bytes',
    });
    await expect(ask((_, res) => (res.write('a'), res.end(big.subarray(1))))).rejects.toMatchObject({
      kind: 'too_large',
    });
  });

  it('applies to decompressed bytes', async () => {
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(MAX_BYTES);
    const before = process.memoryUsage().rss;
    await expect(ask((_, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb))).rejects.toMatchObject({
      kind: 'too_large',
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
  });

  it('applies to compressed bytes too', async () => {
    const nothing = gzipSync(Buffer.alloc(0));
    const empties = Buffer.concat(Array.from({ length: 20_000 }, () => nothing));
    const onRequest: RequestListener = (_, res) => {
      res.writeHead(200, { 'content-encoding': 'gzip' }).write(empties.subarray(0, nothing.length));
      res.end(empties.subarray(nothing.length));
    };
    await expect(ask(onRequest)).rejects.toMatchObject({ kind: 'too_large' });
  });

  it('row 89: bounds the memory of a reply in chunks of one byte', async () => {
    const chunks = Buffer.from('1\r\nx\r\n'.repeat(200_000));
    const sent = Promise.withResolvers<undefined>();
    const endless = await serveRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      socket.write(chunks, () => {
        sent.resolve(undefined);
      });
    });
    const before = heldBytes();
    const [stop, reply] = [new AbortController(), Promise.withResolvers<unknown>()];
    outbound()
      .request({ ...GET, url: `http://${endless}`, signal: stop.signal })
      .catch(reply.resolve);
    await sent.promise;
    await sleep(100);
    expect(heldBytes() - before).toBeLessThan(3 * 1024 * 1024); // with the connection
    stop.abort();
    await reply.promise;
  });

  it('applies to headers', async () => {
    const flood = await serveRaw((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(64 * 1024)}\r\n\r\n`);
    });
    await expect(outbound().request({ ...GET, url: `http://${flood}` })).rejects.toMatchObject({
      kind: 'too_large',
    });
  });
});

describe('the time limit', () => {
  /** Sends one byte every 20 ms and never ends the reply. */
  const drip =
    (bytes: Buffer, encoding: string): RequestListener =>
    (_, res) => {
      let sent = 0;
      res.writeHead(200, { 'content-encoding': encoding });
      const timer = setInterval(() => res.write(bytes.subarray(sent, (sent += 1))), 20);
      res.on('close', () => {
        clearInterval(timer);
      });
    };
  const endless = Buffer.alloc(1_000, 'a');
  const refusal = async (onRequest: RequestListener): Promise<{ kind: string; ms: number }> => {
    const started = performance.now();
    const error: unknown = await ask(onRequest, { timeoutMs: 300 }).catch((reason: unknown) => reason);
    return { kind: (error as { kind: string }).kind, ms: performance.now() - started };
  };

  it.each<[string, RequestListener]>([
    ['a silent server', () => undefined],
    ['a body that arrives byte by byte', drip(endless, 'identity')],
    ['a gzip body that arrives byte by byte', drip(gzipSync(randomBytes(1_000)), 'gzip')],
    ['half a body', (_, res) => res.writeHead(200, { 'content-length': 10 }).write('half')],
  ])('applies to %s', async (_, onRequest) => {
    const { kind, ms } = await refusal(onRequest);
    expect(kind).toBe('timeout');
    expect(ms).toBeLessThan(5_000);
  });

  it('applies to a DNS lookup that hangs and to a chain of redirects as a whole', async () => {
    const hanging: LookupFunction = () => undefined;
    const guard = outbound({ lookup: hanging });
    await expect(guard.request({ ...GET, url: 'https://slow.example', timeoutMs: 200 })).rejects.toMatchObject({
      kind: 'timeout',
      message: 'https://slow.example gave no whole reply in 200 ms',
    });
    const slow: RequestListener = (_, res) => void setTimeout(() => res.writeHead(302, { location: '/' }).end(), 150);
    await expect(ask(slow, { followRedirects: true, timeoutMs: 300 })).rejects.toMatchObject({ kind: 'timeout' });
  });

  it('is distinguished from an abort by the caller', async () => {
    const reason = new Error('the client has gone');
    const abort = new AbortController();
    const asked = ask(() => {
      abort.abort(reason);
    }, { signal: abort.signal }); // oxfmt-ignore
    await expect(asked).rejects.toBe(reason);
    await expect(ask((_, res) => res.end(), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe('a failed request', () => {
  it('is unreachable when the port is closed', async () => {
    const free = await serve(() => undefined);
    await free.close();
    const origin = `http://127.0.0.1:${String(free.port)}`;
    await expect(outbound().request({ ...GET, url: `${origin}/path?token=secret` })).rejects.toMatchObject({
      kind: 'unreachable',
      message: `${origin} cannot be reached (ECONNREFUSED)`,
    });
  });

  it.each([
    ['text that is not HTTP', 'secret nonsense\r\n\r\n'],
    ['nothing', ''],
    ['half a header', 'HTTP/1.1 200 OK\r\nx: secret'],
    ['fewer bytes than announced', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsecret'],
    ['a broken chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nsecret\r\n'],
    ['broken gzip', 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 6\r\n\r\nsecret'],
    ['an unsupported compression', 'HTTP/1.1 200 OK\r\nContent-Encoding: compress\r\nContent-Length: 6\r\n\r\nsecret'],
    ['two layers of compression', 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\nContent-Length: 6\r\n\r\nsecret'],
  ])('is unreachable when the server sends %s, and its error contains nothing of the reply', async (_, bytes) => {
    const raw = await serveRaw((socket) => {
      socket.once('data', () => socket.end(bytes));
    });
    const error: unknown = await outbound()
      .request({ ...GET, url: `http://${raw}` })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ kind: 'unreachable' });
    expect((error as Error).message).not.toContain('secret');
    expect((error as Error).cause).toBeUndefined();
  });

  it('is unreachable during and after close()', async () => {
    const guard = outbound();
    const { port } = await serve(() => undefined);
    const running = guard.request({ ...GET, url: `http://127.0.0.1:${String(port)}` });
    setTimeout(() => void guard.close(), 50);
    await expect(running).rejects.toMatchObject({ kind: 'unreachable' });
    await expect(guard.request({ ...GET, url: `http://127.0.0.1:${String(port)}` })).rejects.toMatchObject({
      kind: 'unreachable',
    });
  });

  it.each(['https://169.254.169.254/latest/meta-data', 'http://example.com/', 'https://10.0.0.1/', 'ftp://127.0.0.1/'])(
    'is refused for %s without a DNS lookup',
    async (url) => {
      const lookup = resolver(['127.0.0.1']);
      await expect(outbound({ lookup }).request({ ...GET, url })).rejects.toMatchObject({ kind: 'refused' });
      expect(lookup.asked).toEqual([]);
    },
  );

  it('is refused when a public name resolves to a loopback address', async () => {
    const { port, connections } = await serve((_, res) => res.end('inside'));
    const policy = policyFor('https://issuer.example', { insecureAllowHTTP: true });
    const guard = outbound({ policy, lookup: resolver(['127.0.0.1']) });
    await expect(guard.request({ ...GET, url: `http://issuer.example:${String(port)}/` })).rejects.toMatchObject({
      kind: 'refused',
      message: '"issuer.example" resolves to 127.0.0.1, a loopback address, which the configuration does not name',
    });
    expect(connections()).toBe(0);
  });
});

describe('redirects', () => {
  const follow = { followRedirects: true } as const;
  const to =
    (location: (path: number) => string | undefined, status = 302): RequestListener =>
    (req, res) => {
      const target = location(Number(req.url?.slice(1)) || 0);
      if (target === undefined) res.end('end');
      else res.writeHead(status, { location: target }).end();
    };

  it.each([301, 302, 303, 307, 308])('with status %i are followed only with followRedirects', async (status) => {
    const onRequest = to((step) => (step < 3 ? `/${String(step + 1)}` : undefined), status);
    const reply = await ask(onRequest, follow);
    expect([reply.status, reply.body, new URL(reply.url).pathname]).toEqual([200, 'end', '/3']);
    expect(await ask(onRequest)).toMatchObject({ status, body: '' });
  });

  it('are followed at most three times', async () => {
    const seen: unknown[] = [];
    const endless: RequestListener = (req, res) => {
      seen.push(req.url);
      res.writeHead(302, { location: `/${String(seen.length)}` }).end();
    };
    await expect(ask(endless, follow)).rejects.toMatchObject({ kind: 'redirect' });
    expect(seen).toEqual(['/a?b=c', '/1', '/2', '/3']);
  });

  it.each([
    ['another port', () => 'http://127.0.0.1:1/'],
    ['another host', () => 'http://localhost/'],
    ['a private address', () => 'http://10.0.0.1/'],
    ['the metadata service', () => 'http://169.254.169.254/'],
    ['another scheme', () => 'file:///etc/passwd'],
    ['an invalid URL', () => 'http://['],
  ])('to %s are not followed', async (_, location) => {
    await expect(ask(to(location), follow)).rejects.toMatchObject({ kind: 'redirect' });
  });

  it('to another origin are followed with anywhere, without the credential, where the policy allows', async () => {
    const other = await serve((req, res) =>
      res.end(`${String(req.headers.authorization)} ${String(req.headers['x-kept'])}`),
    );
    const headers = { authorization: 'Bearer x', 'x-kept': 'kept' };
    const request = { followRedirects: 'anywhere', headers } as const;
    const reply = await ask(to(() => `http://127.0.0.1:${String(other.port)}/`), request); // oxfmt-ignore
    expect(reply.body).toBe('undefined kept');
    const refused = ask(to(() => 'http://10.0.0.1/'), request); // oxfmt-ignore
    await expect(refused).rejects.toMatchObject({ kind: 'refused' });
  });

  it('to a URL with credentials are refused', async () => {
    const answer: RequestListener = (req, res) => {
      res.writeHead(302, { location: `http://user:pass@${req.headers.host ?? ''}/` }).end();
    };
    await expect(ask(answer, follow)).rejects.toMatchObject({ kind: 'refused' });
  });

  it('are followed from http to https of one host but not back, and drop the credential on another port', async () => {
    const authority = createAuthority('own');
    const dir = mkdtempSync(join(tmpdir(), 'vmcp-fetch-'));
    onEnd(() => rmSync(dir, { recursive: true }));
    const caFile = join(dir, 'ca.crt');
    writeFileSync(caFile, authority.cert);
    const guard = outbound({ caFile });
    const sealed = await serve(
      (req, res) => {
        if (req.url === '/back') res.writeHead(302, { location: `http://${req.headers.host ?? ''}/` }).end();
        else res.end(`${req.headers.authorization ?? 'nothing'}, ${String(req.headers['x-kept'])}, over TLS`);
      },
      { tls: authority.sign('IP:127.0.0.1') },
    );
    const origin = `https://127.0.0.1:${String(sealed.port)}`;
    const { port } = await serve(to(() => `${origin}/`));
    const request = { ...GET, ...follow, headers: { authorization: 'Bearer x', 'x-kept': 'kept' } };
    const reply = await guard.request({ ...request, url: `http://127.0.0.1:${String(port)}/` });
    expect(reply).toMatchObject({ body: 'nothing, kept, over TLS', url: `${origin}/` });
    await expect(guard.request({ ...request, url: `${origin}/back` })).rejects.toMatchObject({ kind: 'redirect' });
  });

  it('without a Location header are rejected, except 304', async () => {
    await expect(ask((_, res) => res.writeHead(302).end(), follow)).rejects.toMatchObject({ kind: 'redirect' });
    expect(await ask((_, res) => res.writeHead(304).end(), follow)).toMatchObject({ status: 304 });
  });
});
