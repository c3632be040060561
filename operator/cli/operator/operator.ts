import { hash, randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { KubeClient } from '../../../gateway/kube/client.ts';
import type { Connection } from '../../../gateway/kube/connection.ts';
import { listen, type Listener } from '../../../gateway/listener.ts';
import { OWNED_TYPES } from '../../apply/owned.ts';
import { afterLiveTimeout, within, type Clock } from '../../../gateway/kit/time.ts';
import { Controller } from '../../controller/controller.ts';
import { CONTROLLERS } from '../../controller/kinds.ts';
import { healthListener } from '../../controller/health.ts';
import { LeaderElector } from '../../controller/leader-election.ts';
import { defaultConnection } from '../../source/kube/kube-config.ts';
import { startClusterCache, type ClusterCache, type ClusterEvents } from '../../source/kube/cluster-cache.ts';
import { isOpenShift, readOperatorSettings, type OperatorSettings } from './operator-settings.ts';
import { createCommandLog, type LogFlags } from '../flags.ts';
import { untilSignal } from '../process.ts';
import { VERSION } from '../version.ts';
import type { Logger } from '../../../gateway/contract/logger.ts';
import type { OwnerReference } from '../../../gateway/kube/resource.ts';
import { EXIT, endWith } from '../exit.ts';

export interface OperatorFlags extends LogFlags {
  readonly namespace?: string;
  readonly leaderElect: boolean;
  readonly metricsPort: number;
}

/** Timeout for requests of the Lease, well below its duration. */
const LEASE_TIMEOUT_MS = 4_000;
/** Longest time to stop, below the kubelet's grace period. */
const STOP_MS = 9_000;

const CLOCK: Clock = {
  now: () => performance.timeOrigin + performance.now(), // wall-clock time that never goes back
  after: afterLiveTimeout,
};

/** `vmcp operator`: runs until a signal. Exit codes: 0 stopped, 1 run-time failure, 2 wrong settings, or no port. */
export async function operator(flags: OperatorFlags): Promise<number> {
  const { stderr } = process;
  const read = readOperatorSettings(process.env, flags.namespace);
  if ('problems' in read) {
    for (const problem of read.problems) stderr.write(`${problem}\n`);
    return EXIT.invalid;
  }
  // Most objects are short-lived: a growing semi-space would use most of the memory and save little time.
  setFlagsFromString('--semi-space-growth-factor=1');
  const log = createCommandLog(stderr, flags, read.settings.logLevel);
  const connection = await defaultConnection(process.env, () => performance.now()).catch((error: unknown) => {
    stderr.write(`no connection to an API server: ${error instanceof Error ? error.message : String(error)}\n`);
    return undefined;
  });
  if (!connection) return EXIT.invalid;
  try {
    return await run(flags, read.settings, connection, log);
  } catch (error) {
    return endWith(error, stderr);
  }
}

async function run(
  flags: OperatorFlags,
  settings: OperatorSettings,
  connection: Connection,
  log: Logger,
): Promise<number> {
  const userAgent = `vmcp-operator/${VERSION}`;
  const client = new KubeClient(connection, { userAgent });
  const leases = new KubeClient(connection, { userAgent, requestTimeoutMs: LEASE_TIMEOUT_MS, maxConcurrent: 2 });
  const signalled = untilSignal(process.stderr);
  let notReady: string | undefined = 'the first read of the cluster is not complete';
  const parts: Parts = { client, leases, settings, connection, log };
  const openshift = settings.openshift ?? (await retryUntilSignal(() => isOpenShift(client), signalled, log));
  if (openshift === undefined) return EXIT.done;
  const { cache, controller } = createController(parts, openshift, identityOf(flags, parts));
  const health = await startHealth(flags.metricsPort, controller, () => notReady);
  log.info('operator starts', {
    namespaces: settings.namespaces,
    metricsPort: health.port,
    metricsAddress: health.address,
    openshift,
  });
  const elector = flags.leaderElect ? await createElector(parts, controller) : undefined;
  const ready = cache.synced.then(() => {
    if (elector) elector.start();
    else controller.startLeading();
    notReady = undefined;
    log.info('the cluster has been read');
  });
  await Promise.race([signalled, ready]);
  await signalled;
  await stopWithin(STOP_MS, log, async () => {
    await controller.shutDown();
    await elector?.stop();
    await cache.close();
    await Promise.all([client.close(), leases.close(), health.close()]);
  });
  log.info('operator stopped');
  return EXIT.done;
}

interface Parts {
  readonly client: KubeClient;
  readonly leases: KubeClient;
  readonly settings: OperatorSettings;
  readonly connection: Connection;
  readonly log: Logger;
}

function createController(
  { client, settings, log }: Parts,
  openshift: boolean,
  identity: string,
): { cache: ClusterCache; controller: Controller } {
  const events: ClusterEvents = {
    onChange: (...change) => {
      controller.onChange(...change);
    },
    onListed: (...list) => {
      controller.onListed(...list);
    },
    onServed: (namespace) => {
      controller.onServed(namespace);
    },
  };
  const cache = startClusterCache({
    client,
    namespaces: settings.namespaces,
    ownedTypes: OWNED_TYPES,
    events,
    log,
    now: () => performance.now(),
    random: Math.random,
  });
  const controller = new Controller({
    controllers: CONTROLLERS,
    view: cache,
    client,
    render: { ...settings.render, openshift },
    clock: CLOCK,
    log,
    identity,
    reporter: settings.podName ?? settings.lease,
    // Deleting a namespace also deletes the operator's rights in it: a finalizer there could never be removed.
    protects: settings.namespaces === 'all',
  });
  return { cache, controller };
}

/**
 * Returns a name that replicas of one operator share and other operators do not have: its Lease. Without leader election
 * a digest of version and settings follows.
 */
function identityOf({ leaderElect }: OperatorFlags, { settings, connection }: Parts): string {
  const lease = `${settings.podNamespace ?? connection.namespace}/${settings.lease}`;
  if (leaderElect) return lease;
  return `${lease}-${hash('sha256', JSON.stringify([VERSION, settings.render]), 'hex').slice(0, 8)}`;
}

async function createElector(
  { leases, settings, connection, log }: Parts,
  controller: Controller,
): Promise<LeaderElector> {
  const namespace = settings.podNamespace ?? connection.namespace;
  return new LeaderElector({
    client: leases,
    namespace,
    name: settings.lease,
    owner: ownServiceAccount(await connection.authorization().catch(() => undefined), namespace),
    identity: `${settings.podName ?? settings.lease}_${randomUUID()}`,
    clock: CLOCK,
    random: Math.random,
    log,
    onElected: () => {
      controller.startLeading();
    },
    onLost: () => {
      controller.stopLeading();
    },
  });
}

const startHealth = (port: number, { metrics }: Controller, notReady: () => string | undefined): Promise<Listener> =>
  listen(healthListener({ metrics, notReady }), '0.0.0.0', port);

const RETRY_MS = 2_000;

/** Retries until there is a result. Returns undefined after a signal. */
async function retryUntilSignal<T>(
  request: () => Promise<T>,
  signalled: Promise<unknown>,
  log: Pick<Logger, 'warn'>,
): Promise<T | undefined> {
  let isOver = false;
  void signalled.then(() => (isOver = true));
  for (;;) {
    try {
      return await request();
    } catch (error) {
      log.warn('the API server cannot be reached', { problem: error instanceof Error ? error.message : String(error) });
    }
    await within(RETRY_MS, signalled, undefined);
    // oxlint-disable-next-line typescript/no-unnecessary-condition -- set by the signal
    if (isOver) return undefined;
  }
}

/** Waits for `stop` at most for a time. The end of the process then ends the rest. */
async function stopWithin(ms: number, log: Pick<Logger, 'warn'>, stop: () => Promise<void>): Promise<void> {
  const stopped = stop().then(() => true);
  if (!(await within(ms, stopped, false))) log.warn('the operator did not stop in time: the process ends now');
}

interface Claims {
  readonly 'kubernetes.io'?: {
    readonly namespace?: string;
    readonly serviceaccount?: { readonly name?: string; readonly uid?: string };
  };
}

/**
 * Returns the ServiceAccount of an `Authorization` header as an owner reference; undefined for an account of another
 * namespace. The token is not verified, because it is the operator's own.
 */
export function ownServiceAccount(authorization: string | undefined, namespace: string): OwnerReference | undefined {
  const payload = /^Bearer [^.]+\.([^.]+)\./u.exec(authorization ?? '')?.[1];
  const claims = payload === undefined ? undefined : claimsIn(payload);
  const { namespace: own, serviceaccount: { name, uid } = {} } = claims?.['kubernetes.io'] ?? {};
  if (own !== namespace || name === undefined || uid === undefined) return undefined;
  return { apiVersion: 'v1', kind: 'ServiceAccount', name, uid };
}

function claimsIn(payload: string): Claims | undefined {
  try {
    return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Claims;
  } catch {
    return undefined;
  }
}
