import { checkMCPOIDCConfig } from '../resolve/objects.ts';
import { adviceClaims, verdict } from './claim.ts';
import { CLUSTER_PLATFORM } from '../render/options.ts';
import { concludeStatus, type ObjectStatus } from './conditions.ts';
import { digest } from './digest.ts';
import { deletionClaims } from './references.ts';
import type { SharedObjectInput } from './input.ts';

export function mcpOIDCConfigStatus({
  object,
  snapshot,
  refused = [],
  deletion,
  now,
}: SharedObjectInput): ObjectStatus {
  const { kind } = object;
  const { name } = object.metadata;
  const config = snapshot.oidcConfigs.get(name);
  const found = config ? checkMCPOIDCConfig(config, snapshot, CLUSTER_PLATFORM) : { problems: [], warnings: [] };
  const problems = [...refused, ...found.problems];
  const good = { reason: 'ConfigValid', message: 'it can be used' };
  const claims = [
    verdict('Valid', good, problems, () => 'ConfigInvalid', { kind, name }),
    ...adviceClaims(found.warnings, { kind, name }),
    ...deletionClaims(deletion),
  ];
  return concludeStatus(object, claims, now, {
    ready: problems.length === 0,
    configHash: digest(object['spec'] ?? null),
  });
}
