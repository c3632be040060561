import { decodeJwt } from 'jose';
import { callWhoami, demand, logIn, sessionWith, startGateway, startWhoami, type Trial } from './trial.ts';

/** The gateway exchanges the token of the client for one for the backend. */
export async function exchange(trial: Trial): Promise<string> {
  const { provider } = trial;
  await startWhoami(trial);
  const vmcp = await startGateway(trial, 'exchange');
  const tokens = await logIn(trial, provider.login);
  const { token } = await callWhoami(await sessionWith(vmcp, tokens.access_token));
  demand(token !== undefined, 'the backend received no token');
  if (token === 'opaque' || token === undefined) return 'the server receives an opaque token';
  const audiences = [token.aud ?? []].flat();
  const wanted = provider.exchangedAudience ?? '';
  demand(audiences.includes(wanted), `the server receives a token for ${JSON.stringify(token.aud)}, not ${wanted}`);
  const subject = decodeJwt(tokens.access_token).sub;
  demand(token.sub === subject, `the server receives a token of ${String(token.sub)}, not of ${String(subject)}`);
  return `the server receives a token of the user with aud ${JSON.stringify(token.aud)}`;
}
