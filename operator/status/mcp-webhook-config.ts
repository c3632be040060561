import { checkMCPWebhookConfig } from '../resolve/objects.ts';
import { configStatus } from './config-status.ts';

export const mcpWebhookConfigStatus = configStatus({
  find: ({ webhookConfigs }, name) => webhookConfigs.get(name),
  check: checkMCPWebhookConfig,
});
