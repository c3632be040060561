import type { Configuration } from 'oidc-provider';
import { onTestFinished } from 'vitest';
import { freePort } from '../../../../e2e/harness/free-port.ts';
import { eventually } from '../../../../e2e/harness/poll.ts';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { HTTP_KINDS } from '../../../../e2e/harness/backends/http.ts';
import { hostBackend, type Handle } from '../../../../e2e/harness/backends/host.ts';
import { testScope } from '../../../../e2e/harness/scope.ts';
import { Browser } from '../../../authserver/upstream/testdata/browser.ts';
import { createOutbound } from '../../../outbound/fetch.ts';
import type { Cached, RemoteAuthConfig } from '../stored-record.ts';
import { openRemoteLogin } from '../open-remote-login.ts';
import type { RemoteLogin, RemoteLoginOptions, RemoteLoginState } from '../remote-login.ts';
import { startAuthorizationServer, type AuthorizationServer } from './authorization-server.ts';

/** MCP server of the SDK that accepts tokens of one authorization server. */
export interface Remote {
  readonly url: string;
  /** Accepts every request. */
  isOpen: boolean;
  /** Chooses tokens that get 401 besides those that the authorization server does not know. */
  rejects: (token: string) => boolean;
  /** Time before it answers a request that it accepts. */
  delayMs: number;
  /** `Authorization` headers of its requests. */
  readonly tokens: (string | undefined)[];
}

/** @param metadata false for a server without RFC 9728 metadata */
export async function startRemote(server: AuthorizationServer, { metadata = true } = {}): Promise<Remote> {
  const handle = HTTP_KINDS['sdk-1-stateless'].create('remote');
  const remote = { url: '', isOpen: false, tokens: [] as (string | undefined)[], rejects: (_: string) => false, delayMs: 0 };
  const guarded: Handle = async (req, res, body) => {
    const { origin } = new URL(remote.url);
    const document = `${origin}/.well-known/oauth-protected-resource/mcp`;
    if (req.url === new URL(document).pathname && metadata) {
      const text = JSON.stringify({ resource: remote.url, authorization_servers: [`${server.issuer}/`], scopes_supported: ['mcp:use'] }); // oxfmt-ignore
      res.writeHead(200, { 'content-type': 'application/json' }).end(text);
      return;
    }
    if (req.url !== '/mcp') {
      res.writeHead(404).end();
      return;
    }
    const { authorization } = req.headers;
    remote.tokens.push(authorization);
    const token = /^Bearer (.+)$/u.exec(authorization ?? '')?.[1] ?? '';
    const isAccepted = token !== '' && !remote.rejects(token) && (await server.accepts(token, remote.url));
    if (isAccepted) await new Promise((resolve) => setTimeout(resolve, remote.delayMs));
    if (isAccepted || remote.isOpen) await handle(req, res, body);
    else res.writeHead(401, { 'www-authenticate': `Bearer error="invalid_token"${metadata ? `, resource_metadata="${document}"` : ''}` }).end(); // oxfmt-ignore
  };
  const backend = await hostBackend(testScope(), '/mcp', guarded);
  remote.url = backend.url;
  return remote;
}

/** Clock and timers that a test moves. */
export function manualTime() {
  let ms = Date.now();
  let timers: { readonly at: number; readonly action: () => void }[] = [];
  return {
    now: () => ms,
    schedule: (delay: number, action: () => void) => {
      const timer = { at: ms + delay, action };
      timers.push(timer);
      return () => void (timers = timers.filter((one) => one !== timer));
    },
    /** Delays until the next timers, in ms. */
    pending: () => timers.map(({ at }) => at - ms).toSorted((one, other) => one - other),
    /** Drops all timers, as the end of the process does. */
    kill: () => void (timers = []),
    /** Moves the clock, and runs the timers that are due. */
    advance: (by: number) => {
      ms += by;
      const due = timers.filter(({ at }) => at <= ms);
      timers = timers.filter(({ at }) => at > ms);
      for (const { action } of due) action();
    },
  };
}

