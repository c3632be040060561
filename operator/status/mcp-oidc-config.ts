import { checkMCPOIDCConfig } from '../resolve/objects.ts';
import { configStatus } from './config-status.ts';

export const mcpOIDCConfigStatus = configStatus({
  find: ({ oidcConfigs }, name) => oidcConfigs.get(name),
  check: checkMCPOIDCConfig,
});
