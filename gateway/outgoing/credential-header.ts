import { headerNameProblems, isHeaderValue } from '../contract/reserved-names.ts';
import { missing, type Problem } from '../contract/problem.ts';
import { OWN_CREDENTIAL } from '../contract/rule.ts';
import { CredentialError, type CredentialHeaders, type StrategyDeps } from './authenticator.ts';

/** Placement of a bearer token: `Authorization` or a custom header. */
interface HeaderPlacement {
  readonly header_strategy?: 'replace' | 'custom' | undefined;
  readonly custom_name?: string | undefined;
}

/** Lists the problems of a placement; `member` is the configuration member of the custom header. */
export function placementProblems({ header_strategy, custom_name }: HeaderPlacement, member: string): Problem[] {
  if (custom_name !== undefined) return headerNameProblems(custom_name, member, OWN_CREDENTIAL);
  if (header_strategy !== 'custom') return [];
  return [missing(member, `header_strategy custom needs ${member}: name the header`)];
}

/** Lower-case name of the header that carries the token. */
export const placedIn = ({ header_strategy, custom_name }: HeaderPlacement): string =>
  header_strategy === 'custom' && custom_name !== undefined ? custom_name.toLowerCase() : 'authorization';

/** Returns true for a text that may be the value of a credential header. */
export const isSendable = (value: string): boolean => value !== '' && isHeaderValue(value);

/** Returns true for a text that may follow `Bearer`. */
const isBearerToken = (token: string): boolean => /^[\x21-\x7E]+$/u.test(token);

/** Returns the headers for a bearer token; undefined when the token contains forbidden characters. */
export const bearerHeaders = (name: string, token: string): CredentialHeaders | undefined =>
  isBearerToken(token) ? Object.freeze({ [name]: `Bearer ${token}` }) : undefined;

/** Returns the token from headers of `bearerHeaders`. */
export const bearerTokenIn = (headers: CredentialHeaders, name: string): string | undefined =>
  headers[name]?.startsWith('Bearer ') === true ? headers[name].slice('Bearer '.length) : undefined;

/** Returns the current content of a secret file. Throws a `CredentialError` that names the file. */
export function readCredentialFile({ readSecret }: StrategyDeps, file: string): string {
  try {
    return readSecret(file);
  } catch (error) {
    throw new CredentialError('misconfigured', error instanceof Error ? error.message : `${file} cannot be read`);
  }
}
