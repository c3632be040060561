import { checkMCPTelemetryConfig } from '../resolve/objects.ts';
import { advisoryConditions, validityCondition } from './condition-state.ts';
import { CLUSTER_PLATFORM } from '../render/options.ts';
import { buildStatus, type ObjectStatus } from './conditions.ts';
import { digest } from './digest.ts';
import { deletionConditions } from './references.ts';
import type { SharedObjectInput } from './input.ts';

export function mcpTelemetryConfigStatus({
  object,
  snapshot,
  refused = [],
  deletion,
  now,
}: SharedObjectInput): ObjectStatus {
  const { kind } = object;
  const { name } = object.metadata;
  const config = snapshot.telemetryConfigs.get(name);
  const found = config ? checkMCPTelemetryConfig(config, snapshot, CLUSTER_PLATFORM) : { problems: [], warnings: [] };
  const problems = [...refused, ...found.problems];
  const good = { reason: 'ConfigValid', message: 'the config can be used' };
  const states = [
    validityCondition('Valid', good, problems, () => 'ConfigInvalid', { kind, name }),
    ...advisoryConditions(found.warnings, { kind, name }),
    ...deletionConditions(deletion),
  ];
  return buildStatus(object, states, now, {
    ready: problems.length === 0,
    configHash: digest(object['spec'] ?? null),
  });
}
