import type { Problem } from '../../../contract/problem.ts';
import { rule, type Rule } from '../../../contract/rule.ts';

/** Parameters of an authorization request that the gateway sets itself, or that change what it asks for. */
const AUTHORIZATION: readonly string[] = [
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

/** Parameters of a token request that the gateway sets itself, or that say who asks. */
const TOKEN: readonly string[] = [
  'assertion',
  'client_assertion',
  'client_assertion_type',
  'client_id',
  'client_secret',
  'code',
  'code_verifier',
  'grant_type',
  'redirect_uri',
  'refresh_token',
  'scope',
];

const MAX_PARAMETERS = 16;
const MAX_LENGTH = 2048;

const reservedRule = (member: string, reserved: readonly string[]): Rule =>
  rule<Record<string, string>>(member, {
    rule: `!self.exists(p, p in [${reserved.map((name) => `'${name}'`).join(', ')}])`,
    message: `the gateway sets these itself: remove ${reserved.join(', ')}`,
    check: (self) => !Object.keys(self).some((name) => reserved.includes(name)),
  });

/** For the parameters that a resource adds to requests. */
export const parameterRules: readonly Rule[] = [
  reservedRule('additionalAuthorizationParams', AUTHORIZATION),
  reservedRule('additionalTokenParams', TOKEN),
];

type Parameters = Readonly<Record<string, string>>;

interface Additional {
  readonly additional_authorization_params?: Parameters | undefined;
  readonly additional_token_params?: Parameters | undefined;
}

/** What is wrong with the parameters that a configuration adds to requests. */
export const parameterProblems = (config: Additional): Problem[] => [
  ...problemsOf('additional_authorization_params', AUTHORIZATION, config.additional_authorization_params),
  ...problemsOf('additional_token_params', TOKEN, config.additional_token_params),
];

function problemsOf(at: string, reserved: readonly string[], parameters: Parameters = {}): Problem[] {
  const problem = (path: string, message: string): Problem => ({ reason: 'InvalidValue', path, message });
  const names = Object.keys(parameters);
  return [
    ...(names.length > MAX_PARAMETERS ? [problem(at, `give at most ${String(MAX_PARAMETERS)} parameters`)] : []),
    ...names
      .filter((name) => reserved.includes(name))
      .map((name) => problem(`${at}.${name}`, 'the gateway sets this parameter itself: remove it')),
    ...names
      .filter((name) => name === '' || name.length + (parameters[name] ?? '').length > MAX_LENGTH)
      .map((name) => problem(`${at}.${name}`, `a parameter has a name, and at most ${String(MAX_LENGTH)} characters`)),
  ];
}

/** A parameter of ours that the query of an authorization endpoint holds already: providers would get it twice. */
export const reservedInQuery = (endpoint: string): string | undefined =>
  [...(URL.parse(endpoint)?.searchParams.keys() ?? [])].find((name) => AUTHORIZATION.includes(name));

/** `prompt` of OpenID Connect Core §3.1.2.1: a set of words, of which `none` stands alone. */
export function withLoginPrompt(parameters: Readonly<Record<string, string>>): Record<string, string> {
  const words = (parameters['prompt'] ?? '').split(' ').filter((word) => word !== '' && word !== 'none');
  return { ...parameters, prompt: [...new Set(['login', ...words])].join(' ') };
}
