import { headerNameProblems, isHeaderValue } from '../contract/header-names.ts';
import type { Problem } from '../contract/problem.ts';
import { OWN_CREDENTIAL } from '../contract/rule.ts';
import { CredentialError, type CredentialHeaders, type StrategyDeps } from './authenticator.ts';

/** Where a bearer token is put: in Authorization, or in another header of the given name. */
export interface HeaderPlacement {
  readonly header_strategy?: 'replace' | 'custom' | undefined;
  readonly custom_name?: string | undefined;
}

/** What is wrong with a placement; `member` names the custom header in the configuration. */
export function placementProblems({ header_strategy, custom_name }: HeaderPlacement, member: string): Problem[] {
  if (custom_name !== undefined) return headerNameProblems(custom_name, member, OWN_CREDENTIAL);
  if (header_strategy !== 'custom') return [];
  return [{ reason: 'MissingField', path: member, message: `header_strategy custom needs ${member}: name the header` }];
}

/** Lower-case name of the header that carries the token. */
export const placedIn = ({ header_strategy, custom_name }: HeaderPlacement): string =>
  header_strategy === 'custom' && custom_name !== undefined ? custom_name.toLowerCase() : 'authorization';

/** Whether a text may be the value of a header that carries a credential. */
export const isSendable = (value: string): boolean => value !== '' && isHeaderValue(value);

/** Whether a text may stand behind `Bearer`. */
const isBearerToken = (token: string): boolean => /^[\x21-\x7E]+$/u.test(token);

/** The headers for a bearer token; undefined when the token holds what no header may hold. */
export const bearerHeaders = (name: string, token: string): CredentialHeaders | undefined =>
  isBearerToken(token) ? Object.freeze({ [name]: `Bearer ${token}` }) : undefined;

/** The token in headers that `bearerHeaders` made. */
export const bearerTokenIn = (headers: CredentialHeaders, name: string): string | undefined =>
  headers[name]?.startsWith('Bearer ') === true ? headers[name].slice('Bearer '.length) : undefined;

/** Content of a secret file as it is now; throws a `CredentialError` that names the file. */
export function readSecretFile({ readSecret }: StrategyDeps, file: string): string {
  try {
    return readSecret(file);
  } catch (error) {
    throw new CredentialError('misconfigured', error instanceof Error ? error.message : `${file} cannot be read`);
  }
}
