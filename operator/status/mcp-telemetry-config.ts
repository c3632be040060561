import { checkMCPTelemetryConfig } from '../resolve/objects.ts';
import { configStatus } from './config-status.ts';

export const mcpTelemetryConfigStatus = configStatus({
  find: ({ telemetryConfigs }, name) => telemetryConfigs.get(name),
  check: checkMCPTelemetryConfig,
});
