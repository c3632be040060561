import type { MCPServer } from './snapshot.ts';

/** Returns the number of pods that an MCPServer asks for; undefined when an autoscaler may set it. */
export const replicasOf = ({ replicas, backendReplicas }: MCPServer['spec']): number | undefined =>
  replicas ?? backendReplicas;
