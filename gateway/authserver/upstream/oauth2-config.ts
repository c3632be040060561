import { Type, type Static } from 'typebox';
import { Closed } from '../../contract/fields.ts';
import { block, text } from '../../contract/optional.ts';
import type { Problem } from '../../contract/problem.ts';
import { reservedInQuery } from './authorization-params.ts';
import { pathFault } from './dot-path.ts';
import { commonConfig, commonProblems } from './provider-config.ts';
import { urlProblems } from './url-problems.ts';
import { userInfoConfig, userInfoProblems } from './userinfo-config.ts';

/** Of the configuration that the gateway reads. */
export const oauth2Config = Closed({
  authorization_endpoint: text('URL that the user is redirected to.'),
  token_endpoint: text('URL that gives tokens for codes.'),
  revocation_endpoint: text('URL that takes tokens back (RFC 7009).'),
  issuer: text('`iss` of the callbacks (RFC 9207); of the origin of one of the endpoints when absent.'),
  ...commonConfig,
  token_response_mapping: block('Dot paths into a token response that is not RFC 6749 §5.1.', {
    access_token_path: text('Path of the access token.'),
    expires_in_path: text('Path of the lifetime in seconds.'),
    refresh_token_path: text('Path of the refresh token.'),
    scope_path: text('Path of the granted scope.'),
  }),
  identity_from_token: block('Dot paths of the user’s identity in the token response.', {
    subject_path: text('Path of the subject.'),
    name_path: text('Path of the display name.'),
    email_path: text('Path of the e-mail address.'),
  }),
  userinfo: Type.Optional(userInfoConfig),
});

export type OAuth2Config = Static<typeof oauth2Config>;

const problem = (reason: string, path: string, message: string): Problem => ({ reason, path, message });

/** What the schema cannot say. */
export function oauth2Problems(given: OAuth2Config): Problem[] {
  const { token_response_mapping: mapping, identity_from_token: identity, userinfo } = given;
  const insecure = given.insecure_allow_http === true;
  return [
    ...endpointProblems(given, insecure),
    ...commonProblems(given),
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

function endpointProblems(given: OAuth2Config, insecure: boolean): Problem[] {
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
