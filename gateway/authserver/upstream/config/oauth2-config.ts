import type { Problem } from '../../../contract/problem.ts';
import type { OAuth2ProviderConfig } from '../../../contract/run-config/upstreams.ts';
import { reservedInQuery } from './additional-params.ts';
import { dcrProblems } from './dcr-config.ts';
import { pathFault } from '../protocol/dot-path.ts';
import { commonProblems } from './provider-config.ts';
import { urlProblems } from '../../../contract/url-problems.ts';
import { userInfoProblems } from './userinfo-config.ts';

const problem = (reason: string, path: string, message: string): Problem => ({ reason, path, message });

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
      ? [problem('MissingField', 'userinfo.endpoint_url', 'set userinfo.endpoint_url')]
      : []),
    ...(userinfo && identity
      ? [problem('InvalidValue', 'identity_from_token', 'set userinfo or identity_from_token, not both')]
      : []),
    ...(userinfo ? userInfoProblems(userinfo, insecure) : []).map((found) => ({
      ...found,
      path: `userinfo.${found.path}`,
    })),
  ];
}

function endpointProblems(given: OAuth2ProviderConfig, insecure: boolean): Problem[] {
  const { authorization_endpoint: authorization, revocation_endpoint: revocation } = given;
  const missing = (['authorization_endpoint', 'token_endpoint'] as const).filter((name) => given[name] === undefined);
  const urls = {
    authorization_endpoint: authorization,
    token_endpoint: given.token_endpoint,
    revocation_endpoint: revocation,
  };
  const twice = authorization === undefined ? undefined : reservedInQuery(authorization);
  return [
    ...missing.map((name) => problem('MissingField', name, `set ${name}`)),
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
    ...(paths[required] === undefined ? [problem('MissingField', `${at}.${required}`, `set ${at}.${required}`)] : []),
    ...Object.entries(paths).flatMap(([member, path]) => {
      const fault = pathFault(path);
      return fault === undefined ? [] : [problem('InvalidValue', `${at}.${member}`, `the path ${fault}`)];
    }),
  ];
}
