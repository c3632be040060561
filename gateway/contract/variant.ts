import type { Static, TObject, TSchema } from 'typebox';
import type { Problem } from './problem.ts';
import type { Rule } from './rule.ts';

/** Input of a variant's `resolve`, and its way to report problems. */
export interface VariantScope {
  /** Names in `authServerConfig.upstreamProviders`. */
  readonly upstreams: ReadonlySet<string>;
  /** Returns the path below the gateway's secrets folder at which this key will be mounted. */
  secretFile(ref: { readonly name: string; readonly key: string }): string;
  /** Reports a URL that this gateway may not send requests to. The flags are those of the block that names it. */
  checkUrl(url: string, path: string, flags: UrlFlags): void;
  /** Paths start at the spec of this variant. */
  problem(problem: Problem): void;
}

/** Flags of a block that names a URL. */
export interface UrlFlags {
  readonly allowPrivateIPs?: boolean;
  readonly insecureAllowHTTP?: boolean;
}

/**
 * Part of a variant that CRDs show: an enum value, the member of the same name and its rules.
 * Without `spec` the variant has no member.
 */
export interface Declaration<
  Type extends string = string,
  Spec extends TSchema | undefined = TObject | undefined,
  Supported extends boolean = boolean,
> {
  readonly type: Type;
  readonly description: string;
  readonly spec: Spec;
  /** Paths start at the spec of this variant. */
  readonly rules?: readonly Rule[];
  /** False: accepted and stored, but a server that uses it does not start (`NotSupportedYet`). */
  readonly supported: Supported;
}

type Value<Spec extends TSchema | undefined> = Spec extends TSchema ? Static<Spec> : undefined;

/**
 * A supported variant. One file holds the schema of the resource (`spec`), that of the gateway's configuration (`config`),
 * the conversion (`resolve`, pure) and the behaviour (`create`, in the gateway only).
 */
export interface Variant<
  Type extends string,
  Spec extends TSchema | undefined,
  Config extends TSchema,
  Deps,
  Runtime,
> extends Declaration<Type, Spec, true> {
  readonly config: Config;
  resolve(spec: Value<Spec>, scope: VariantScope): Static<Config>;
  create(config: Static<Config>, deps: Deps): Runtime;
}
