import { imageScheme } from '../../../resolve/backends/server-backend.ts';
import { quoted } from '../texts.ts';
import { variableOf, type HostVariable, type Setting, type Volume } from '../server-spec.ts';
import {
  readOptions,
  valuesOf,
  asItIs,
  ENV_NAME,
  noVariable,
  stdioServer,
  type Invocation,
  type ReadCommand,
} from './invocation.ts';

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

/** Mounts of a `docker run`, or the first that vmcp cannot have, with the reason. */
export type ReadMounts = { readonly volumes: readonly Volume[] } | { readonly leftOut: string };

type Mount = Omit<Volume, 'name'>;

const SOURCE = ['src', 'source'];
const TARGET = ['dst', 'target', 'destination'];
const READ_ONLY = ['ro', 'readonly'];

/** Reads `-v HOST:CONTAINER[:ro]` and `--mount type=bind,src=HOST,dst=CONTAINER[,readonly]`. `advice` ends the reason for any other form. */
function readMounts(options: readonly (readonly [option: string, value: string])[], advice: string): ReadMounts {
  const volumes: Volume[] = [];
  for (const [option, text] of options) {
    const mount = option === '--mount' ? readMount(text) : readVolume(text);
    if (mount === undefined)
      return { leftOut: `vmcp has no equivalent of docker run ${option} ${quoted(text)}${advice}` };
    if (!mount.hostPath.startsWith('/')) {
      return { leftOut: `the mount ${quoted(text)} does not begin with an absolute path: write one` };
    }
    volumes.push({ name: `mount-${volumes.length + 1}`, ...mount });
  }
  return { volumes };
}

function readVolume(text: string): Mount | undefined {
  const [hostPath, mountPath, mode = 'rw', ...rest] = text.split(':');
  if (hostPath === undefined || mountPath === undefined || rest.length > 0) return undefined;
  if (mode !== 'ro' && mode !== 'rw') return undefined;
  return { hostPath, mountPath, ...(mode === 'ro' && { readOnly: true }) };
}

function readMount(text: string): Mount | undefined {
  const members = new Map(
    text.split(',').map((part) => {
      const [, name = part, value = 'true'] = /^([^=]*)=(.*)$/su.exec(part) ?? [];
      return [name, value];
    }),
  );
  const known = ['type', ...SOURCE, ...TARGET, ...READ_ONLY];
  if (members.get('type') !== 'bind' || [...members.keys()].some((name) => !known.includes(name))) return undefined;
  const valueOf = (names: readonly string[]) =>
    names.map((name) => members.get(name)).find((value) => value !== undefined);
  const [hostPath, mountPath, readOnly] = [SOURCE, TARGET, READ_ONLY].map(valueOf);
  if (hostPath === undefined || mountPath === undefined) return undefined;
  return { hostPath, mountPath, ...(['true', '1'].includes(readOnly ?? '') && { readOnly: true }) };
}
