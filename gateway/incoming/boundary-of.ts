import type { GatewayConfig } from '../contract/gateway-config.ts';
import { createOutbound } from '../outbound/fetch.ts';
import { readSecretFile } from '../outbound/watched-file.ts';
import type { ApiServer } from '../kube/api-server.ts';
import { createBoundary, protectionOf, type AuthenticationOutcome, type Boundary } from './boundary.ts';
import { createValidator } from './index.ts';
import type { EmbeddedIssuer, IssuerValidator, ValidatorDeps } from './token-validator.ts';
import type { Logger } from '../contract/logger.ts';

interface BoundaryDeps {
  readonly log: Logger;
  /** ms since the epoch. */
  readonly now: () => number;
  /** True when other machines can reach the listener. */
  readonly exposed: boolean;
  /** Returns true while this is the only resource at its origin. Called for each request; true when absent. */
  readonly rootAlias?: (() => boolean) | undefined;
  /** API server; undefined outside of a cluster. */
  readonly apiServer?: ApiServer | undefined;
  /** Reads a secret file; from the disk when absent. */
  readonly readSecret?: ((file: string) => string) | undefined;
  /** The authorization server of this server, in this process. */
  readonly embedded?: EmbeddedIssuer | undefined;
  readonly onOutcome?: ((outcome: AuthenticationOutcome) => void) | undefined;
}

/** The configuration cannot be enforced here. `message` says what to do. */
export class BoundaryImpossible extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'BoundaryImpossible';
  }
}

/**
 * Boundary 1 as a configuration describes it, already warming up. `mcpUrl` stands in for a `resourceURL` that it leaves
 * out. Throws `BoundaryImpossible`.
 */
export function boundaryOf(config: GatewayConfig, mcpUrl: string, deps: BoundaryDeps): Boundary {
  const { log, now, onOutcome } = deps;
  const validator = validatorOf(config, {
    now,
    log,
    outbound: createOutbound,
    readSecret: deps.readSecret ?? readSecretFile,
    apiServer: deps.apiServer,
    embedded: deps.embedded,
  });
  if (!validator) {
    const level = deps.exposed ? 'warn' : 'info';
    log[level]('anonymous access: every client that reaches the listener can call tools', { url: mcpUrl });
    return createBoundary({ log, now, onOutcome });
  }
  validator.warmUp();
  const resourceUrl = config.oidc_config?.resourceURL ?? mcpUrl;
  const { rootAlias = () => true } = deps;
  const protection = protectionOf(config, resourceUrl, validator, { rootAlias });
  return createBoundary({ protection, log, now, onOutcome });
}

function validatorOf(config: GatewayConfig, deps: ValidatorDeps): IssuerValidator | undefined {
  try {
    return createValidator(config, deps);
  } catch (error) {
    throw new BoundaryImpossible(error);
  }
}
