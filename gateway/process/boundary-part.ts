import { isDeepStrictEqual } from 'node:util';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import type { Boundary } from '../incoming/boundary.ts';
import { NO_CHANGE, type Change } from '../kit/parts.ts';

/** Boundary 1 of the current configuration. It stays while the members that it depends on are the same. */
export class BoundaryPart {
  current: Boundary = UNDER_WAY;
  #incoming: unknown;
  readonly #create: (config: GatewayConfig) => Boundary;

  constructor(create: (config: GatewayConfig) => Boundary) {
    this.#create = create;
  }

  prepare(config: GatewayConfig): Change {
    const incoming = incomingOf(config);
    if (isDeepStrictEqual(incoming, this.#incoming)) return NO_CHANGE;
    const next = this.#create(config);
    return {
      apply: () => {
        this.current.close();
        this.current = next;
        this.#incoming = incoming;
      },
      discard: () => {
        next.close();
      },
    };
  }

  close(): void {
    this.current.close();
  }
}

const incomingOf = ({
  name,
  oidc_config,
  authz_config,
  embedded_auth_server_config,
  vmcp: { incoming },
}: GatewayConfig): unknown => ({
  name,
  oidc_config,
  incoming,
  embedded: embedded_auth_server_config !== undefined,
  claimsOf: authz_config?.cedar?.primary_upstream_provider,
});

/** Rejects every request until the first boundary is ready. */
const UNDER_WAY: Boundary = {
  authenticate: (_req, res) => {
    res.status(503).set('retry-after', '1').json({ error: 'temporarily_unavailable', message: 'starting: try again' });
  },
  metadata: (_req, _res, next) => {
    next();
  },
  challenge: (res) => {
    res.writeHead(503).end();
  },
  liveness: () => true,
  status: () => ({ ready: false }),
  close: () => undefined,
};
