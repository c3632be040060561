import { createHash } from 'node:crypto';
import type { BackendProcess } from '../../../contract/gateway-config.ts';
import { proxyEnvironment, proxyPortBeside } from '../../container/relay/command.ts';
import { engineEnvironment, withListenVariables } from '../environment.ts';
import type { Command, IsolatedNetwork, PortPair } from '../runner.ts';
import type { PrepareRequest, Tools } from './scheme.ts';

const DEFAULT_TARGET_PORT = 8080;

/** Returns the command that runs an image. Every value is one argument. */
export function containerCommand(file: string, spec: BackendProcess, request: PrepareRequest, tools: Tools): Command {
  const { container = {} } = spec;
  const endpoint = endpointOf(spec, request);
  const labels = ownLabels(request.name, tools.stateDir);
  const network = isolatedNetworkOf(spec, endpoint, labels);
  const onHost = container.network === 'host';
  const listen = endpoint && { host: onHost ? '127.0.0.1' : '0.0.0.0', port: endpoint.targetPort };
  const declared = withListenVariables(spec.env_vars ?? {}, listen, request.transport);
  const proxies = network?.proxyPort === undefined ? {} : proxyEnvironment(network.proxyPort);
  return {
    file,
    args: [
      ...['run', '--rm', '--pull', 'never', ...(endpoint ? [] : ['-i'])],
      ...(network ? [] : openNetworkArguments(container, endpoint)),
      ...(container.privileged === true ? ['--privileged'] : []),
      ...[...(container.volumes ?? []), ...(container.engine_volumes ?? [])].flatMap((volume) => ['-v', volume]),
      ...Object.entries(container.labels ?? {}).flatMap(([name, value]) => ['--label', `${name}=${value}`]),
      ...labels.flatMap((label) => ['--label', label]),
      ...['--', spec.image, ...(spec.args ?? [])],
    ],
    env: { ...declared, ...proxies },
    envFiles: spec.env_var_files ?? {},
    container: { clientEnv: engineEnvironment(tools.hostEnv), ...(network && { network }) },
  };
}

/** Identifies the owner. The last label of a name counts, so that no other label replaces these. */
export const ownLabels = (workload: string, stateDir: string): string[] => [
  `dev.vmcp.workload=${workload}`,
  `dev.vmcp.state=${createHash('sha256').update(stateDir).digest('hex').slice(0, 16)}`,
];

/** Returns the ports of an HTTP server. In the host network it listens on the port of this machine itself. */
function endpointOf({ target_port, container }: BackendProcess, { port }: PrepareRequest): PortPair | undefined {
  if (port === undefined) return undefined;
  return { port, targetPort: container?.network === 'host' ? port : (target_port ?? DEFAULT_TARGET_PORT) };
}

/** A server without a network needs the isolated one when it has ports, because engines publish none then. */
function isolatedNetworkOf(
  { image, container = {} }: BackendProcess,
  endpoint: PortPair | undefined,
  labels: readonly string[],
): IsolatedNetwork | undefined {
  const published = portPairs(container.publish);
  const closed = container.network === 'none';
  const hasPorts = endpoint !== undefined || published.length > 0;
  if (closed ? !hasPorts : container.isolation === undefined) return undefined;
  const used = [...published, ...(endpoint ? [endpoint] : [])].map(({ targetPort }) => targetPort);
  return {
    image,
    labels,
    isolation: container.isolation ?? {},
    ...(!closed && { proxyPort: proxyPortBeside(used) }),
    ...(endpoint && { endpoint }),
    published,
  };
}

function openNetworkArguments(
  { network, publish }: NonNullable<BackendProcess['container']>,
  endpoint: PortPair | undefined,
): string[] {
  const mode = network === undefined ? [] : ['--network', network];
  if (network === 'host') return mode;
  const pairs = [...(endpoint ? [endpoint] : []), ...portPairs(publish)];
  return [...mode, ...pairs.flatMap(({ port, targetPort }) => ['-p', `127.0.0.1:${port}:${targetPort}`])];
}

const portPairs = (publish: readonly string[] = []): PortPair[] =>
  publish.map((text) => {
    const [port = 0, targetPort = 0] = text.split(':').map(Number);
    return { port, targetPort };
  });
