import { urlProblems } from '../../contract/addresses.ts';
import { checkOutboundUrl, type OutboundPolicy } from '../../outbound/policy.ts';
import { reservedInQuery } from './config/additional-params.ts';

type Members = Readonly<Record<string, unknown>>;

/** Returns the fault of the authorization endpoint, which a browser opens. */
export function authorizationFaultIn(
  { authorization_endpoint: endpoint }: Members,
  allowHttp: boolean,
): string | undefined {
  if (typeof endpoint !== 'string') return 'have no authorization_endpoint';
  const [problem] = urlProblems(endpoint, 'authorization_endpoint', allowHttp);
  if (problem) return `have an unusable authorization_endpoint: ${problem.message}`;
  const twice = reservedInQuery(endpoint);
  return twice === undefined ? undefined : `have an authorization_endpoint whose query contains ${twice}`;
}

/** Returns the fault of required endpoints, to which the gateway sends requests. */
export function endpointFaultIn(
  metadata: Members,
  names: readonly string[],
  policy: OutboundPolicy,
): string | undefined {
  for (const name of names) {
    const url = metadata[name];
    if (typeof url !== 'string') return `have no ${name}`;
    const refused = checkOutboundUrl(url, policy);
    if (refused) return `have an unusable ${name}: ${refused.message}`;
  }
  return undefined;
}

const LISTS = ['token_endpoint_auth_methods_supported', 'scopes_supported', 'code_challenge_methods_supported'];
const TEXTS = ['userinfo_endpoint', 'revocation_endpoint', 'registration_endpoint'];

/** Returns the fault of optional members, which openid-client does not check. */
export function shapeFaultIn(metadata: Members): string | undefined {
  const isText = (value: unknown): boolean => typeof value === 'string';
  const badList = LISTS.find((name) => {
    const value = metadata[name];
    return value !== undefined && !(Array.isArray(value) && value.every(isText));
  });
  if (badList !== undefined) return `have a ${badList} that is not a list of texts`;
  const badText = TEXTS.find((name) => metadata[name] !== undefined && !isText(metadata[name]));
  return badText === undefined ? undefined : `have a ${badText} that is not a text`;
}
