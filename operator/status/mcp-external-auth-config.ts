import { checkMCPExternalAuthConfig } from '../resolve/objects.ts';
import { configStatus } from './config-status.ts';

/** Reason of an object that the schema rejects, and of one that is well formed but unusable here. */
export const REFUSED = 'ValidationFailed';
export const INVALID = 'InvalidConfig';

export const mcpExternalAuthConfigStatus = configStatus({
  find: ({ externalAuthConfigs }, name) => externalAuthConfigs.get(name),
  check: checkMCPExternalAuthConfig,
  good: { reason: 'ValidationSucceeded', message: 'the config can be used' },
  reasonOf: (_problem, isRefused) => (isRefused ? REFUSED : INVALID),
});
