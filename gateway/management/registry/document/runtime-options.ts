import type { EnvVar, ServerEntry } from '../schema/entries.ts';
import { isSafe } from './package-image.ts';

/** Settings that the options of a runtime stand for. */
export interface RuntimeSettings {
  readonly package?: ServerEntry['package'];
  readonly permissions?: NonNullable<ServerEntry['permissions']>;
  readonly env_vars?: readonly EnvVar[];
  readonly target_port?: number;
  /** Package to install in place of the package of the entry, whose name is then the command to run. */
  readonly from?: string;
}

type Draft = { -readonly [Name in keyof RuntimeSettings]: RuntimeSettings[Name] };

/** Applies an option. Returns false for a value that cannot be carried over. */
type Apply = (draft: Draft, value: string) => boolean | undefined;

/** Options of a runtime: null is a flag without an effect here. The others take a value, except those in `FLAGS`. */
type Options = Readonly<Record<string, Apply | null>>;

/** Flags with an effect. */
const FLAGS = new Set(['--privileged']);

/** Skips the value of an option without an effect here. */
const ignored: Apply = () => true;

const all = (names: string, apply: Apply | null): Options =>
  Object.fromEntries(names.split(' ').map((name) => [name, apply]));

const mounted: Apply = (draft, value) => {
  const [host = '', container, mode = 'rw'] = value.split(':');
  if (container === undefined || !/^(?:ro|rw)(?:,|$)/u.test(mode)) return false;
  return addMount(draft, host, container, mode.startsWith('ro'));
};

const bound: Apply = (draft, value) => {
  const parts = new Map(
    value.split(',').map((part) => [part.split('=', 1)[0] ?? '', part.slice(part.indexOf('=') + 1)] as const),
  );
  const [host, container] = [parts.get('source') ?? parts.get('src'), parts.get('target') ?? parts.get('dst')];
  if (parts.get('type') !== 'bind' || host === undefined || container === undefined) return false;
  const isReadOnly = ['readonly', 'ro'].some((name) => parts.has(name) && parts.get(name) !== 'false');
  return addMount(draft, host, container, isReadOnly);
};

function addMount(draft: Draft, host: string, container: string, isReadOnly: boolean): boolean {
  const isPath = /^[/~{]/u.test(host);
  const member = isReadOnly ? 'read' : 'write';
  const mount = `${isPath ? '' : 'volume://'}${host}:${container}`;
  draft.permissions = { ...draft.permissions, [member]: [...(draft.permissions?.[member] ?? []), mount] };
  return (/^[\w$./~{}-]+$/u.test(host) && container.startsWith('/')) || container.startsWith('{');
}

const installed =
  (name: string): Apply =>
  (draft, value) => {
    const { install_env: before } = draft.package ?? {};
    draft.package = { ...draft.package, install_env: { ...before, [name]: value } };
  };

/** Sets a place to install from. */
const installedFrom =
  (name: string): Apply =>
  (draft, value) => {
    const url = URL.parse(value);
    return url !== null && isSafe(url) && installed(name)(draft, value);
  };

const docker: Options = {
  ...all('run -i --interactive -t --tty -it -ti --rm --init -d --detach -q --quiet', null),
  ...all('--pull --name --label -l', ignored),
  ...all('-v --volume', mounted),
  '--mount': bound,
  ...all('--network --net', (draft, value) => {
    draft.permissions = { ...draft.permissions, network: { ...draft.permissions?.network, mode: value } };
  }),
  '--privileged': (draft) => {
    draft.permissions = { ...draft.permissions, privileged: true };
  },
  ...all('-e --env', (draft, value) => {
    const [name = '', ...rest] = value.split('=');
    const variable = {
      name,
      description: '',
      required: rest.length === 0,
      ...(rest.length > 0 && { default: rest.join('=') }),
    };
    draft.env_vars = [...(draft.env_vars ?? []), variable];
  }),
  ...all('-p --publish', (draft, value) => {
    const port = Number(value.split(':').at(-1)?.replace('/tcp', ''));
    if (!Number.isInteger(port)) return false;
    draft.target_port ??= port;
    return true;
  }),
};

const withPackage: Apply = (draft, value) => {
  draft.package = { ...draft.package, with: [...(draft.package?.with ?? []), value] };
};

const from: Apply = (draft, value) => {
  if (draft.from !== undefined) return false;
  draft.from = value;
  return true;
};

const npx: Options = {
  ...all('-y --yes -q --quiet --prefer-offline --prefer-online --', null),
  '--loglevel': ignored,
  ...all('-p --package', from),
  '--registry': installedFrom('npm_config_registry'),
};

const uvx: Options = {
  ...all('-q --quiet --no-progress --isolated --no-cache --refresh -n', null),
  '--cache-dir': ignored,
  '--from': from,
  ...all('-w --with', withPackage),
  ...all('-p --python', (draft, value) => {
    draft.package = { ...draft.package, python: value };
  }),
  ...all('--default-index --index-url -i', installedFrom('UV_DEFAULT_INDEX')),
  ...all('--index --extra-index-url', installedFrom('UV_INDEX')),
  '--prerelease': installed('UV_PRERELEASE'),
};

/** Programs that start packages of each registry. The first program starts packages without a hint. */
export const RUNTIMES = {
  oci: { hints: ['docker', 'podman'], options: docker },
  npm: { hints: ['npx'], options: npx },
  pypi: { hints: ['uvx'], options: uvx },
} as const;

/**
 * Reads the words between a runtime and the package. `own` lists the words that stand for the package itself, which is also the value
 * of `--from` or `--package` as the last word. Returns the reason why a word cannot be carried over.
 */
export function readOptions(
  words: readonly string[],
  { options, own }: { readonly options: Options; readonly own: readonly string[] },
): RuntimeSettings | { readonly reason: string } {
  const draft: Draft = {};
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    const [option = '', ...rest] = word.startsWith('-') ? word.split('=') : [word];
    if (own.includes(word)) continue;
    if (!Object.hasOwn(options, option)) return { reason: `the runtime argument ${word} cannot be carried over` };
    const apply = options[option];
    if (!apply || FLAGS.has(option)) {
      apply?.(draft, '');
      continue;
    }
    const value = rest.length > 0 ? rest.join('=') : words[(index += 1)];
    if (value === undefined && apply !== from) return { reason: `the runtime argument ${word} has no value` };
    if (apply(draft, value ?? own[0] ?? '') === false)
      return { reason: `the runtime argument ${word} ${value ?? ''} cannot be carried over` };
  }
  return draft;
}
