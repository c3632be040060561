import { Type, type TObject } from 'typebox';
import { Closed } from '../contract/fields.ts';
import type { OutgoingEntry } from '../contract/gateway-config.ts';
import type { Problem } from '../contract/problem.ts';
import { readDocument } from '../contract/run-config/document.ts';
import type { VariantScope } from '../contract/variant.ts';
import type { Authenticator, StrategyDeps } from './authenticator.ts';

/** Strategy of any type. */
interface AnyStrategy {
  readonly type: string;
  readonly config: TObject;
  resolve(spec: never, scope: VariantScope): object;
  create(config: never, deps: StrategyDeps): Authenticator;
  check?(config: never): Problem[];
}

/** `headerInjection` -> `header_injection`. */
export const fileType = (type: string): string => type.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);

/**
 * Functions that look a strategy up by its type. The casts are safe: the schema of the strategy has accepted its spec
 * or its configuration before.
 */
export function outgoingRegistry(strategies: readonly AnyStrategy[]) {
  const byFileType = new Map(strategies.map((strategy) => [fileType(strategy.type), strategy]));

  const named = (type: string): AnyStrategy => {
    const strategy = byFileType.get(type);
    if (!strategy) throw new Error(`no outgoing strategy "${type}"`);
    return strategy;
  };

  /** Creates the authenticator of one backend from an entry that `readOutgoingEntry` has accepted. */
  const createAuthenticator = ({ type, ...config }: OutgoingEntry, deps: StrategyDeps): Authenticator =>
    named(type).create(config as never, deps);

  /** Reads one entry of `vmcp.outgoing_auth`. Paths of problems start at the entry. */
  const readOutgoingEntry = (
    json: unknown,
  ): { readonly config: OutgoingEntry } | { readonly problems: readonly Problem[] } => {
    const type: unknown = (json as { type?: unknown } | null | undefined)?.type;
    const strategy = typeof type === 'string' ? byFileType.get(type) : undefined;
    if (!strategy) {
      const message = `must be one of ${[...byFileType.keys()].join(', ')}`;
      return { problems: [{ reason: 'InvalidValue', path: 'type', message }] };
    }
    const schema = Closed({ type: Type.Enum([fileType(strategy.type)]), ...strategy.config.properties });
    const read = readDocument(schema, json);
    if ('problems' in read) return read;
    const { type: _, ...config } = read.config;
    const problems = strategy.check?.(config as never) ?? [];
    return problems.length > 0 ? { problems } : { config: read.config };
  };

  /**
   * Resolves the spec of an MCPExternalAuthConfig to a configuration entry. Paths of problems start at the member that
   * the type names. Throws on a type that the registry does not list.
   */
  const resolveStrategy = (spec: { readonly type: string }, scope: VariantScope): OutgoingEntry => {
    const type = fileType(spec.type);
    const member: unknown = (spec as Readonly<Record<string, unknown>>)[spec.type];
    return { type, ...named(type).resolve(member as never, scope) };
  };

  return { createAuthenticator, readOutgoingEntry, resolveStrategy };
}
