import { parseArgs } from 'node:util';
import { KINDS, type Kind } from './result.ts';

/** Entries of the registries by kind, as names. */
export type Names = Readonly<Record<Kind, readonly string[]>>;

export interface Options {
  /** Names of the entries to run, by kind. */
  readonly chosen: Names;
  /** True for a run of everything, which continues an interrupted one. */
  readonly isWhole: boolean;
  /** True forgets the entries that an interrupted run has finished. */
  readonly fresh: boolean;
}

export const USAGE =
  'usage: make interop [ONLY=keycloak,servers] [PROVIDERS=dex] [CLIENTS=go-sdk] [SERVERS=memory,fetch] [FRESH=1]';

/** A wrong flag; `message` names a valid form. */
export class UsageError extends Error {}

const list = (value = ''): string[] => value.split(',').filter((item) => item !== '');

/**
 * Parses the command line. `--only` takes kinds (`servers`) and names of any kind; `--providers`, `--clients` and
 * `--servers` take names of their kind. Without any of them everything is chosen. @throws UsageError that names the flag
 */
export function parseOptions(argv: readonly string[], known: Names): Options {
  const { values } = parse(argv);
  const fresh = values.fresh;
  const only = list(values.only);
  const named = { provider: list(values.providers), client: list(values.clients), server: list(values.servers) };
  const unknown = only.find((item) => !KINDS.some((kind) => item === `${kind}s` || known[kind].includes(item)));
  if (unknown !== undefined) throw new UsageError(`--only takes kinds (servers) and names, not "${unknown}"`);
  for (const kind of KINDS) {
    const wrong = named[kind].find((name) => !known[kind].includes(name));
    if (wrong !== undefined) throw new UsageError(`--${kind}s takes ${known[kind].join(', ')}, not "${wrong}"`);
  }
  if (only.length === 0 && KINDS.every((kind) => named[kind].length === 0))
    return { chosen: known, isWhole: true, fresh };
  const choose = (kind: Kind): string[] =>
    known[kind].filter((name) => only.includes(`${kind}s`) || only.includes(name) || named[kind].includes(name));
  return {
    chosen: { provider: choose('provider'), client: choose('client'), server: choose('server') },
    isWhole: false,
    fresh,
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        only: { type: 'string' },
        providers: { type: 'string' },
        clients: { type: 'string' },
        servers: { type: 'string' },
        fresh: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
