import type { Problem } from '../../contract/problem.ts';
import { rule, type Rule } from '../../contract/rule.ts';

/** Parameters of an authorization request that the gateway sets itself, or that change what it asks for. */
const RESERVED: readonly string[] = [
  'client_id',
  'client_secret',
  'code',
  'code_challenge',
  'code_challenge_method',
  'code_verifier',
  'grant_type',
  'nonce',
  'redirect_uri',
  'refresh_token',
  'request',
  'request_uri',
  'response_mode',
  'response_type',
  'scope',
  'state',
];

const MAX_PARAMETERS = 16;
const MAX_LENGTH = 2048;

/** `additionalAuthorizationParams` of a resource. */
export const reservedParameters = (): Rule =>
  rule<Record<string, string>>('additionalAuthorizationParams', {
    rule: `!self.exists(p, p in [${RESERVED.map((name) => `'${name}'`).join(', ')}])`,
    message: 'parameters that the gateway sets itself cannot be overridden',
    check: (self) => !Object.keys(self).some((name) => RESERVED.includes(name)),
  });

/** `additional_authorization_params` of a configuration. */
export function parameterProblems(parameters: Readonly<Record<string, string>>): Problem[] {
  const at = 'additional_authorization_params';
  const problem = (path: string, message: string): Problem => ({ reason: 'InvalidValue', path, message });
  const names = Object.keys(parameters);
  return [
    ...(names.length > MAX_PARAMETERS ? [problem(at, `give at most ${String(MAX_PARAMETERS)} parameters`)] : []),
    ...names
      .filter((name) => RESERVED.includes(name))
      .map((name) => problem(`${at}.${name}`, 'the gateway sets this parameter itself: remove it')),
    ...names
      .filter((name) => name === '' || name.length + (parameters[name] ?? '').length > MAX_LENGTH)
      .map((name) => problem(`${at}.${name}`, `a parameter has a name, and at most ${String(MAX_LENGTH)} characters`)),
  ];
}

/** A parameter of ours that the query of an authorization endpoint holds already: providers would get it twice. */
export const reservedInQuery = (endpoint: string): string | undefined =>
  [...(URL.parse(endpoint)?.searchParams.keys() ?? [])].find((name) => RESERVED.includes(name));

/** `prompt` of OpenID Connect Core §3.1.2.1: a set of words, of which `none` stands alone. */
export function withLoginPrompt(parameters: Readonly<Record<string, string>>): Record<string, string> {
  const words = (parameters['prompt'] ?? '').split(' ').filter((word) => word !== '' && word !== 'none');
  return { ...parameters, prompt: [...new Set(['login', ...words])].join(' ') };
}
