import type { Problem } from '../../../contract/problem.ts';
import { reservedProblems, reservedRule } from '../../../contract/reserved-names.ts';
import type { Rule } from '../../../contract/rule.ts';

/** Reserved parameters of authorization requests: the gateway sets them, or depends on their defaults. */
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

/** Reserved parameters of token requests: the gateway sets them, or they identify the client. */
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

/** Rules for additional parameters in a resource. */
export const parameterRules: readonly Rule[] = [
  reservedRule('additionalAuthorizationParams', AUTHORIZATION),
  reservedRule('additionalTokenParams', TOKEN),
];

type Parameters = Readonly<Record<string, string>>;

interface Additional {
  readonly additional_authorization_params?: Parameters | undefined;
  readonly additional_token_params?: Parameters | undefined;
}

/** Lists the problems of additional parameters in a configuration. */
export const parameterProblems = (config: Additional): Problem[] => [
  ...reservedProblems('additional_authorization_params', AUTHORIZATION, config.additional_authorization_params),
  ...reservedProblems('additional_token_params', TOKEN, config.additional_token_params),
];

/** Returns a reserved parameter in the query of an authorization endpoint, which the provider would receive twice. */
export const reservedInQuery = (endpoint: string): string | undefined =>
  [...(URL.parse(endpoint)?.searchParams.keys() ?? [])].find((name) => AUTHORIZATION.includes(name));

/** Adds `login` to `prompt`, which is a set of words or `none` alone (OpenID Connect Core §3.1.2.1). */
export function withLoginPrompt(parameters: Readonly<Record<string, string>>): Record<string, string> {
  const words = (parameters['prompt'] ?? '').split(' ').filter((word) => word !== '' && word !== 'none');
  return { ...parameters, prompt: [...new Set(['login', ...words])].join(' ') };
}
