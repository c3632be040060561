import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Scope } from '../../harness/scope.ts';

const PASSWORD = 'password';

/** Serves the pages that Hydra leaves to others: a login with a password, and consent to everything that is requested. */
export async function serveHydraPages(scope: Scope, port: number, admin: string): Promise<void> {
  const server = createServer((req, res) => {
    answer(req, admin).then(
      (page) => {
        if (page.startsWith('http')) res.writeHead(302, { location: page }).end();
        else res.writeHead(200, { 'content-type': 'text/html' }).end(page);
      },
      (error: unknown) => res.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
}

/** Returns a page, or the URL that follows. */
async function answer(req: IncomingMessage, admin: string): Promise<string> {
  const url = new URL(req.url ?? '/', 'http://127.0.0.1');
  const challenge = (kind: string): string => url.searchParams.get(`${kind}_challenge`) ?? '';
  if (url.pathname === '/consent') {
    const request = await call(`${admin}/consent?consent_challenge=${challenge('consent')}`);
    const granted = {
      grant_scope: request['requested_scope'],
      grant_access_token_audience: request['requested_access_token_audience'],
    };
    return accept(admin, 'consent', challenge('consent'), granted);
  }
  if (req.method !== 'POST')
    return '<form method="post"><input name="username"><input name="password" type="password"><button>Log in</button></form>';
  const form = new URLSearchParams(await text(req));
  if (form.get('password') !== PASSWORD) throw new Error('wrong password');
  return accept(admin, 'login', challenge('login'), { subject: form.get('username') });
}

async function accept(admin: string, kind: string, challenge: string, body: unknown): Promise<string> {
  const reply = await call(`${admin}/${kind}/accept?${kind}_challenge=${challenge}`, body);
  return String(reply['redirect_to']);
}

async function call(url: string, body?: unknown): Promise<Record<string, unknown>> {
  const init = body === undefined ? {} : { method: 'PUT', body: JSON.stringify(body) };
  const reply = await fetch(url, { ...init, headers: { 'content-type': 'application/json' } });
  if (!reply.ok) throw new Error(`${url} answered ${String(reply.status)}: ${await reply.text()}`);
  return (await reply.json()) as Record<string, unknown>;
}
