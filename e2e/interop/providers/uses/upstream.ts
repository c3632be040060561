import { OAuthClient } from '../../../scenarios/auth-server/oauth-client.ts';
import { browserOf, callWhoami, demand, sessionWith, startGateway, startWhoami, type Trial } from './trial.ts';

/** A login through the embedded authorization server: the backend receives the token of the provider, also after a refresh. */
export async function upstream(trial: Trial): Promise<string> {
  const { provider, place } = trial;
  await startWhoami(trial);
  const vmcp = await startGateway(trial, 'upstream');
  const client = await OAuthClient.register(vmcp.origin);
  const tokens = await client.login(browserOf(provider), {
    scope: 'openid profile offline_access',
    resource: vmcp.url,
  });
  const { token } = await callWhoami(await sessionWith(vmcp, tokens.access_token));
  demand(token !== undefined, 'the backend received no token');
  const isOfProvider = token === 'opaque' || token?.iss === place.at(provider.issuer);
  demand(isOfProvider, `the backend received a token of ${JSON.stringify(token)}`);
  const refreshed = await client.refresh(tokens.refresh_token ?? '');
  await callWhoami(await sessionWith(vmcp, refreshed.access_token));
  const form =
    token === 'opaque' || token === undefined ? 'an opaque token' : `a token with aud ${JSON.stringify(token.aud)}`;
  return `the server receives ${form} of the provider`;
}
