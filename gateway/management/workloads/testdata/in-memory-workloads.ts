import { SCHEMA_VERSION, type RunConfig } from '../../../contract/run-config/run-config.ts';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { settingsOf, type Workload, type Workloads } from '../../../workloads/workloads.ts';

/** Workload that runs `npx://server`, with changes. */
export const workloadOf = (config: Partial<RunConfig>, more: Partial<Workload> = {}): Workload => ({
  config: { schema_version: SCHEMA_VERSION, image: 'npx://server', transport: 'stdio', proxy_mode: 'streamable-http', ...config },
  status: 'running',
  created_at: '2026-01-02T03:04:05Z',
  started_at: '2026-01-02T03:04:06Z',
  port: 4000,
  url: 'http://127.0.0.1:4000/mcp',
  ...more,
});

export interface InMemoryWorkloads extends Workloads {
  /** Calls in order: the method and its first argument. */
  readonly calls: [method: string, argument: unknown][];
  /** Error of the next call that changes a workload. */
  failure: OperationError | undefined;
}

/** Source of the lines that `follow` returns. */
export type LineSource = (signal: AbortSignal) => AsyncIterable<string>;

/** Stores workloads, and records calls. Nothing runs. For tests of statuses and bodies. */
export function inMemoryWorkloads(
  initial: readonly Workload[] = [],
  { lines = [], follow }: { readonly lines?: readonly string[]; readonly follow?: LineSource } = {},
): InMemoryWorkloads {
  const stored = new Map(initial.map((workload) => [workload.config.name ?? '', workload]));
  const get = async (name: string): Promise<Workload> => {
    const workload = stored.get(name);
    if (!workload) throw new OperationError('workload_not_found');
    return workload;
  };
  const called = (method: string, argument: unknown): void => {
    workloads.calls.push([method, argument]);
    const { failure } = workloads;
    workloads.failure = undefined;
    if (failure) throw failure;
  };
  const put = (name: string, config: Partial<RunConfig>) => {
    stored.set(name, workloadOf({ ...config, name }));
    return { name, port: 4000 };
  };
  const workloads: InMemoryWorkloads = {
    calls: [],
    failure: undefined,
    list: async () => [...stored.values()],
    get,
    create: async (request) => {
      called('create', request);
      return put(request.name, request.group === undefined ? {} : { group: request.group });
    },
    import: async (config) => {
      called('import', config);
      return put(config.name ?? '', config);
    },
    edit: async (name, edit) => {
      const { config } = await get(name);
      const settings = settingsOf(edit, config);
      called('edit', settings);
      const { group = config.group, env_vars: variables = config.env_vars } = settings;
      return put(name, { ...config, ...(group !== undefined && { group }), ...(variables && { env_vars: variables }) });
    },
    stop: async (names) => called('stop', names),
    start: async (names) => called('start', names),
    restart: async (names) => called('restart', names),
    remove: async (names) => {
      called('remove', names);
      for (const name of names) stored.delete(name);
    },
    logs: async (name, options) => {
      await get(name);
      called('logs', options);
      return lines;
    },
    follow: async (name, options, signal) => {
      await get(name);
      called('follow', options);
      if (!follow) throw new Error('the test has no lines to follow');
      return follow(signal);
    },
    close: async () => undefined,
  };
  return workloads;
}
