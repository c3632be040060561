import type { GatewayConfig } from '../gateway-config.ts';

/** The part of a configuration that most tests leave as it is: anonymous, no backends. */
export const VMCP: GatewayConfig['vmcp'] = {
  incoming: { type: 'anonymous' },
  backends: [],
  aggregation: { conflict_resolution: 'prefix', prefix_format: '{workload}_', default_tool_visibility: 'allow' },
  operational: {
    timeouts: { default: '30s' },
    failure_handling: {
      health_check_interval: '30s',
      health_check_timeout: '10s',
      unhealthy_threshold: 3,
      circuit_breaker: { enabled: false, failure_threshold: 5, timeout: '60s' },
    },
  },
};
