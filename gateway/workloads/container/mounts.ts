import type { PermissionProfile } from '../../contract/container.ts';
import type { Problem } from '../../contract/problem.ts';
import type { RunConfig } from '../../contract/run-config/run-config.ts';

/** Mount of a host path or of a volume of the engine, as `host:container[:ro]`. */
export interface Mount {
  /** Absolute path, or the name of a volume. */
  readonly host: string;
  readonly container: string;
  readonly readOnly: boolean;
}

/** Mount or its problem, with its path in the run configuration. */
type Parsed = { readonly path: string } & ({ readonly mount: Mount } | { readonly problem: Problem });

/** Control characters, which no engine accepts in a path. */
const CONTROL = /\p{Cc}/u;
const SCHEME = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/isu;
/** Name of a volume of an engine. */
const VOLUME_NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/u;

/** Returns the mounts of `volumes` and of the `read` and `write` lists of the profile, those of volumes of the engine apart, and their problems. Pure. */
export function mountsOf(config: Pick<RunConfig, 'volumes'>, profile: PermissionProfile) {
  const parsed = [
    ...(config.volumes ?? []).map((text, at) => parseVolume(text, `volumes[${at}]`)),
    ...(profile.read ?? []).map((text, at) => parseAccess(text, true, `permission_profile.read[${at}]`)),
    ...(profile.write ?? []).map((text, at) => parseAccess(text, false, `permission_profile.write[${at}]`)),
  ];
  const problems = parsed.flatMap((one) => ('problem' in one ? [one.problem] : []));
  const [volumes, engineVolumes]: [string[], string[]] = [[], []];
  const used = new Set<string>();
  for (const one of parsed) {
    if (!('mount' in one)) continue;
    const { host, container, readOnly } = one.mount;
    if (used.has(container))
      problems.push(invalid(one.path, `mounts "${container}" a second time: remove one of them`));
    used.add(container);
    (host.startsWith('/') ? volumes : engineVolumes).push(`${host}:${container}${readOnly ? ':ro' : ''}`);
  }
  return { volumes, engineVolumes, problems };
}

function parseVolume(text: string, path: string): Parsed {
  const [host = '', container = '', mode = 'rw', ...rest] = text.split(':');
  if (container === '' || rest.length > 0 || !['ro', 'rw'].includes(mode)) {
    return { path, problem: invalid(path, 'must be host:container or host:container:ro') };
  }
  return checkMount({ host, container: tidyPath(container), readOnly: mode === 'ro' }, path);
}

/** Parses an entry of `read` or `write`: `path` or `host:container`, both also after `file://`, or `volume://NAME:container`. */
function parseAccess(text: string, readOnly: boolean, path: string): Parsed {
  const [, scheme, target = text] = SCHEME.exec(text) ?? [];
  if (scheme?.toLowerCase() === 'volume') return parseEngineVolume(target, readOnly, path);
  if (scheme !== undefined && scheme.toLowerCase() !== 'file') {
    const message = `vmcp cannot mount ${scheme}://: use a path, file:// or volume://`;
    return { path, problem: { reason: 'NotSupportedYet', path, message } };
  }
  const [host = '', container = host, ...rest] = target.split(':');
  if (rest.length > 0) return { path, problem: invalid(path, 'must be a path or host:container') };
  return checkMount({ host, container: tidyPath(container), readOnly }, path);
}

/** Parses `NAME:container` of a volume that the engine keeps. */
function parseEngineVolume(text: string, readOnly: boolean, path: string): Parsed {
  const [name = '', container = '', ...rest] = text.split(':');
  if (!VOLUME_NAME.test(name) || container === '' || rest.length > 0)
    return { path, problem: invalid(path, 'must be volume://NAME:container') };
  const fault = pathFault('container', container);
  if (fault !== undefined) return { path, problem: invalid(path, fault) };
  return checkTarget({ host: name, container: tidyPath(container), readOnly }, path);
}

function checkMount(mount: Mount, path: string): Parsed {
  const fault = pathFault('host', mount.host) ?? pathFault('container', mount.container);
  if (fault !== undefined) return { path, problem: invalid(path, fault) };
  if (tidyPath(mount.host) === '/') {
    const message = 'mounts the whole file system of this machine: mount the folder that the server needs';
    return { path, problem: invalid(path, message) };
  }
  return checkTarget(mount, path);
}

const checkTarget = (mount: Mount, path: string): Parsed =>
  mount.container === '/'
    ? { path, problem: invalid(path, 'cannot replace the root of the container') }
    : { path, mount };

function pathFault(side: 'host' | 'container', value: string): string | undefined {
  if (!value.startsWith('/')) return `the ${side} path must be absolute`;
  if (value.split('/').includes('..')) return `the ${side} path must not contain ".."`;
  return CONTROL.test(value) ? `the ${side} path must not contain control characters` : undefined;
}

/** Collapses slashes, so that two spellings of an absolute path are equal. */
const tidyPath = (path: string): string =>
  path.startsWith('/')
    ? `/${path
        .split('/')
        .filter((part) => part !== '')
        .join('/')}`
    : path;

const invalid = (path: string, message: string): Problem => ({ reason: 'InvalidValue', path, message });
