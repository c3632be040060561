import { checkMCPToolConfig } from '../resolve/objects.ts';
import { configStatus } from './config-status.ts';

export const mcpToolConfigStatus = configStatus({
  find: ({ toolConfigs }, name) => toolConfigs.get(name),
  check: checkMCPToolConfig,
  good: { reason: 'ValidationSucceeded', message: 'the config can be used' },
  reasonOf: () => 'ValidationFailed',
});
