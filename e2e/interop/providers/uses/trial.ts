import { spawn } from 'node:child_process';
import { join } from 'node:path';
import * as oauth from 'oauth4webapi';
import { CookieJar } from '../../../harness/browser/cookie-jar.ts';
import { ScriptedBrowser } from '../../../harness/browser/scripted-browser.ts';
import { openSession, textOf, type RawSession } from '../../../harness/clients/raw.ts';
import { eventually } from '../../../harness/poll.ts';
import type { Scope } from '../../../harness/scope.ts';
import { root, startVmcp, temporaryFolder, vmcpResult, writeFiles, type Vmcp } from '../../../harness/vmcp.ts';
import { OAuthClient } from '../../../scenarios/auth-server/oauth-client.ts';
import { keepLog, registryEnvironment, type Lab } from '../../lab.ts';
import type { Place, Provider, ProviderLogin, Use } from '../provider.ts';

/** A use of a running provider. */
export interface Trial {
  readonly lab: Lab;
  readonly provider: Provider;
  readonly place: Place;
  /** Ports of the gateway and of the backend. */
  readonly gateway: number;
  readonly backend: number;
  readonly scope: Scope;
}

/** Starts `vmcp up` with the file of a use, after `vmcp validate --online` has found no problem in it. */
export async function startGateway(trial: Trial, use: Use): Promise<Vmcp> {
  const text = await trial.place.file(`${use}.yaml`);
  const cwd = await temporaryFolder(trial.scope);
  await writeFiles(cwd, { [`${use}.yaml`]: text });
  const options = { cwd, env: registryEnvironment() };
  const { code, output } = await vmcpResult(trial.scope, ['validate', '--online', `${use}.yaml`], options);
  demand(code === 0, `vmcp validate --online: ${output}`);
  return startWith(trial, text, use);
}

/** Starts `vmcp up` with resources, and keeps its log as `<provider>-<name>.log`. */
export async function startWith({ scope, gateway, provider }: Trial, text: string, name: string): Promise<Vmcp> {
  const vmcp = await startVmcp(scope, { files: { 'gateway.yaml': text }, port: gateway });
  scope.defer(() => keepLog(`${provider.name}-${name}`, vmcp.output()));
  return vmcp;
}

/** Starts the server of the docs that returns the credential that it received. */
export async function startWhoami({ scope, backend }: Trial): Promise<void> {
  const program = join(root, 'examples', 'backends', 'whoami.ts');
  const child = spawn(process.execPath, [program, '--port', String(backend)], { stdio: 'ignore' });
  scope.defer(() => child.kill('SIGKILL'));
  const url = `http://127.0.0.1:${String(backend)}/mcp`;
  await eventually('the backend listens', async () => (await fetch(url)).status > 0);
}

/** Returns a browser of the provider's user. */
export const browserOf = ({ user: { name, password } }: Provider): ScriptedBrowser =>
  new ScriptedBrowser({ user: name, password, cookies: new CookieJar({ isLoopbackSecure: true }) });

/** Returns an MCP client that the provider knows. */
async function clientOf({ provider, place }: Trial, { clientId, clientSecret }: ProviderLogin): Promise<OAuthClient> {
  const server = await OAuthClient.discover(place.at(provider.issuer), 'oidc');
  const authentication = clientSecret === undefined ? oauth.None() : oauth.ClientSecretBasic(clientSecret);
  return new OAuthClient(server, { client_id: clientId }, authentication);
}

/** Logs in at the provider as an MCP client does. */
export async function logIn(trial: Trial, login: ProviderLogin): Promise<oauth.TokenEndpointResponse> {
  const { scope, sendsResource = false } = login;
  const client = await clientOf(trial, login);
  const resource = `http://127.0.0.1:${String(trial.gateway)}/mcp`;
  return client.login(browserOf(trial.provider), { scope, ...(sendsResource && { resource }) });
}

/** Refreshes the tokens of a login at the provider. */
export async function refresh(trial: Trial, login: ProviderLogin, token: string): Promise<oauth.TokenEndpointResponse> {
  return (await clientOf(trial, login)).refresh(token);
}

/** Opens an MCP session with a bearer token. @throws Error with the reason in the log of a gateway that refuses it */
export async function sessionWith({ url, output }: Vmcp, token: string): Promise<RawSession> {
  try {
    return await openSession(url, undefined, { authorization: `Bearer ${token}` });
  } catch (error) {
    const reason = /"message":"bearer token refused".*"reason":"([^"]+)"/u.exec(output())?.[1];
    if (reason === undefined) throw error;
    throw new Error(`the gateway refuses the access token with the reason "${reason}"`, { cause: error });
  }
}

/** Returns the HTTP status of `initialize` with a bearer token, or without one. */
export async function statusWith({ url }: Vmcp, token?: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'interop', version: '1' } };
  return fetch(url, {
    method: 'POST',
    headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
}

/** Credential that the backend of the docs has received. */
export interface Received {
  readonly token?:
    | 'opaque'
    | { readonly iss?: string; readonly sub?: string; readonly aud?: string | readonly string[] };
}

/** Calls the backend until its tools are listed. @throws Error with the text of the last answer */
export async function callWhoami(session: RawSession): Promise<Received> {
  const ask = async (): Promise<Received> => {
    const reply = await session.call('orders_whoami');
    const text = textOf(reply);
    if (reply.result === undefined || reply.result['isError'] === true) throw new Error(text);
    return JSON.parse(text) as Received;
  };
  return eventually('the call returns the credential of the backend', ask, { timeoutMs: 15_000, intervalMs: 500 });
}

/** @throws Error with `message` when `condition` is false */
export function demand(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}
