import { below, invalid, missing, problem, type Problem } from '../../../contract/problem.ts';
import type { OAuth2ProviderConfig } from '../../../contract/run-config/upstreams.ts';
import { reservedInQuery } from './additional-params.ts';
import { dcrProblems } from './dcr.ts';
import { dotPathFault } from '../protocol/token-reply.ts';
import { commonProblems } from './provider-config.ts';
import { urlProblems } from '../../../contract/url-problems.ts';
import { userInfoProblems } from './userinfo-config.ts';

/** Lists the problems that the schema cannot express. */
export function oauth2Problems(given: OAuth2ProviderConfig): Problem[] {
  const { token_response_mapping: mapping, identity_from_token: identity, userinfo } = given;
  const insecure = given.insecure_allow_http === true;
  return [
    ...endpointProblems(given, insecure),
    ...commonProblems(given, given.dcr_config !== undefined),
    ...dcrProblems(given, false),
    ...pathProblems('token_response_mapping', mapping, 'access_token_path'),
    ...pathProblems('identity_from_token', identity, 'subject_path'),
    ...(userinfo && userinfo.endpoint_url === undefined
      ? [missing('userinfo.endpoint_url', 'set userinfo.endpoint_url')]
      : []),
    ...(userinfo && identity ? [invalid('identity_from_token', 'set userinfo or identity_from_token, not both')] : []),
    ...below('userinfo', userinfo ? userInfoProblems(userinfo, insecure) : []),
  ];
}

function endpointProblems(given: OAuth2ProviderConfig, insecure: boolean): Problem[] {
  const { authorization_endpoint: authorization, revocation_endpoint: revocation } = given;
  const absent = (['authorization_endpoint', 'token_endpoint'] as const).filter((name) => given[name] === undefined);
  const urls = {
    authorization_endpoint: authorization,
    token_endpoint: given.token_endpoint,
    revocation_endpoint: revocation,
  };
  const twice = authorization === undefined ? undefined : reservedInQuery(authorization);
  return [
    ...absent.map((name) => missing(name, `set ${name}`)),
    ...Object.entries(urls).flatMap(([path, url]) => (url === undefined ? [] : urlProblems(url, path, insecure))),
    ...(twice === undefined
      ? []
      : [
          problem('InvalidUrl', 'authorization_endpoint', `the gateway sets ${twice} itself: remove it from the query`),
        ]),
  ];
}

function pathProblems(at: string, paths: Readonly<Record<string, string>> | undefined, required: string): Problem[] {
  if (!paths) return [];
  return [
    ...(paths[required] === undefined ? [missing(`${at}.${required}`, `set ${at}.${required}`)] : []),
    ...Object.entries(paths).flatMap(([member, path]) => {
      const fault = dotPathFault(path);
      return fault === undefined ? [] : [invalid(`${at}.${member}`, `the path ${fault}`)];
    }),
  ];
}
