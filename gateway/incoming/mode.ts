import type { Static, TObject } from 'typebox';
import type { GatewayConfig, Incoming } from '../contract/gateway-config.ts';
import { invalid, type Problem } from '../contract/problem.ts';
import type { BundleRef } from '../contract/references.ts';
import type { Rule } from '../contract/rule.ts';
import type { Declaration, UrlFlags, Variant, VariantScope } from '../contract/variant.ts';
import type { IncomingConfig, IssuerValidator, ValidatorDeps } from './token-validator.ts';
import { readDocument } from '../contract/run-config/document.ts';

/** Input of a mode's `resolve`. Paths of problems start at the spec of the mode. */
interface ModeScope extends Pick<VariantScope, 'secretFile' | 'problem'> {
  /** Resolves `oidcConfig`, or the MCPOIDCConfig of `oidcConfigRef`. Returns undefined when there is none. */
  tokens(): ResolvedMode | undefined;
}

/** Members of the gateway's configuration that follow from a mode. */
interface ResolvedMode<Config = object> {
  readonly incoming?: Omit<Partial<Incoming>, 'type' | 'config'>;
  /** `vmcp.incoming.config`; absent when the mode has none. */
  readonly config?: Config;
  readonly oidc?: GatewayConfig['oidc_config'];
}

interface ModeDeps extends ValidatorDeps {
  /** The configuration that holds `vmcp.incoming`. */
  readonly document: IncomingConfig;
}

/** Authenticates the requests of clients. Its `config` is `vmcp.incoming.config`. */
interface IncomingMode<Type extends string, Spec extends TObject | undefined, Config extends TObject> extends Omit<
  Variant<Type, Spec, Config, ModeDeps, IssuerValidator | undefined>,
  'resolve'
> {
  /** False: all clients are anonymous. Access control and credentials of users have no effect. */
  readonly hasUsers: boolean;
  /** True: accepts the tokens that the embedded authorization server issues. */
  readonly acceptsAuthServer?: boolean;
  /** Members of `incomingAuth` that this mode alone reads, in addition to `spec`. */
  readonly members?: readonly string[];
  /** Rules whose paths start at `incomingAuth`. */
  readonly incomingRules?: readonly Rule[];
  resolve(spec: SpecOf<Spec>, scope: ModeScope): ResolvedMode<Static<Config>>;
  /** Lists the problems of a whole document that its schema cannot find. Paths start at the document. */
  check?(config: GatewayConfig): Problem[];
  /** Returns the issuer that the log names at start. */
  issuer?(config: GatewayConfig): string;
  /** Returns undefined when clients are anonymous. Throws an Error for a configuration that cannot be enforced. */
  create(config: Static<Config>, deps: ModeDeps): IssuerValidator | undefined;
}

type SpecOf<Spec extends TObject | undefined> = Spec extends TObject ? Static<Spec> : undefined;

export const defineMode = <const Type extends string, Spec extends TObject | undefined, Config extends TObject>(
  mode: Omit<IncomingMode<Type, Spec, Config>, 'supported'>,
): IncomingMode<Type, Spec, Config> => ({ ...mode, supported: true });

/** Input of a source's `resolve`. Paths of problems start at the spec of the source. */
export interface SourceScope extends Pick<VariantScope, 'secretFile' | 'problem'> {
  readonly mode: 'local' | 'cluster';
  /** Returns the path of the file that will hold the bundle at `path`; undefined without a reference. */
  bundleFile(ref: BundleRef | undefined, path: string): string | undefined;
  /** Reports a URL that this gateway may not send requests to. */
  checkUrl(url: string | undefined, path: string, flags: UrlFlags): void;
  warning(problem: Problem): void;
}

/** The part of the gateway's configuration that follows from a source alone. */
export interface ResolvedSource {
  readonly oidc: NonNullable<GatewayConfig['oidc_config']>;
  readonly incoming: Pick<Incoming, 'source' | 'introspection' | 'service_account' | 'namespace' | 'use_cluster_auth'>;
}

/** Defines a source of tokens: `resolve` turns resources into configuration, `create` makes the validator. */
export const defineSource = <const Type extends string, Spec extends TObject | undefined, Holder>(
  source: Omit<Declaration<Type, Spec>, 'supported'> & {
    resolve(spec: Holder, scope: SourceScope): ResolvedSource;
    /** Throws an Error for a configuration that cannot be enforced. */
    create(config: IncomingConfig, deps: ValidatorDeps): IssuerValidator;
  },
) => ({ ...source, supported: true as const });

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

    /** Returns the issuer that the log names at start; undefined for a mode without an issuer. */
    issuerOf: (config: GatewayConfig): string | undefined => named(config.vmcp.incoming.type).issuer?.(config),

    /** Lists the problems of `vmcp.incoming` that the schema of the document cannot find. Paths start at the document. */
    incomingProblems: (config: GatewayConfig): Problem[] => {
      const { type, config: own = {} } = config.vmcp.incoming;
      const mode = byType.get(type);
      if (!mode) {
        const message = `must be one of ${[...byType.keys()].join(', ')}`;
        return [invalid('vmcp.incoming.type', message)];
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
