import { createEmbeddedValidator } from './embedded-validator.ts';
import { OIDC_SOURCES } from './index.ts';
import type { IncomingConfig, IssuerValidator, ValidatorDeps } from './token-validator.ts';

export type { IssuerValidator, ValidatorDeps } from './token-validator.ts';

/** The validator of a server whose incoming type is `oidc`. Throws an Error for a configuration that cannot be enforced. */
export function createTokenValidator(config: IncomingConfig, deps: ValidatorDeps): IssuerValidator {
  if (deps.embedded) return createEmbeddedValidator(config, deps.embedded, deps);
  const { source = 'inline' } = config.vmcp.incoming;
  const found = OIDC_SOURCES.find(({ type }) => type === source);
  if (!found) throw new Error(`vmcp.incoming.source "${source}" is not known`);
  return found.create(config, deps);
}
