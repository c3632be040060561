import { rmSync } from 'node:fs';
import { programFiles, relayArguments, RELAY_ENVIRONMENT } from '../../container/relay/command.ts';
import { openRelaySockets } from '../../container/relay/sockets.ts';
import { engineEnvironment } from '../environment.ts';
import { engineStopped, isEngineOutage } from '../engine-outage.ts';
import { networkFolder } from '../process/network-folders.ts';
import { LaunchError } from '../runner.ts';
import { ownLabels } from './container-command.ts';
import type { Tools } from './scheme.ts';

const PROBE_TIMEOUT_MS = 60_000;
const ADVICE = 'set network_isolation to false to run it with open network access';

/** Engines and images whose relay has run, per launcher. */
const proven = new WeakMap<Tools, Set<string>>();

/**
 * Proves that an isolated network works: runs its relay once, which must reach this process.
 * @throws LaunchError `IsolationUnavailable`, or `NoContainerEngine` when the engine has stopped
 */
export async function proveIsolation(file: string, image: string, workload: string, tools: Tools): Promise<void> {
  const key = `${file} ${image}`;
  const known = proven.get(tools) ?? new Set();
  if (known.has(key)) return;
  const fault =
    process.platform === 'linux' ? await probe(file, image, workload, tools) : 'vmcp can do it on Linux only';
  if (fault !== undefined) {
    const message = `the network of ${image} cannot be isolated on this machine (${fault}): ${ADVICE}`;
    throw new LaunchError('IsolationUnavailable', message);
  }
  proven.set(tools, known.add(key));
}

async function probe(file: string, image: string, workload: string, tools: Tools): Promise<string | undefined> {
  const dir = networkFolder(tools.stateDir);
  const sockets = await openRelaySockets(dir);
  let isConnected = false;
  void sockets.ready.then(() => (isConnected = true));
  const isReached = (): boolean => isConnected;
  try {
    const labels = ownLabels(workload, tools.stateDir);
    const args = relayArguments({ image, labels, socketDir: dir, files: programFiles(), mode: 'probe' });
    const cleared = Object.entries(RELAY_ENVIRONMENT).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
    const env = engineEnvironment(tools.hostEnv);
    const end = await tools.run({ file, args: ['run', ...cleared, ...args], env }, workload, PROBE_TIMEOUT_MS);
    if (end.code === 0 && isReached()) return undefined;
    if (isEngineOutage(end.stderr)) throw engineStopped();
    const reason = end.stderr.trim().split('\n').at(-1) ?? '';
    return reason === '' ? 'its relay does not reach vmcp' : reason;
  } finally {
    sockets.close();
    rmSync(dir, { recursive: true, force: true });
  }
}
