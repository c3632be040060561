import type { GatewayConfig } from '../../contract/gateway-config.ts';
import type { ConfiguredBackend } from './fleet-options.ts';

/** Lists the backends of a configuration with their credentials. */
export const configuredBackends = ({ vmcp: { backends, outgoing_auth: auth } }: GatewayConfig): ConfiguredBackend[] =>
  backends.map((config) => ({
    config,
    auth: auth && Object.hasOwn(auth, config.name) ? auth[config.name] : undefined,
  }));
