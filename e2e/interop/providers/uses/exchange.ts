import { decodeJwt } from 'jose';
import { eventually } from '../../../harness/poll.ts';
import {
  callWhoami,
  demand,
  logIn,
  sessionWith,
  startGateway,
  startWhoami,
  startWith,
  type Received,
  type Trial,
} from './trial.ts';

/** The gateway exchanges the token of the client for one for the backend. */
export async function exchange(trial: Trial): Promise<string> {
  const { provider } = trial;
  await startWhoami(trial);
  const vmcp = await startGateway(trial, 'exchange');
  const tokens = await logIn(trial, provider.login);
  const { token } = await callWhoami(await sessionWith(vmcp, tokens.access_token));
  await vmcp.stop();
  const mistake = await saysMistake(trial, tokens.access_token);
  return `${received(trial, token, tokens.access_token)}${mistake}`;
}

/** @throws Error when the backend has received another token than one of the user for it */
function received({ provider }: Trial, token: Received['token'], presented: string): string {
  demand(token !== undefined, 'the backend received no token');
  if (token === 'opaque' || token === undefined) return 'the server receives an opaque token';
  const audiences = [token.aud ?? []].flat();
  const wanted = provider.exchangedAudience ?? '';
  demand(audiences.includes(wanted), `the server receives a token for ${JSON.stringify(token.aud)}, not ${wanted}`);
  const subject = decodeJwt(presented).sub;
  const isExpected = token.sub === subject || provider.exchangedSubject === 'other';
  demand(isExpected, `the server receives a token of ${String(token.sub)}, not of ${String(subject)}`);
  return `the server receives a token of the user with aud ${JSON.stringify(token.aud)}`;
}

/** Makes the mistake of the provider's page: the log must have the provider's reason, and the call must not ask for a login. */
async function saysMistake(trial: Trial, accessToken: string): Promise<string> {
  const { exchangeMistake: mistake } = trial.provider;
  if (mistake === undefined) return '';
  const text = (await trial.place.file('exchange.yaml')).replace(mistake.correct, mistake.wrong);
  const vmcp = await startWith(trial, text, 'exchange-mistake');
  const session = await sessionWith(vmcp, accessToken);
  const { status } = await session.call('orders_whoami');
  demand(status !== 401, `with "${mistake.wrong}" the gateway asks for a login`);
  const hasReason = (): boolean => vmcp.output().includes(mistake.says);
  await eventually(`the log says "${mistake.says}" for "${mistake.wrong}"`, hasReason, { timeoutMs: 10_000 });
  return `; the log has the reason of "${mistake.wrong}"`;
}
