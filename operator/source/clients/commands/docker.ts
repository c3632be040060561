import { imageScheme } from '../../../resolve/backends/images.ts';
import { quoted } from '../quoted.ts';
import { variableOf } from '../setting.ts';
import type { HostVariable, Setting } from '../server-spec.ts';
import { readOptions, valuesOf } from './command-options.ts';
import { stdioServer, type Invocation, type ReadCommand } from './invocation.ts';

const OPTIONS = {
  flags: ['-i', '--interactive', '-t', '--tty', '-it', '-ti', '--rm', '--init', '-q', '--quiet'],
  valued: ['-e', '--env', '--name', '--pull'],
};

/** `docker run -i --rm [-e NAME[=VALUE]]... IMAGE [ARGS]`, also with podman. */
export const docker: ReadCommand = (invocation) => {
  const [verb, ...args] = invocation.args[0] === 'container' ? invocation.args.slice(1) : invocation.args;
  if (verb !== 'run') return { leftOut: 'vmcp has an equivalent of "docker run" only' };
  const options = readOptions(args, OPTIONS);
  if (options.unknown !== undefined) return { leftOut: `vmcp has no equivalent of docker run ${options.unknown}` };
  const [image, ...rest] = options.rest;
  if (image === undefined) return { leftOut: 'docker run has no image' };
  if (imageScheme(image) !== 'oci') return { leftOut: `${quoted(image)} is not a container image` };
  const passed = valuesOf(options, '-e', '--env').map((text) => passedVariable(text, invocation));
  const byName = new Map(passed.map((setting) => [setting.name, setting]));
  return stdioServer(image, rest, [...byName.values()]);
};

/** Returns the variable of `-e NAME=VALUE`, or of `-e NAME`, whose value docker takes from its own environment. */
function passedVariable(text: string, { env }: Invocation): Setting | HostVariable {
  const [, name = text, value] = /^([^=]*)=(.*)$/su.exec(text) ?? [];
  return variableOf(name, value ?? env.get(name) ?? `\${env:${name}}`);
}
