import { isDeepStrictEqual } from 'node:util';
import type { Backend, BackendProcess, GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import type { PortBook } from '../../gateway/workloads/runner/ports.ts';
import type { Launcher, LaunchState } from '../../gateway/workloads/runner/runner.ts';
import {
  exitOf,
  supervise,
  type SupervisedServer,
  type SupervisedState,
} from '../../gateway/workloads/runner/supervise.ts';
import type { Logger } from '../../gateway/contract/logger.ts';

export interface HttpWorkloadsOptions {
  readonly launcher: Launcher;
  readonly ports: PortBook;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  /** Monotonic clock in ms. */
  readonly now: () => number;
}

export interface HttpWorkloads {
  /** Runs exactly the workloads of the configurations, and returns the configurations with their URLs. */
  run(configs: readonly GatewayConfig[]): Promise<GatewayConfig[]>;
  /** Returns undefined for a workload that does not run here. */
  launchState(namespace: string, name: string): LaunchState | undefined;
  close(): Promise<void>;
}

interface Running {
  readonly process: BackendProcess;
  readonly transport: 'streamable-http' | 'sse';
  readonly workload: SupervisedServer;
}

const runsHere = ({ process, transport }: Backend): boolean => process !== undefined && transport !== 'stdio';

/** Returns true while the running process is the desired one. Any change restarts a workload that failed for good. */
const fits = (present: Running, transport: Running['transport'], process: BackendProcess): boolean =>
  present.transport === transport &&
  isDeepStrictEqual(present.process, process) &&
  present.workload.state().status !== 'failed';

function toLaunchState(state: SupervisedState): LaunchState {
  const { status, restarts, problem } = state;
  if (status === 'running') return {};
  const isFirst = restarts === 0 && (status === 'installing' || status === 'starting');
  return isFirst ? { phase: status, problem } : { problem, exit: exitOf(state) };
}

/** Creates the supervisor of HTTP MCPServers: one process each, shared by all groups that use it. */
export function createHttpWorkloads({ launcher, ports, log, now }: HttpWorkloadsOptions): HttpWorkloads {
  const running = new Map<string, Running>();

  const urlOf = async (backend: Backend, namespace: string): Promise<string> => {
    const { name, process, transport } = backend;
    if (!process || transport === 'stdio') throw new Error(`${name} is not an HTTP workload`);
    const key = `${namespace}/${name}`;
    const present = running.get(key);
    if (!present || !fits(present, transport, process)) {
      await present?.workload.stop();
      const port = await ports.portFor(key, process.target_port);
      running.set(key, {
        process,
        transport,
        workload: supervise({ launcher, process, name, port, transport, log, now }),
      });
    }
    const port = running.get(key)?.workload.port ?? 0;
    return `http://127.0.0.1:${String(port)}/${transport === 'sse' ? 'sse' : 'mcp'}`;
  };

  const place = async (config: GatewayConfig): Promise<GatewayConfig> => {
    const backends: Backend[] = [];
    for (const backend of config.vmcp.backends) {
      if (runsHere(backend)) {
        const url = await urlOf(backend, config.vmcp.namespace ?? '');
        const { process: _runsHere, ...rest } = backend;
        backends.push({ ...rest, url, insecure_allow_http: true, allow_private_ips: true });
      } else backends.push(backend);
    }
    return { ...config, vmcp: { ...config.vmcp, backends } };
  };

  return {
    launchState(namespace, name) {
      const state = running.get(`${namespace}/${name}`)?.workload.state();
      return state && toLaunchState(state);
    },
    async run(configs) {
      const desired = new Set(
        configs.flatMap(({ vmcp }) =>
          vmcp.backends.filter(runsHere).map(({ name }) => `${vmcp.namespace ?? ''}/${name}`),
        ),
      );
      for (const [key, { workload }] of running) {
        if (desired.has(key)) continue;
        running.delete(key);
        void workload.stop();
      }
      const placed: GatewayConfig[] = [];
      for (const config of configs) placed.push(await place(config));
      return placed;
    },
    async close() {
      await Promise.all([...running.values()].map(({ workload }) => workload.stop()));
    },
  };
}
