import { json, openidProvider, raw, type ScriptedProvider } from '../../upstream/testdata/scripted-provider.ts';

/** Token response of the provider, with lifetimes in seconds. */
export interface ProviderGrant {
  readonly accessToken: string;
  readonly expiresIn?: number;
  /** Its `jti`. */
  readonly idToken?: string;
  readonly idTokenExpiresIn?: number;
}

export type RefreshAnswer = ProviderGrant | 'dead' | 'unavailable';

/** OpenID provider that accepts each refresh token once and rotates it. */
export interface RotatingProvider {
  readonly provider: ScriptedProvider;
  /** Creates a refresh token. Each use gets the next answer; the last one repeats. */
  refreshToken(answers: readonly RefreshAnswer[]): string;
  idToken(name: string, expiresInSeconds: number): string;
  /** Count of second uses of a refresh token. */
  replays(): number;
  /** Called while a refresh waits for its answer. */
  meanwhile: () => unknown;
}

/** Starts the provider and stops it after the test. @param now ms since the epoch, for lifetimes. */
export async function rotatingProvider(now: () => number): Promise<RotatingProvider> {
  const provider = await openidProvider();
  const live = new Map<string, RefreshAnswer[]>();
  let count = 0;
  let replays = 0;
  const refreshToken: RotatingProvider['refreshToken'] = (answers) => {
    const token = `refresh-token-${String(++count)}`;
    live.set(token, [...answers]);
    return token;
  };
  const idToken: RotatingProvider['idToken'] = (name, expiresInSeconds) =>
    provider.idToken({ jti: name, nonce: undefined, exp: Math.floor(now() / 1_000) + expiresInSeconds });
  const rotating: RotatingProvider = {
    provider,
    refreshToken,
    idToken,
    replays: () => replays,
    meanwhile: () => undefined,
  };
  provider.answers['openid-configuration'] = json({
    issuer: provider.issuer,
    authorization_endpoint: provider.url('authorize'),
    token_endpoint: provider.url('token'),
    revocation_endpoint: provider.url('revoke'),
    jwks_uri: provider.url('jwks'),
    id_token_signing_alg_values_supported: ['ES256'],
    token_endpoint_auth_methods_supported: ['none'],
  });
  provider.answers['revoke'] = raw(200, {});
  provider.answers['token'] = async (res, request) => {
    const presented = request.form.get('refresh_token') ?? '';
    const answers = live.get(presented);
    const answer = answers && (answers.length > 1 ? answers.shift() : answers[0]);
    if (!answers) replays += 1;
    if (typeof answer === 'object') live.delete(presented);
    await rotating.meanwhile();
    if (answer === 'unavailable') return raw(503, {})(res, request);
    if (!answers || !answer || answer === 'dead') return json({ error: 'invalid_grant' }, 400)(res, request);
    const id = answer.idToken !== undefined && idToken(answer.idToken, answer.idTokenExpiresIn ?? 3_600);
    return json({
      access_token: answer.accessToken,
      token_type: 'Bearer',
      ...(answer.expiresIn !== undefined && { expires_in: answer.expiresIn }),
      refresh_token: refreshToken(answers),
      ...(id !== false && { id_token: id }),
    })(res, request);
  };
  return rotating;
}
