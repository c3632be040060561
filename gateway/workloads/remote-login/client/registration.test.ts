import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { completeLogin, startWorkload, toolNames } from '../testdata/remote.ts';

const HOUR = 3_600_000;

type Started = Awaited<ReturnType<typeof startWorkload>>;

/** Changes the JSON that the authorization server answers to one method and path. */
function rewrite({ server }: Pick<Started, 'server'>, line: RegExp, change: object): void {
  server.intercept = (req, res) => {
    if (line.test(`${req.method ?? ''} ${req.url ?? ''}`)) patch(res, change);
    return false;
  };
}

function patch(res: ServerResponse, change: object): void {
  const end = res.end.bind(res) as (body: string) => ServerResponse;
  res.end = ((body: unknown) => {
    const text = JSON.stringify({ ...(JSON.parse(String(body)) as object), ...change });
    res.setHeader('content-length', Buffer.byteLength(text));
    return end(text);
  }) as ServerResponse['end'];
}

const recordOf = ({ values }: Pick<Started, 'values'>) =>
  JSON.parse(values.get('tools_client') ?? '{}') as Record<string, string>;

/** An authorization server at which clients need a secret, which expires in an hour. */
async function withSecret() {
  const started = await startWorkload({}, { change: { clientAuthMethods: ['client_secret_basic'] } });
  const client_secret_expires_at = Math.floor((started.time.now() + HOUR) / 1_000);
  rewrite(started, /^POST \/reg$/u, { client_secret_expires_at });
  return started;
}

const updates = ({ server }: Pick<Started, 'server'>) =>
  server.seen.filter((line) => line.startsWith('PUT /reg/')).length;

describe('the secret of a registered client', () => {
  it('is renewed before it expires, with the new registration token (RFC 7592)', async () => {
    const started = await withSecret();
    const { open, config, time, remote } = started;
    rewriteBoth(started);
    const login = await open();
    expect(updates(started)).toBe(1);
    const first = recordOf(started);
    expect(config()).toMatchObject({ cached_client_secret_ref: 'tools_client', cached_reg_token_ref: 'tools_client' });
    await completeLogin(login);
    time.advance(25 * HOUR);
    expect(await toolNames(login, remote.url)).toContain('echo');
    expect(updates(started)).toBe(2);
    expect(recordOf(started)['registration_token']).not.toBe(first['registration_token']);
    expect(recordOf(started)['client_id']).toBe(first['client_id']);
    for (const secret of [first['client_secret'], first['registration_token']])
      expect(JSON.stringify([started.logged, config()])).not.toContain(secret);
  });

  /** Registration and renewal return secrets that expire. */
  function rewriteBoth(started: Started): void {
    const expires = (hours: number) => ({
      client_secret_expires_at: Math.floor((started.time.now() + hours * HOUR) / 1_000),
    });
    started.server.intercept = (req, res) => {
      if (req.method === 'POST' && req.url === '/reg') patch(res, expires(1));
      if (req.method === 'PUT') patch(res, expires(48));
      return false;
    };
  }

  it('stays in use when the renewal fails', async () => {
    const started = await withSecret();
    const { open, server, remote, logged } = started;
    const register = server.intercept;
    server.intercept = (req, res) => {
      if (req.method !== 'PUT') return register?.(req, res) ?? false;
      res.writeHead(500).end();
      return true;
    };
    const login = await open();
    await completeLogin(login);
    expect(await toolNames(login, remote.url)).toContain('echo');
    expect(logged.join()).toContain('the client secret is not renewed by the authorization server');
  });
});

describe('a registration', () => {
  it('is not made when the server supports client metadata documents', async () => {
    const started = await startWorkload();
    rewrite(started, /well-known/u, { client_id_metadata_document_supported: true });
    const clientMetadataUrl = 'https://vmcp.example.com/client.json';
    const login = await started.open({ clientMetadataUrl });
    const url = new URL((login.state() as { loginUrl: string }).loginUrl);
    expect(url.searchParams.get('client_id')).toBe(clientMetadataUrl);
    expect(started.server.seen).not.toContain('POST /reg');
  });

  it.each([
    [{ registration_endpoint: undefined }, 'offers no registration of clients: register vmcp there by hand'],
    [{ token_endpoint_auth_methods_supported: ['private_key_jwt'] }, 'supports no usable client authentication'],
    [{ registration_endpoint: 'http://10.0.0.1/reg' }, 'the registration failed: "10.0.0.1" is a private address'],
    [{ token_endpoint: 'http://169.254.169.254/token' }, 'have an unusable token_endpoint'],
    [{ authorization_endpoint: 'javascript:alert(1)' }, 'have an unusable authorization_endpoint'],
    [{ code_challenge_methods_supported: ['plain'] }, 'does not support PKCE with S256'],
    [{ issuer: 'https://evil.example' }, 'have another issuer'],
  ])('fails for metadata with %o', async (change, message) => {
    const started = await startWorkload();
    rewrite(started, /well-known/u, change);
    await expect(started.open()).rejects.toMatchObject({
      isTemporary: false,
      message: expect.stringContaining(message),
    });
  });

  it('fails with the error code of the server', async () => {
    const { open, server } = await startWorkload();
    server.intercept = (req, res) => {
      if (req.url !== '/reg') return false;
      res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_redirect_uri","error_description":"secret text"}'); // oxfmt-ignore
      return true;
    };
    await expect(open()).rejects.toThrow('the registration was rejected with status 400 (invalid_redirect_uri)');
  });
});
