import type { DiscoveredBackends } from '../../../gateway/contract/discovered-backends.ts';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { SCHEMA_VERSION } from '../../../gateway/contract/run-config/run-config.ts';
import { podBackend } from '../../resolve/own-gateway/pod-backend.ts';
import type { MCPServer, VirtualMCPServer } from '../../resolve/snapshot.ts';

export const CONFIG_KEY = 'config.json';
const DEFAULT_REPORTING_INTERVAL = '30s';

/** Returns the configuration that pods start with. Backends are separate: they can change while pods run. */
export function startDocument(
  { metadata: { name }, spec }: VirtualMCPServer,
  config: GatewayConfig,
  backendsConfigMap: string,
): GatewayConfig {
  const { outgoing_auth: _credentials, ...vmcp } = config.vmcp;
  const { backend_tools: _rules, ...aggregation } = vmcp.aggregation;
  return {
    ...config,
    vmcp: {
      ...vmcp,
      aggregation,
      backends: [],
      cluster: {
        backends_config_map: backendsConfigMap,
        reporting_interval:
          spec.config?.operational?.failureHandling?.statusReportingInterval ?? DEFAULT_REPORTING_INTERVAL,
        virtual_mcp_server: name,
      },
    },
  };
}

/** Returns the backends document, which pods watch. */
export const backendsDocument = ({ schema_version, vmcp }: GatewayConfig): DiscoveredBackends => ({
  schema_version,
  backends: vmcp.backends,
  ...(vmcp.outgoing_auth && { outgoing_auth: vmcp.outgoing_auth }),
  ...(vmcp.aggregation.backend_tools && { backend_tools: vmcp.aggregation.backend_tools }),
});

/** Returns the configuration that exposes one stdio server over HTTP. The gateway in front of it authenticates clients. */
export function bridgeDocument(server: MCPServer, namespace: string): GatewayConfig {
  const { name } = server.metadata;
  const { endpointPrefix: prefix } = server.spec;
  return {
    schema_version: SCHEMA_VERSION,
    name,
    ...(prefix && { endpoint_prefix: prefix }),
    vmcp: {
      namespace,
      incoming: { type: 'anonymous' },
      backends: [podBackend(server)],
      aggregation: { conflict_resolution: 'none', default_tool_visibility: 'allow', prefix_format: '{workload}_' },
      operational: {
        failure_handling: {
          circuit_breaker: { enabled: false, failure_threshold: 5, timeout: '60s' },
          health_check_interval: '30s',
          health_check_timeout: '10s',
          unhealthy_threshold: 3,
        },
        timeouts: { default: BRIDGE_TIMEOUT },
      },
    },
  };
}

/** Longer than the timeout of the gateway in front, which times out first and reports it. */
const BRIDGE_TIMEOUT = '1h';
