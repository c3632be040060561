import { randomBytes } from 'node:crypto';
import type { ServerMetadata } from 'openid-client';
import { readCode, exactIssuer, issuerOfOrigin } from '../../authserver/upstream/callback.ts';
import { parameterProblems } from '../../authserver/upstream/config/additional-params.ts';
import type { UpstreamGrant } from '../../authserver/upstream/upstream.ts';
import { durationMs } from '../../contract/fields.ts';
import type { Outbound } from '../../outbound/fetch.ts';
import { type LoginClient, tokenClient } from './client/clients.ts';
import type { Discovered } from './discovery/discovery.ts';
import { RemoteLoginError } from './remote-login-error.ts';
import { given, type RemoteAuthConfig } from './stored-record.ts';
import { LONGEST_TIMER_MS } from '../../kit/time.ts';

/** A login that waits for the user. */
export interface RemoteLoginAttempt {
  /** Authorization URL for the browser of the user. */
  readonly url: string;
  /** Resolves with the tokens; with undefined after `close`. Rejects with `RemoteLoginError` and `UpstreamError`. */
  readonly grant: Promise<UpstreamGrant | undefined>;
  close(): void;
}

export interface AttemptOptions {
  readonly config: RemoteAuthConfig;
  readonly discovered: Discovered;
  readonly client: LoginClient;
  readonly outbound: Outbound;
  /** ms since the epoch. */
  readonly now: () => number;
}

const DEFAULT_TIMEOUT = '5m';

/** Starts the code flow with PKCE. Closes the listener of the client at the end. @see RFC 6749 §4.1, RFC 7636 */
export async function startAttempt(options: AttemptOptions): Promise<RemoteLoginAttempt> {
  const { config, discovered, client: loginClient, outbound, now } = options;
  const { listener, redirectUri } = loginClient;
  const { metadata, resource } = discovered;
  try {
    const usesPkce = config.use_pkce !== false;
    if (usesPkce) checkPkce(metadata);
    const { client, provider } = tokenClient(loginClient, { metadata, outbound }, { redirectUri, resource, now });
    const secrets = { state: random(), redirectUri, ...(usesPkce && { codeVerifier: random() }) };
    const url = await client.authorizationUrl(provider, secrets, parametersOf(options));
    const receive = async (): Promise<UpstreamGrant | undefined> => {
      const answer = await answerOf(
        loginClient,
        secrets.state,
        given(config.timeout) ?? DEFAULT_TIMEOUT,
        () => isClosed,
      );
      if (!answer) return undefined;
      const code = codeIn(answer, config, metadata);
      return (await client.exchange(provider, code, secrets)).grant;
    };
    let isClosed = false;
    const close = (): void => {
      isClosed = true;
      listener.close();
    };
    return { url, grant: receive().finally(close), close };
  } catch (error) {
    listener.close();
    throw error;
  }
}

/** Returns the parameters of the redirect; undefined when the attempt was closed. */
async function answerOf({ listener }: LoginClient, state: string, timeout: string, isClosed: () => boolean) {
  const answer = await listener.receive(state, Math.min(durationMs(timeout), LONGEST_TIMER_MS));
  if (!answer && !isClosed()) throw new RemoteLoginError(`nobody logged in within ${timeout}: start the login again`);
  return answer;
}

/** Checks `iss` (RFC 9207) and returns the code. Throws `UpstreamError`. */
function codeIn(answer: URLSearchParams, config: RemoteAuthConfig, metadata: ServerMetadata): string {
  const { authorization_response_iss_parameter_supported: isPromised, issuer } = metadata;
  const hasOwnEndpoints = given(config.authorize_url) !== undefined && given(config.token_url) !== undefined;
  const isGuessed = hasOwnEndpoints && given(config.issuer) === undefined;
  const rule = isGuessed
    ? issuerOfOrigin(config.authorize_url ?? '', config.token_url ?? '')
    : exactIssuer(issuer, isPromised === true);
  const parameter = (name: string): string | undefined => answer.get(name) ?? undefined;
  return readCode({ code: parameter('code'), iss: parameter('iss'), error: parameter('error') }, rule);
}

function parametersOf({ config, discovered: { resource, scopes } }: AttemptOptions): Record<string, string> {
  const { oauth_params: additional = {}, scope_param_name } = config;
  const [problem] = parameterProblems({ additional_authorization_params: additional });
  if (problem) {
    const path = problem.path.replace('additional_authorization_params', 'oauth_params');
    throw new RemoteLoginError(`${path}: ${problem.message}`);
  }
  return {
    ...(scopes.includes('offline_access') && { prompt: 'consent' }), // OpenID Connect Core §11
    ...additional,
    ...(scopes.length > 0 && { [given(scope_param_name) ?? 'scope']: scopes.join(' ') }),
    ...(resource !== undefined && { resource }),
  };
}

function checkPkce({ code_challenge_methods_supported: methods, issuer }: ServerMetadata): void {
  if (methods === undefined || methods.includes('S256')) return;
  throw new RemoteLoginError(`${issuer} does not support PKCE with S256: set use_pkce to false if it must be used`);
}

const random = (): string => randomBytes(32).toString('base64url');
