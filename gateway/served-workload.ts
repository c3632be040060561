import type { PublicServer } from './public-server.ts';
import type { Served, ServedState } from './workloads/host.ts';

/** Returns a workload's view of the listener that serves it. `onStopped` is called once. */
export function servedWorkload(server: PublicServer, onStopped: () => void): Served {
  return {
    port: server.port,
    state: () => servedState(server, server.virtual.config.vmcp.backends[0]?.name ?? ''),
    swap: (config) => server.swap({ ...server.spec, config }),
    probe: () => server.virtual.fleet.probed(server.virtual.config.vmcp.backends[0]?.name ?? ''),
    stop: async (graceMs) => {
      await server.stop(graceMs);
      onStopped();
    },
  };
}

/** Returns the state of a backend. */
export function servedState({ virtual: { fleet } }: PublicServer, name: string): ServedState {
  const health = fleet.health().backends[name];
  const { problem, restart } = fleet.launchState(name);
  const final = [problem, restart?.problem].find((one) => one?.permanent);
  const reason = final?.message ?? health?.reason;
  return {
    status: health?.status ?? 'unknown',
    ...(reason !== null && reason !== undefined && { reason }),
    failedProbes: health?.consecutive_failures ?? 0,
    isPermanent: final !== undefined,
    isListed: fleet.isListed(name),
    restart,
  };
}
