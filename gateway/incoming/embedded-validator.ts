import { BearerValidator } from './bearer-validator.ts';
import type { KeySource } from './key-set.ts';
import { oidcOf, rulesFor } from './settings.ts';
import type { IncomingConfig, IssuerValidator, ValidatorDeps } from './token-validator.ts';

/** Access tokens of the authorization server in this process: nothing is fetched. @see RFC 9068 §4 */
export function createEmbeddedValidator(
  config: IncomingConfig,
  keys: KeySource,
  { now }: Pick<ValidatorDeps, 'now'>,
): IssuerValidator {
  const { issuer } = oidcOf(config);
  if (!issuer) throw new Error('oidc_config.issuer is missing');
  const rules = { ...rulesFor(config, issuer), requireKid: true, type: 'at+jwt' };
  return new BearerValidator({
    keys,
    rules: () => rules,
    now,
    issuer: () => issuer,
    warmUp: () => undefined,
    status: () => ({ ready: true }),
    close: () => undefined,
  });
}
