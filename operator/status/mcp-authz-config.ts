import { checkMCPAuthzConfig } from '../resolve/objects.ts';
import { configStatus } from './config-status.ts';

export const mcpAuthzConfigStatus = configStatus({
  find: ({ authzConfigs }, name) => authzConfigs.get(name),
  check: checkMCPAuthzConfig,
  good: { reason: 'ConfigValid', message: 'the policies can be used' },
  reasonOf: ({ reason }) => (reason === 'AuthzInvalid' ? reason : 'ConfigInvalid'),
});
