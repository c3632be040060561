import { decodeJwt } from 'jose';
import { eventually } from '../../../harness/poll.ts';
import type { Vmcp } from '../../../harness/vmcp.ts';
import { demand, logIn, refresh, sessionWith, startGateway, statusWith, type Trial } from './trial.ts';

/** Tokens of the provider at the gateway: the challenge, a login, calls, and tokens that must be refused. */
export async function incoming(trial: Trial): Promise<string> {
  const { provider, place } = trial;
  const vmcp = await startGateway(trial, 'incoming');
  await challenge(vmcp, place.at(provider.issuer));
  const tokens = await logIn(trial, provider.login);
  const session = await sessionWith(vmcp, tokens.access_token);
  await eventually('the tools are listed', async () => (await session.tools()).includes('everything_echo'));
  const kinds = ['id_token', 'refresh_token'] as const;
  const refused = kinds.filter((kind) => tokens[kind] !== undefined);
  for (const kind of refused) await refuses(vmcp, String(tokens[kind]), `the ${kind.replace('_', ' ')}`);
  if (provider.otherLogin !== undefined) {
    const other = await logIn(trial, provider.otherLogin);
    await refuses(vmcp, other.access_token, 'a token for another audience');
  }
  const also = [...refused.map((kind) => kind.replace('_', ' ')), ...(provider.otherLogin ? ['other audience'] : [])];
  if (tokens.refresh_token !== undefined && !provider.lacksRefresh)
    also.push(...(await refreshed(trial, vmcp, tokens.refresh_token)));
  const accepted = await alike(trial, vmcp, tokens.access_token);
  return `${formOf(tokens.access_token)}; refuses: no token${also.map((item) => `, ${item}`).join('')}${accepted}`;
}

/** Presents the tokens of a refresh: the gateway accepts the access token only. Returns the names of those that it refuses. */
async function refreshed(trial: Trial, vmcp: Vmcp, refreshToken: string): Promise<string[]> {
  const { access_token: accessToken, id_token: idToken } = await refresh(trial, trial.provider.login, refreshToken);
  await sessionWith(vmcp, accessToken);
  if (idToken === undefined) return [];
  const what = 'id token of a refresh';
  await refuses(vmcp, idToken, `the ${what}`);
  return [what];
}

/** Presents an ID token that nothing tells from an access token. */
async function alike({ provider, place }: Trial, vmcp: Vmcp, accessToken: string): Promise<string> {
  const token = await provider.alikeIdToken?.(place, accessToken);
  if (token === undefined) return '';
  const { status } = await statusWith(vmcp, token);
  demand(
    status === 200,
    `an ID token like an access token gets HTTP ${String(status)}: the page says that it is accepted`,
  );
  return '; accepts, as nothing tells them apart: id token of an exchange';
}

const formOf = (token: string): string => {
  try {
    const { aud } = decodeJwt(token);
    return `JWT with aud ${JSON.stringify(aud)}`;
  } catch {
    return 'opaque token, introspected';
  }
};

/** Follows the challenge to the metadata, which must name the issuer. */
async function challenge(vmcp: Vmcp, issuer: string): Promise<void> {
  const { status, headers } = await statusWith(vmcp);
  const [, metadata = ''] = /resource_metadata="([^"]+)"/u.exec(headers.get('www-authenticate') ?? '') ?? [];
  demand(status === 401 && metadata !== '', `no challenge: HTTP ${String(status)}`);
  const document = (await (await fetch(metadata)).json()) as { authorization_servers?: string[] };
  demand(document.authorization_servers?.[0] === issuer, `the metadata name ${String(document.authorization_servers)}`);
}

async function refuses(vmcp: Vmcp, token: string, what: string): Promise<void> {
  const { status } = await statusWith(vmcp, token);
  demand(status === 401, `${what} of the provider gets HTTP ${String(status)}, not 401`);
}
