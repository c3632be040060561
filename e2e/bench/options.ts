import { parseArgs } from 'node:util';

/** Targets of the load; `gateway` is the built vmcp. */
export const TARGETS = ['gateway', 'bare-proxy'] as const;
export type Target = (typeof TARGETS)[number];

export interface Options {
  readonly rounds: number;
  readonly seconds: number;
  /** Numbers of connections of W1. */
  readonly connections: readonly number[];
  /** Ids of the workloads to run, in upper case; undefined for all. */
  readonly only: readonly string[] | undefined;
  readonly targets: readonly Target[];
  /** Repository whose built gateway is measured; undefined: this one. */
  readonly checkout: string | undefined;
  readonly json: string;
}

export const USAGE =
  'usage: node e2e/bench/main.ts [--rounds 7] [--seconds 4] [--connections 1,32,256] [--only W1,W4] ' +
  '[--targets gateway,bare-proxy] [--checkout DIR] [--json FILE]';

/** A wrong flag; `message` names a valid form. */
export class UsageError extends Error {}

function positive(flag: string, value: string): number {
  const number = Number(value);
  if (!(number > 0)) throw new UsageError(`--${flag} takes a number above 0, not "${value}"`);
  return number;
}

function count(flag: string, value: string): number {
  const number = positive(flag, value);
  if (!Number.isInteger(number)) throw new UsageError(`--${flag} takes whole numbers, not "${value}"`);
  return number;
}

function list(value: string): string[] {
  return value.split(',').filter((item) => item !== '');
}

/** Parses the command line. @throws UsageError that names the flag */
export function parseOptions(argv: readonly string[], workloadIds: readonly string[]): Options {
  const { values } = parse(argv);
  const targets = list(values.targets).map((name) => {
    const target = TARGETS.find((known) => known === name);
    if (target === undefined) throw new UsageError(`--targets takes ${TARGETS.join(', ')}, not "${name}"`);
    return target;
  });
  if (targets.length === 0) throw new UsageError(`--targets takes at least one of ${TARGETS.join(', ')}`);
  const only = values.only === undefined ? undefined : list(values.only).map((id) => id.toUpperCase());
  const unknown = only?.find((id) => !workloadIds.includes(id));
  if (unknown !== undefined) throw new UsageError(`--only takes ${workloadIds.join(', ')}, not "${unknown}"`);
  return {
    rounds: count('rounds', values.rounds),
    seconds: positive('seconds', values.seconds),
    connections: list(values.connections).map((value) => count('connections', value)),
    only,
    targets,
    checkout: values.checkout,
    json: values.json,
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        rounds: { type: 'string', default: '7' },
        seconds: { type: 'string', default: '4' },
        connections: { type: 'string', default: '1,32,256' },
        only: { type: 'string' },
        targets: { type: 'string', default: TARGETS.join(',') },
        checkout: { type: 'string' },
        json: { type: 'string', default: '.cache/bench.json' },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
