import { createEmbeddedValidator } from '../tokens/embedded-validator.ts';
import { inline } from './inline.ts';
import { kubernetes } from './kubernetes.ts';
import type { IncomingConfig, IssuerValidator, ValidatorDeps } from '../token-validator.ts';

/** Values of `oidcConfig.type`: sources of accepted tokens. */
export const OIDC_SOURCES = [inline, kubernetes] as const;

/** Creates the validator of mode `oidc`. Throws an Error for a configuration that cannot be enforced. */
export function createTokenValidator(config: IncomingConfig, deps: ValidatorDeps): IssuerValidator {
  if (deps.embedded) return createEmbeddedValidator(config, deps.embedded, deps);
  const { source = 'inline' } = config.vmcp.incoming;
  const found = OIDC_SOURCES.find(({ type }) => type === source);
  if (!found) throw new Error(`vmcp.incoming.source "${source}" is not known`);
  return found.create(config, deps);
}
