import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { FormPost } from '../outgoing/authenticator.ts';
import { createFormPoster } from './form-poster.ts';
import { onEnd, resolver, serve } from './testdata/servers.ts';

const poster = (lookup = resolver(['127.0.0.1'])): ReturnType<typeof createFormPoster> => {
  const made = createFormPoster(undefined, { lookup });
  onEnd(() => made.close());
  return made;
};

const form = (url: string, more: Partial<FormPost> = {}): FormPost => ({
  url,
  form: { grant_type: 'urn:a:b', scope: 'a b&c=d' },
  headers: { authorization: 'Basic eA==' },
  allowPrivateIPs: false,
  insecureAllowHTTP: false,
  timeoutMs: 2_000,
  maxReplyBytes: 1_000,
  ...more,
});

describe('createFormPoster', () => {
  it('posts a form and returns the reply', async () => {
    const seen: [IncomingHttpHeaders, string][] = [];
    const onRequest: RequestListener = (req, res) => {
      void text(req).then((body) => {
        seen.push([req.headers, body]);
        res.writeHead(400, { 'content-type': 'application/json;charset=UTF-8' }).end('{"error":"invalid_grant"}');
      });
    };
    const { port, connections } = await serve(onRequest);
    const post = poster();
    const reply = { status: 400, contentType: 'application/json', body: '{"error":"invalid_grant"}' };
    expect(await post(form(`http://127.0.0.1:${String(port)}/token`))).toEqual(reply);
    expect(await post(form(`http://127.0.0.1:${String(port)}/token`))).toEqual(reply);
    expect(connections()).toBeLessThanOrEqual(2);
    const [headers, body] = seen[0] ?? [];
    expect(headers).toMatchObject({
      authorization: 'Basic eA==',
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(body).toBe('grant_type=urn%3Aa%3Ab&scope=a+b%26c%3Dd');
  });

  it('does not follow a redirect with the form', async () => {
    const other = await serve((_, res) => res.end());
    const { port } = await serve((_, res) => {
      res.writeHead(307, { location: `http://127.0.0.1:${String(other.port)}/` }).end();
    });
    expect(await poster()(form(`http://127.0.0.1:${String(port)}/`))).toMatchObject({ status: 307 });
    expect(other.connections()).toBe(0);
  });

  it('applies the flags of a request to that request only', async () => {
    const { port, connections } = await serve((_, res) => res.end());
    const post = poster();
    const url = `http://127.0.0.1:${String(port)}/`;
    expect(await post(form(url, { allowPrivateIPs: true, insecureAllowHTTP: true }))).toMatchObject({ status: 200 });
    const inside = `http://token.example:${String(port)}/`;
    await expect(post(form(inside, { insecureAllowHTTP: true }))).rejects.toMatchObject({ kind: 'refused' });
    await expect(post(form(inside))).rejects.toMatchObject({ kind: 'refused' });
    await expect(post(form('https://10.0.0.1/'))).rejects.toMatchObject({ kind: 'refused' });
    expect(connections()).toBe(1);
  });

  it('limits the size and the time of the reply', async () => {
    const { port } = await serve((_, res) => res.end('a'.repeat(1_001)));
    const url = `http://127.0.0.1:${String(port)}/`;
    await expect(poster()(form(url))).rejects.toMatchObject({ kind: 'too_large' });
    const silent = await serve(() => undefined);
    const slow = form(`http://127.0.0.1:${String(silent.port)}/`, { timeoutMs: 200 });
    await expect(poster()(slow)).rejects.toMatchObject({ kind: 'timeout' });
  });
});
