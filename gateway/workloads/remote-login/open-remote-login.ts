import { OAuthLogin } from './oauth-login.ts';
import { asRemoteLoginError, RemoteLoginError } from './remote-login-error.ts';
import { given, type RemoteAuthConfig } from './stored-record.ts';
import type { RemoteLogin, RemoteLoginOptions, RemoteLoginState } from './remote-login.ts';
import { configuredSecret, StaticToken } from './static-token.ts';

/**
 * Restores the stored login, or finds out whether the remote server requires one and starts it. Resolves when the state
 * is known: a login attempt may still wait for the user. Rejects with `RemoteLoginError`.
 */
export async function openRemoteLogin(options: RemoteLoginOptions): Promise<RemoteLogin> {
  if (hasStaticToken(options.config)) return openStatic(options);
  const login = new OAuthLogin(options);
  try {
    await login.open();
    return login;
  } catch (error) {
    await login.close();
    throw asRemoteLoginError(error);
  }
}

const hasStaticToken = ({ bearer_token, bearer_token_file }: RemoteAuthConfig): boolean =>
  given(bearer_token) !== undefined || given(bearer_token_file) !== undefined;

const REJECTED = 'the remote server rejects the bearer token: correct its secret';

async function openStatic({ config, readSecret, now, onState }: RemoteLoginOptions): Promise<RemoteLogin> {
  const read = async (): Promise<string> => (await configuredSecret(config, 'bearer_token', readSecret)) ?? '';
  let state: RemoteLoginState = { kind: 'authenticated' };
  await read();
  const authenticator = new StaticToken(read, now, (isAccepted) => {
    state = isAccepted ? { kind: 'authenticated' } : { kind: 'unauthenticated', reason: REJECTED };
    onState(state);
  });
  return {
    authenticator,
    state: () => state,
    logIn: () => Promise.reject(new RemoteLoginError('bearer_token is configured: there is no login')),
    close: () => Promise.resolve(),
  };
}
