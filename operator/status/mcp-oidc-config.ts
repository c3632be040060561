import type { KubeObject } from '../../gateway/kube/resource.ts';
import { checkMCPOIDCConfig } from '../resolve/objects.ts';
import type { ObjectProblem } from '../resolve/problems.ts';
import type { Snapshot } from '../resolve/snapshot.ts';
import { adviceClaims } from './advice.ts';
import { verdict } from './claim.ts';
import { CLUSTER_PLATFORM } from '../render/options.ts';
import { concludeStatus, type ObjectStatus } from './conditions.ts';
import { digest } from './digest.ts';
import { deletionClaims, type Deletion } from './references.ts';

export interface MCPOIDCConfigInput {
  /** As the API server has it, with its status. */
  readonly object: KubeObject;
  readonly snapshot: Snapshot;
  /** Why the object was refused; then the snapshot lists it as broken. */
  readonly refused?: readonly ObjectProblem[];
  readonly deletion: Deletion;
  /** RFC 3339. */
  readonly now: string;
}

export function mcpOIDCConfigStatus({
  object,
  snapshot,
  refused = [],
  deletion,
  now,
}: MCPOIDCConfigInput): ObjectStatus {
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
