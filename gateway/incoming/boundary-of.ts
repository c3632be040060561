import type { GatewayConfig } from '../contract/gateway-config.ts';
import { createOutbound } from '../outbound/fetch.ts';
import { readSecretFile } from '../outbound/watched-file.ts';
import type { ApiServer } from './api-server.ts';
import { createBoundary, protectionOf, type AuthenticationOutcome, type Boundary } from './boundary.ts';
import type { Logger } from './token-validator.ts';
import { createTokenValidator } from './validator.ts';

export interface BoundaryDeps {
  readonly log: Logger;
  /** ms since the epoch. */
  readonly now: () => number;
  /** Where the process runs in a cluster. */
  /** Others than this machine can reach the listener. */
  readonly exposed: boolean;
  readonly apiServer?: ApiServer | undefined;
  readonly onOutcome?: ((outcome: AuthenticationOutcome) => void) | undefined;
}

/** Boundary 1 as a configuration describes it, already warming up. `mcpUrl` stands in for a `resourceURL` that it leaves out. */
export function boundaryOf(config: GatewayConfig, mcpUrl: string, deps: BoundaryDeps): Boundary {
  const { log, now, onOutcome } = deps;
  if (config.vmcp.incoming.type === 'anonymous') {
    if (deps.exposed) log.warn('anonymous access: whoever reaches the listener may call', { url: mcpUrl });
    return createBoundary({ log, now, onOutcome });
  }
  const validator = createTokenValidator(config, {
    now,
    log,
    outbound: createOutbound,
    readSecret: readSecretFile,
    apiServer: deps.apiServer,
  });
  validator.warmUp();
  const protection = protectionOf(config, config.oidc_config?.resourceURL ?? mcpUrl, validator);
  return createBoundary({ protection, log, now, onOutcome });
}
