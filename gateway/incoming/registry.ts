import type { TObject } from 'typebox';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import type { Problem } from '../contract/problem.ts';
import { readDocument } from '../contract/run-config/document.ts';
import type { ModeDeps, ModeScope, ResolvedMode } from './mode.ts';
import type { IncomingConfig, IssuerValidator, ValidatorDeps } from './token-validator.ts';

interface AnyMode {
  readonly type: string;
  readonly hasUsers: boolean;
  readonly acceptsAuthServer?: boolean;
  readonly config: TObject;
  resolve(spec: never, scope: ModeScope): ResolvedMode;
  check?(config: GatewayConfig): Problem[];
  issuer?(config: GatewayConfig): string;
  create(config: never, deps: ModeDeps): IssuerValidator | undefined;
}

/**
 * Functions that look a mode up by its type. The casts are safe: the schema of the mode has accepted its spec or its
 * configuration before.
 */
export function incomingRegistry(modes: readonly AnyMode[]) {
  const byType = new Map(modes.map((mode) => [mode.type, mode]));

  const named = (type: string): AnyMode => {
    const mode = byType.get(type);
    if (!mode) throw new Error(`no incoming mode "${type}"`);
    return mode;
  };

  return {
    hasUsers: (type: string): boolean => byType.get(type)?.hasUsers ?? false,
    acceptsAuthServer: (type: string): boolean => byType.get(type)?.acceptsAuthServer ?? false,

    /** Returns the issuer that the log names at start; undefined for a mode without one. */
    issuerOf: (config: GatewayConfig): string | undefined => named(config.vmcp.incoming.type).issuer?.(config),

    /** Lists the problems of `vmcp.incoming` that the schema of the document cannot find. Paths start at the document. */
    incomingProblems: (config: GatewayConfig): Problem[] => {
      const { type, config: own = {} } = config.vmcp.incoming;
      const mode = byType.get(type);
      if (!mode) {
        const message = `must be one of ${[...byType.keys()].join(', ')}`;
        return [{ reason: 'InvalidValue', path: 'vmcp.incoming.type', message }];
      }
      const read = readDocument(mode.config, own);
      const problems = 'problems' in read ? read.problems : [];
      const below = (path: string) => (path === '' ? '' : `.${path}`);
      return [
        ...problems.map((problem) => ({ ...problem, path: `vmcp.incoming.config${below(problem.path)}` })),
        ...(mode.check?.(config) ?? []),
      ];
    },

    /** Resolves `incomingAuth`. Paths of problems start at the member that the type names. */
    resolveMode: (spec: { readonly type: string }, scope: ModeScope): ResolvedMode => {
      const member: unknown = (spec as Readonly<Record<string, unknown>>)[spec.type];
      return named(spec.type).resolve(member as never, scope);
    },

    /** Returns undefined when clients are anonymous. Throws an Error for a configuration that cannot be enforced. */
    createValidator: (config: IncomingConfig, deps: ValidatorDeps): IssuerValidator | undefined => {
      const { type, config: own = {} } = config.vmcp.incoming;
      return named(type).create(own as never, { ...deps, document: config });
    },
  };
}
