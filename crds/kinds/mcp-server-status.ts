import { Type } from 'typebox';
import { Closed } from '../../gateway/contract/fields.ts';
import { text, whole } from '../../gateway/contract/optional.ts';
import { statusFields } from './kind.ts';

const digest = (what: string) => text(`Digest of the ${what} in use.`);

export const mcpServerStatus = Closed(
  {
    ...statusFields,
    phase: Type.Optional(
      Type.Enum(['Pending', 'Ready', 'Failed', 'Terminating', 'Stopped'], {
        default: 'Pending',
        description: 'Summary.',
      }),
    ),
    message: text('Why the phase is what it is.'),
    url: text('MCP endpoint inside the cluster.'),
    readyReplicas: whole('Pods that are ready.', { format: 'int32' }),
    toolConfigHash: digest('tool configuration'),
    externalAuthConfigHash: digest('MCPExternalAuthConfig'),
    authServerConfigHash: digest('authorization server configuration'),
    authzConfigHash: digest('policies'),
    oidcConfigHash: digest('MCPOIDCConfig'),
    telemetryConfigHash: digest('telemetry configuration'),
    webhookConfigHash: digest('webhook configuration'),
  },
  { description: 'What is running.' },
);
