import { imageScheme } from '../../../resolve/backends/images.ts';
import { quoted } from '../quoted.ts';
import { variableOf } from '../setting.ts';
import type { HostVariable, Setting } from '../server-spec.ts';
import { readOptions, valuesOf } from './command-options.ts';
import { readMounts } from './docker-mounts.ts';
import { stdioServer, type Invocation, type ReadCommand } from './invocation.ts';

const OPTIONS = {
  flags: ['-i', '--interactive', '-t', '--tty', '-it', '-ti', '--rm', '--init', '-q', '--quiet'],
  valued: ['-e', '--env', '--name', '--pull', '-v', '--volume', '--mount', '--network', '--net'],
};
/** Networks with an equivalent: `none`, and the names of the default one. */
const NETWORKS = ['none', 'bridge', 'default'];

/** `docker run -i --rm [-e NAME[=VALUE]]... [-v HOST:CONTAINER]... IMAGE [ARGS]`, also with podman. */
export const docker: ReadCommand = (invocation) => {
  const [verb, ...args] = invocation.args[0] === 'container' ? invocation.args.slice(1) : invocation.args;
  if (verb !== 'run') return { leftOut: 'vmcp has an equivalent of "docker run" only' };
  const options = readOptions(args, OPTIONS);
  if (options.unknown !== undefined) return { leftOut: `vmcp has no equivalent of docker run ${options.unknown}` };
  const mounts = readMounts(options.values.filter(([option]) => ['-v', '--volume', '--mount'].includes(option)));
  if ('leftOut' in mounts) return mounts;
  const networks = valuesOf(options, '--network', '--net');
  const foreign = networks.find((network) => !NETWORKS.includes(network));
  if (foreign !== undefined) return { leftOut: `vmcp has no equivalent of docker run --network ${quoted(foreign)}` };
  const [image, ...rest] = options.rest;
  if (image === undefined) return { leftOut: 'docker run has no image' };
  if (imageScheme(image) !== 'oci') return { leftOut: `${quoted(image)} is not a container image` };
  const passed = valuesOf(options, '-e', '--env').map((text) => passedVariable(text, invocation));
  const byName = new Map(passed.map((setting) => [setting.name, setting]));
  const reading = stdioServer(image, rest, [...byName.values()]);
  const { volumes } = mounts;
  return {
    ...reading,
    server: {
      ...reading.server,
      ...(volumes.length > 0 && { volumes }),
      ...(networks.includes('none') && { permissionProfile: { name: 'none' } }),
    },
  };
};

/** Returns the variable of `-e NAME=VALUE`, or of `-e NAME`, whose value docker takes from its own environment. */
function passedVariable(text: string, { env }: Invocation): Setting | HostVariable {
  const [, name = text, value] = /^([^=]*)=(.*)$/su.exec(text) ?? [];
  return variableOf(name, value ?? env.get(name) ?? `\${env:${name}}`);
}