/** Secrets in a map; `isBroken` makes them fail. */
export function memorySecrets() {
  const values = new Map<string, string>();
  const state = { isBroken: false };
  const use = <Result>(act: () => Result): Promise<Result> =>
    state.isBroken ? Promise.reject(new Error('disk full')) : Promise.resolve(act());
  const secrets = {
    get: (name: string) => use(() => values.get(name)),
    set: (name: string, value: string) => use(() => void values.set(name, value)),
    delete: (name: string) => use(() => values.delete(name)),
  };
  return { values, state, secrets };
}

/** A workload with one remote server, that can be restarted. */
export function workload(remoteUrl: string, first: RemoteAuthConfig = {}, more: Partial<RemoteLoginOptions> = {}) {
  const { values, state, secrets } = memorySecrets();
  const time = manualTime();
  const states: RemoteLoginState[] = [];
  const logged: string[] = [];
  const user = new Map<string, string>();
  let config = first;
  const write = (message: string, fields?: object) => void logged.push(`${message} ${JSON.stringify(fields ?? {})}`);
  const onCached = async (cached: Cached) => {
    config = { ...Object.fromEntries(Object.entries(config).filter(([name]) => !name.startsWith('cached_'))), ...cached };
  };
  const open = async (change: Partial<RemoteLoginOptions> = {}): Promise<RemoteLogin> => {
    const login = await openRemoteLogin({
      ...{ name: 'tools', remoteUrl, config, secrets, onCached, outbound: createOutbound },
      ...{ now: time.now, schedule: time.schedule, onState: (next) => void states.push(next) },
      readSecret: (name) => Promise.resolve(user.get(name)),
      log: { error: write, warn: write, info: write, debug: write },
      ...more,
      ...change,
    });
    onTestFinished(() => login.close());
    return login;
  };
  return { open, secrets, values, broken: state, time, states, logged, user, config: () => config };
}

/** Logs in as a user does, and returns the status of the last page. */
export async function answer(url: string, user = 'ann', change: Readonly<Record<string, string>> = {}): Promise<number> {
  const redirectUri = new URL(url).searchParams.get('redirect_uri') ?? '';
  const redirect = await new Browser(redirectUri).login(url, user);
  for (const [name, value] of Object.entries(change)) redirect.searchParams.set(name, value);
  return (await fetch(redirect)).status;
}

/** Calls a tool of the remote server with the credential of the login, as the gateway does: with one retry after a 401. */
export async function toolNames(login: RemoteLogin, remoteUrl: string): Promise<readonly string[]> {
  const send = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const credential = await login.authenticator.headers(undefined);
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(credential)) headers.set(name, value);
    const response = await fetch(url, { ...init, headers });
    if (response.status !== 401 || !login.authenticator.refused(undefined, credential)) return response;
    return send(url, init);
  };
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(remoteUrl), { fetch: send }));
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name);
}

/** Logs in at the pending login attempt. */
export async function completeLogin(login: RemoteLogin, user = 'ann'): Promise<void> {
  const state = login.state();
  if (state.kind !== 'login_required') throw new Error(`no login attempt: ${JSON.stringify(state)}`);
  await answer(state.loginUrl, user);
  await eventually('it is logged in', () => login.state().kind === 'authenticated');
}

/** An authorization server, a remote server behind it, and a workload with a port of its own for redirects. */
export async function startWorkload(
  config: RemoteAuthConfig = {},
  { change = {}, metadata = true }: { readonly change?: Omit<Configuration, 'features'>; readonly metadata?: boolean } = {},
) {
  const server = await startAuthorizationServer(testScope(), change);
  const remote = await startRemote(server, { metadata });
  const port = config.callback_port ?? (await freePort());
  return { server, remote, port, ...workload(remote.url, { callback_port: port, ...config }) };
}

/** As `startWorkload`, with a completed login. */
export async function startLoggedIn(...settings: Parameters<typeof startWorkload>) {
  const started = await startWorkload(...settings);
  const login = await started.open();
  await completeLogin(login);
  return { ...started, login };
}
