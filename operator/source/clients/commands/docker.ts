import { imageScheme } from '../../../resolve/backends/images.ts';
import { quoted } from '../quoted.ts';
import { variableOf } from '../setting.ts';
import type { HostVariable, Setting } from '../server-spec.ts';
import { readOptions, valuesOf } from './command-options.ts';
import { readMounts } from './docker-mounts.ts';
import { asItIs, ENV_NAME, noVariable, stdioServer, type Invocation, type ReadCommand } from './invocation.ts';

const OPTIONS = {
  flags: ['-i', '--interactive', '-t', '--tty', '--rm', '--init', '-q', '--quiet'],
  valued: ['-e', '--env', '--name', '--pull', '-v', '--volume', '--mount', '--network', '--net'],
};
/** Networks with an equivalent: `none`, and the names of the default one. */
const NETWORKS = ['none', 'bridge', 'default'];

/** `docker run -i --rm [-e NAME[=VALUE]]... [-v HOST:CONTAINER]... IMAGE [ARGS]`, also with podman. */
export const docker: ReadCommand = (invocation) => {
  const [verb, ...args] = invocation.args[0] === 'container' ? invocation.args.slice(1) : invocation.args;
  const advice = asItIs(/podman[^\\/]*$/iu.test(invocation.program) ? 'podman' : 'docker');
  if (verb !== 'run') return { leftOut: `vmcp has an equivalent of "docker run" only${advice}` };
  const options = readOptions(args, OPTIONS);
  if (options.unknown !== undefined)
    return { leftOut: `vmcp has no equivalent of docker run ${options.unknown}${advice}` };
  const mounts = readMounts(
    options.values.filter(([option]) => ['-v', '--volume', '--mount'].includes(option)),
    advice,
  );
  if ('leftOut' in mounts) return mounts;
  const networks = valuesOf(options, '--network', '--net');
  const foreign = networks.find((network) => !NETWORKS.includes(network));
  if (foreign !== undefined)
    return { leftOut: `vmcp has no equivalent of docker run --network ${quoted(foreign)}${advice}` };
  const [image, ...rest] = options.rest;
  if (image === undefined) return { leftOut: 'docker run has no image' };
  if (imageScheme(image) !== 'oci') return { leftOut: `${quoted(image)} is not a container image` };
  const passed = valuesOf(options, '-e', '--env').map((text) => passedVariable(text, invocation));
  const byName = new Map(passed.map((setting) => [setting.name, setting]));
  const wrong = [...byName.keys()].find((name) => !ENV_NAME.test(name));
  if (wrong !== undefined) return { leftOut: noVariable(wrong) };
  const reading = stdioServer(image, rest, [...byName.values()], {}, unpassed(invocation, byName));
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

/** Warns about variables that only docker itself gets, which authors of a file often expect in the container. */
function unpassed({ env }: Invocation, passed: ReadonlyMap<string, unknown>): string[] {
  const names = [...env.keys()].filter((name) => !passed.has(name));
  if (names.length === 0) return [];
  return [
    `docker run passes only the variables of -e, so ${names.join(', ')} is left out: add it to env if the server reads it`,
  ];
}

/** Returns the variable of `-e NAME=VALUE`, or of `-e NAME`, whose value docker takes from its own environment. */
function passedVariable(text: string, { env }: Invocation): Setting | HostVariable {
  const [, name = text, value] = /^([^=]*)=(.*)$/su.exec(text) ?? [];
  return variableOf(name, value ?? env.get(name) ?? `\${env:${name}}`);
}
