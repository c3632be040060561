import { decodeJwt } from 'jose';
import * as oauth from 'oauth4webapi';
import { OAuthClient, INSECURE } from '../../../scenarios/auth-server/oauth-client.ts';
import { eventually } from '../../../harness/poll.ts';
import { demand, logIn, sessionWith, startGateway, type Trial } from './trial.ts';

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
/** Client and secret in `delegation.yaml` of each provider. */
const BATCH = { client_id: 'batch' };
const SECRET = 'the-secret-of-the-batch-client-01';

/** A delegate client exchanges a token of the provider at the gateway, and calls for its user. */
export async function delegation(trial: Trial): Promise<string> {
  const vmcp = await startGateway(trial, 'delegation');
  const tokens = await logIn(trial, trial.provider.login);
  const server = await OAuthClient.discover(vmcp.origin);
  const parameters = { subject_token: tokens.access_token, subject_token_type: ACCESS_TOKEN };
  const basic = oauth.ClientSecretBasic(SECRET);
  const reply = await oauth.genericTokenEndpointRequest(server, BATCH, basic, EXCHANGE, parameters, INSECURE);
  const { access_token: delegated } = await oauth.processGenericTokenEndpointResponse(server, BATCH, reply);
  const { act, client_id: client } = decodeJwt(delegated);
  demand(client === 'batch', `the token is of client ${String(client)}`);
  const session = await sessionWith(vmcp, delegated);
  await eventually('the tools are listed', async () => (await session.tools()).includes('everything_echo'));
  return `the token has act ${JSON.stringify(act)}`;
}
