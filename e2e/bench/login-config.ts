import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { configOver } from './gateway.ts';

export interface LoginServer {
  /** Distinguishes the files of several servers. */
  readonly name: string;
  /** Port of the gateway, which is part of the issuer. */
  readonly port: number;
  /** Port of the upstream provider. */
  readonly upstream: number;
  /** Port of a redis-server; without it the store is in memory. */
  readonly redis?: number | undefined;
}

/** The whole load comes from one address, so the limits per address are raised. */
const UNLIMITED = 1_000_000;

/** Writes the configuration of a gateway with an embedded authorization server and returns its path. */
export function writeLoginConfig(folder: string, { name, port, upstream, redis }: LoginServer): string {
  const issuer = `http://127.0.0.1:${String(port)}`;
  const resource = `${issuer}/mcp`;
  const { vmcp, ...rest } = configOver([]);
  const config: GatewayConfig = {
    ...rest,
    name,
    oidc_config: { issuer, audience: resource, resourceURL: resource },
    vmcp: { ...vmcp, incoming: { type: 'oidc' } },
    embedded_auth_server_config: {
      issuer,
      allowed_audiences: [resource],
      upstreams: [
        {
          name: 'stub',
          type: 'oidc',
          oidc_config: { issuer_url: `http://127.0.0.1:${String(upstream)}`, client_id: 'vmcp', scopes: ['openid'] },
        },
      ],
      rate_limits: {
        authorizations_per_minute: UNLIMITED,
        registrations_per_minute: UNLIMITED,
        registrations_per_minute_overall: UNLIMITED,
        document_fetches_per_minute: UNLIMITED,
        failures_per_minute: UNLIMITED,
      },
      storage:
        redis === undefined
          ? { type: 'memory' }
          : { type: 'kvstore', kvstore_config: { addr: `127.0.0.1:${String(redis)}` } },
    },
  };
  const ajv = new Ajv2020({ strict: false });
  if (!ajv.validate(GatewayConfig, config)) throw new Error(`bench configuration: ${ajv.errorsText()}`);
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}
