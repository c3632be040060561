import type { Static, TObject } from 'typebox';
import type { Problem } from './problem.ts';
import type { Rule } from './rule.ts';

/** What `resolve` of a variant may look at, and where it reports mistakes. */
export interface VariantScope {
  /** Names in `authServerConfig.upstreamProviders`. */
  readonly upstreams: ReadonlySet<string>;
  /** Path below the gateway's secrets folder under which this key will be mounted. */
  secretFile(ref: { readonly name: string; readonly key: string }): string;
  /** Reports a URL that this gateway may not speak to. The flags are those of the block that names it. */
  checkUrl(url: string, path: string, flags: UrlFlags): void;
  /** Paths start at the spec of this variant. */
  problem(problem: Problem): void;
}

/** What a block that names a URL allows for it. */
export interface UrlFlags {
  readonly allowPrivateIPs?: boolean;
  readonly insecureAllowHTTP?: boolean;
}

/**
 * One member of a registry as resources see it: an enum value, the member of the same name, its rules.
 * Where `spec` is undefined the type alone says everything and the member does not exist.
 */
export interface Declaration<
  Type extends string = string,
  Spec extends TObject | undefined = TObject | undefined,
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

type Value<Spec extends TObject | undefined> = Spec extends TObject ? Static<Spec> : undefined;

/**
 * A variant that works. One file says what a resource holds (`spec`), what the gateway reads (`config`), how the one
 * becomes the other (`resolve`, pure) and what it does (`create`, in the gateway only).
 */
export interface Variant<
  Type extends string,
  Spec extends TObject | undefined,
  Config extends TObject,
  Deps,
  Runtime,
> extends Declaration<Type, Spec, true> {
  readonly config: Config;
  resolve(spec: Value<Spec>, scope: VariantScope): Static<Config>;
  create(config: Static<Config>, deps: Deps): Runtime;
}
