import { PassThrough } from 'node:stream';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { startGateway, type Gateway, type GatewayOptions } from '../../gateway/process/gateway.ts';
import { createLog } from '../../gateway/telemetry/log.ts';
import type { Issuer } from './issuer.ts';
import type { Scope } from './scope.ts';

type Vmcp = GatewayConfig['vmcp'];

export interface GatewayParts {
  readonly backends: Vmcp['backends'];
  readonly outgoing?: Vmcp['outgoing_auth'];
  readonly aggregation?: Partial<Vmcp['aggregation']>;
  readonly circuit?: Partial<Vmcp['operational']['failure_handling']['circuit_breaker']>;
  /** Timeout of a call. */
  readonly timeout?: string;
  /** Anonymous without it. */
  readonly issuer?: Issuer;
  readonly oidc?: GatewayConfig['oidc_config'];
  readonly incoming?: Partial<Vmcp['incoming']>;
  /** Cedar policies and entities. */
  readonly cedar?: NonNullable<GatewayConfig['authz_config']>['cedar'];
  readonly audit?: GatewayConfig['audit_config'];
  readonly rateLimits?: GatewayConfig['rate_limit_config'];
  readonly scaling?: GatewayConfig['scaling_config'];
  readonly sessionTtl?: string;
  /** Path that a proxy in front removes or keeps. */
  readonly endpointPrefix?: string;
}

/** Returns a configuration that accepts tokens of `issuer` for the audience `vmcp`. */
export const configOver = ({
  backends,
  outgoing,
  aggregation,
  circuit,
  timeout,
  issuer,
  oidc,
  incoming,
  cedar,
  audit,
  rateLimits,
  scaling,
  sessionTtl,
  endpointPrefix,
}: GatewayParts): GatewayConfig => ({
  schema_version: 'v0.1.0',
  name: 'under-test',
  ...(endpointPrefix !== undefined && { endpoint_prefix: endpointPrefix }),
  ...(audit && { audit_config: audit }),
  ...(rateLimits && { rate_limit_config: rateLimits }),
  ...(scaling && { scaling_config: scaling }),
  ...(issuer && { oidc_config: { issuer: issuer.url, audience: 'vmcp', ...oidc } }),
  ...(cedar && { authz_config: { type: 'cedarv1', version: '1.0', cedar } }),
  vmcp: {
    incoming: { type: issuer ? 'oidc' : 'anonymous', ...incoming },
    backends,
    ...(outgoing && { outgoing_auth: outgoing }),
    ...(sessionTtl !== undefined && { session_ttl: sessionTtl }),
    aggregation: {
      conflict_resolution: 'prefix',
      prefix_format: '{workload}_',
      default_tool_visibility: 'allow',
      ...aggregation,
    },
    operational: {
      timeouts: { default: timeout ?? '30s' },
      failure_handling: {
        health_check_interval: '30s',
        health_check_timeout: '30s',
        unhealthy_threshold: 3,
        circuit_breaker: { enabled: false, failure_threshold: 5, timeout: '60s', ...circuit },
      },
    },
  },
});

export interface AuthenticatedGateway {
  readonly gateway: Gateway;
  readonly url: string;
  swap(parts: GatewayParts): Promise<void>;
}

/** Starts a gateway in this process, so that a test can replace its stores. */
export async function startGatewayOver(
  scope: Scope,
  parts: GatewayParts,
  seams: Pick<GatewayOptions, 'upstreamTokens' | 'heartbeatMs' | 'stdout'> = {},
): Promise<AuthenticatedGateway> {
  const spec = { host: '127.0.0.1', port: 0 };
  const gateway = await startGateway({
    servers: [{ ...spec, config: configOver(parts) }],
    management: { host: '127.0.0.1', port: 0 },
    log: createLog(new PassThrough().resume(), 'error'),
    version: '0.0.0',
    ...seams,
  });
  scope.defer(() => gateway.stop(0));
  return {
    gateway,
    url: gateway.servers[0]?.mcpUrl ?? '',
    swap: (next) => gateway.swap([{ ...spec, config: configOver(next) }]),
  };
}

/** Returns the `Authorization` header of a user; `tsid` in its token identifies the login. */
export const bearerOf = (issuer: Issuer, subject: string): { readonly authorization: string } => ({
  authorization: `Bearer ${issuer.token({ sub: subject, tsid: `login-of-${subject}` })}`,
});
