import type { Scope } from './scope.ts';
import type { MCPServer } from './snapshot.ts';

/** Returns the number of pods that an MCPServer asks for; undefined when an autoscaler may set it. */
export const replicasOf = ({ replicas, backendReplicas }: MCPServer['spec']): number | undefined =>
  replicas ?? backendReplicas;

/** State that the pods of a gateway do not share: several pods would reject each other's clients. */
interface Unshared {
  /** Returns the consequence for a number of pods. */
  readonly consequence: (replicas: number) => string;
  readonly advice: string;
}

/**
 * Reports state that the pods would not share. For several pods it is a problem. For an absent number it is a reason to run a
 * single pod, because an autoscaler may start several. Local mode always starts one process.
 */
export function reportUnshared({ consequence, advice }: Unshared, scope: Scope): void {
  const { platform, vmcp, onePod } = scope;
  const { replicas } = vmcp.spec;
  if (platform.mode === 'local') return;
  if (replicas === undefined) onePod.push(advice);
  else if (replicas > 1)
    scope
      .on(vmcp)
      .problem('ReplicasShareNothing', 'spec.replicas', `${consequence(replicas)}: ${advice}, or set replicas: 1`);
}
