import { quoted } from '../quoted.ts';
import type { Volume } from '../server-spec.ts';

/** Mounts of a `docker run`, or the first that vmcp cannot have, with the reason. */
export type ReadMounts = { readonly volumes: readonly Volume[] } | { readonly leftOut: string };

type Mount = Omit<Volume, 'name'>;

const SOURCE = ['src', 'source'];
const TARGET = ['dst', 'target', 'destination'];
const READ_ONLY = ['ro', 'readonly'];

/** Reads `-v HOST:CONTAINER[:ro]` and `--mount type=bind,src=HOST,dst=CONTAINER[,readonly]`. `advice` ends the reason for any other form. */
export function readMounts(options: readonly (readonly [option: string, value: string])[], advice: string): ReadMounts {
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
