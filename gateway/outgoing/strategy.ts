import { Type, type Static, type TObject } from 'typebox';
import { invalid, type Problem } from '../contract/problem.ts';
import type { Variant, VariantScope } from '../contract/variant.ts';
import type { Authenticator, StrategyDeps } from './authenticator.ts';
import { Closed } from '../contract/fields.ts';
import type { OutgoingEntry } from '../contract/gateway-config.ts';
import { readDocument } from '../contract/run-config/document.ts';

/** Obtains the credential for a backend (boundary 2). */
interface Strategy<Type extends string, Spec extends TObject | undefined, Config extends TObject> extends Variant<
  Type,
  Spec,
  Config,
  StrategyDeps,
  Authenticator
> {
  /** True when the credential belongs to the user; anonymous clients have none. */
  readonly perUser: boolean;
  /** True when the credential comes from a login at the embedded authorization server. */
  readonly needsAuthServer?: boolean;
  /** True when each request is signed, which only the transport streamable-http can. */
  readonly signs?: boolean;
  /** Lists problems that the schema of `config` cannot find. Paths start at the configuration of this strategy. */
  check?(config: Static<Config>): Problem[];
}

export const defineStrategy = <const Type extends string, Spec extends TObject | undefined, Config extends TObject>(
  strategy: Omit<Strategy<Type, Spec, Config>, 'supported'>,
): Strategy<Type, Spec, Config> => ({ ...strategy, supported: true });

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
      return { problems: [invalid('type', message)] };
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
