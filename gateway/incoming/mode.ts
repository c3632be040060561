import type { TObject } from 'typebox';
import type { GatewayConfig, Incoming } from '../contract/gateway-config.ts';
import type { Problem } from '../contract/problem.ts';
import type { BundleRef } from '../contract/references.ts';
import type { Declaration, UrlFlags, VariantScope } from '../contract/variant.ts';
import type { IncomingConfig, IssuerValidator, ValidatorDeps } from './token-validator.ts';

/** A mode, or a source of tokens, as resources name it. */
export const declareIncoming = <
  const Type extends string,
  Spec extends TObject | undefined,
  const Supported extends boolean,
>(
  mode: Declaration<Type, Spec, Supported>,
): Declaration<Type, Spec, Supported> => mode;

/** What `resolve` of a source may look at, and where it reports mistakes. Paths start at the spec of the source. */
export interface SourceScope extends Pick<VariantScope, 'secretFile' | 'problem'> {
  readonly mode: 'local' | 'cluster';
  /** Path of the file in which the bundle at `path` will stand; undefined without one. */
  bundleFile(ref: BundleRef | undefined, path: string): string | undefined;
  /** Reports a URL that this gateway may not speak to. */
  checkUrl(url: string | undefined, path: string, flags: UrlFlags): void;
  warning(problem: Problem): void;
}

/** The part of the gateway's configuration that follows from a source alone. */
export interface ResolvedSource {
  readonly oidc: NonNullable<GatewayConfig['oidc_config']>;
  readonly incoming: Pick<Incoming, 'source' | 'introspection' | 'service_account' | 'namespace' | 'use_cluster_auth'>;
}

/** A source of tokens: `resolve` says how what a resource holds becomes what the gateway reads, `create` what it does. */
export const defineSource = <const Type extends string, Spec extends TObject | undefined, Holder>(
  source: Omit<Declaration<Type, Spec>, 'supported'> & {
    resolve(spec: Holder, scope: SourceScope): ResolvedSource;
    /** Throws an Error for a configuration that cannot be enforced. */
    create(config: IncomingConfig, deps: ValidatorDeps): IssuerValidator;
  },
) => ({ ...source, supported: true as const });
