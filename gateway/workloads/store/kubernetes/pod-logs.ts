import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../../../kube/api-error.ts';
import type { KubeClient, PodLogOptions } from '../../../kube/client.ts';
import { RESOURCES, type KubeObject } from '../../../kube/resource.ts';
import type { WorkloadLogOptions } from '../../workloads.ts';
import type { ServerObject } from './workload-object.ts';

/** Containers of a server. Only a stdio server has a gateway beside it. */
const CONTAINERS = { server: 'mcp', proxy: 'vmcp' } as const;
/** Pause before the log of a container that has ended is followed again. */
const PAUSE_MS = 1_000;

/** Reads the output of the pods of an MCPServer. */
export class PodLogs {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Returns the last lines of all pods, in the order of their times. */
  async read(server: ServerObject, { source, tail, since }: WorkloadLogOptions): Promise<string[]> {
    if (hasNone(server, source)) return [];
    const pods = await this.#pods(server);
    const options = { ...queryOf(source, tail, since), timestamps: true };
    const texts = await Promise.all(pods.map((pod) => this.#text(server, pod, options)));
    const lines = texts.flatMap((text) => text.split('\n').filter((line) => line !== ''));
    const ordered = pods.length > 1 ? lines.toSorted((one, other) => compare(timeOf(one), timeOf(other))) : lines;
    return tail > 0 ? ordered.slice(-tail).map(withoutTime) : [];
  }

  /** Follows the newest pod, also after its container or the pod itself was replaced. */
  async *follow(
    server: ServerObject,
    { source, tail, since }: WorkloadLogOptions,
    signal: AbortSignal,
  ): AsyncGenerator<string, void> {
    if (hasNone(server, source)) return;
    let options: PodLogOptions = { ...queryOf(source, tail, since), timestamps: true };
    let last = '';
    while (!signal.aborted) {
      const pod = (await this.#pods(server)).at(-1);
      if (pod) {
        for await (const line of this.#lines(server, pod, options, signal)) {
          const time = timeOf(line);
          if (time <= last) continue; // `sinceTime` has a precision of seconds
          last = time;
          yield withoutTime(line);
        }
      }
      if (last !== '') options = { container: CONTAINERS[source], sinceTime: last, timestamps: true };
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async *#lines(
    { metadata: { namespace } }: ServerObject,
    pod: string,
    options: PodLogOptions,
    signal: AbortSignal,
  ): AsyncGenerator<string, void> {
    try {
      yield* this.#client.followLog(namespace, pod, options, signal);
    } catch (error) {
      if (!hasNoLog(error)) throw error;
    }
  }

  async #text({ metadata: { namespace } }: ServerObject, pod: string, options: PodLogOptions): Promise<string> {
    try {
      return await this.#client.log(namespace, pod, options);
    } catch (error) {
      if (hasNoLog(error)) return '';
      throw error;
    }
  }

  /** Returns the names of the pods, the oldest first. */
  async #pods({ metadata: { namespace, name } }: ServerObject): Promise<string[]> {
    const labelSelector = `app.kubernetes.io/instance=${name},app.kubernetes.io/name=mcpserver`;
    const { items } = await this.#client.list<KubeObject>(RESOURCES.Pod, { namespace, labelSelector });
    const age = ({ metadata: { creationTimestamp = '' } }: KubeObject): string => creationTimestamp;
    return items.toSorted((one, other) => compare(age(one), age(other))).map(({ metadata }) => metadata.name);
  }
}

/** Returns true for a server without a gateway in its pods. */
const hasNone = ({ spec: { transport = 'stdio' } }: ServerObject, source: WorkloadLogOptions['source']): boolean =>
  source === 'proxy' && transport !== 'stdio';

/** Returns true for a pod that is gone or whose container has not started. */
const hasNoLog = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 404 || error.status === 400);

const queryOf = (source: WorkloadLogOptions['source'], tail: number, since: number | undefined): PodLogOptions => ({
  container: CONTAINERS[source],
  tailLines: tail,
  ...(since !== undefined && { sinceTime: new Date(since).toISOString() }),
});

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** Returns the time at the start of a line. Its text has a fixed width, so that times compare as texts. */
const timeOf = (line: string): string => line.slice(0, line.indexOf(' '));

const withoutTime = (line: string): string => line.slice(line.indexOf(' ') + 1);
