import { checkMCPWebhookConfig } from '../resolve/objects.ts';
import { advisoryConditions, validityCondition } from './condition-state.ts';
import { CLUSTER_PLATFORM } from '../render/options.ts';
import { buildStatus, type ObjectStatus } from './conditions.ts';
import { digest } from './digest.ts';
import { deletionConditions } from './references.ts';
import type { SharedObjectInput } from './input.ts';

export function mcpWebhookConfigStatus(input: SharedObjectInput): ObjectStatus {
  const { object, snapshot, refused = [], deletion, now } = input;
  const self = { kind: object.kind, name: object.metadata.name };
  const config = snapshot.webhookConfigs.get(self.name);
  const found = config ? checkMCPWebhookConfig(config, snapshot, CLUSTER_PLATFORM) : { problems: [], warnings: [] };
  const problems = [...refused, ...found.problems];
  const good = { reason: 'ConfigValid', message: 'the config can be used' };
  const states = [
    validityCondition('Valid', good, problems, () => 'ConfigInvalid', self),
    ...advisoryConditions(found.warnings, self),
    ...deletionConditions(deletion),
  ];
  return buildStatus(object, states, now, {
    ready: problems.length === 0,
    configHash: digest(object['spec'] ?? null),
  });
}
