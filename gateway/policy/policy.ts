import type { Static, TObject } from 'typebox';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import type { Identity } from '../contract/identity.ts';
import type { Problem } from '../contract/problem.ts';
import type { Variant } from '../contract/variant.ts';
import type { Buckets, RateLimitObserver } from './rate-limit/buckets.ts';

/** Name and version that a client sent in `initialize`. Unverified; empty when absent. */
export interface ClientInfo {
  readonly name: string;
  readonly version: string;
}

/** The session of a call, as far as policies and observers may read it. */
export interface SessionFacts {
  readonly id: string;
  /** Issuer and subject of the owner, or `anonymous`. */
  readonly principal: string;
  /** Negotiated MCP revision. */
  readonly revision: string;
  readonly client: ClientInfo;
}

/** Client, method, item and backend of one forwarded call. */
export interface CallFacts {
  readonly session: SessionFacts;
  readonly method: string;
  /** Advertised name of the tool or prompt, or URI of the resource. For a completion: that of the item it completes. */
  readonly name: string;
  readonly backend: string;
}

/** A call that waits for the decision of a policy. */
export interface PolicyCall extends CallFacts {
  /** Identity that the request proved; undefined: anonymous. */
  readonly identity: Identity | undefined;
  /** JSON text of the arguments of `tools/call` and `prompts/get`; undefined for other methods. */
  readonly arguments: Buffer | undefined;
  /** The item that is called, read or completed. Its `name` and `backend` are those of the call. */
  readonly item: ListedItem;
  /**
   * Returns the JSON text of each argument by name. Returns undefined when two names are equal or differ only in case: a backend
   * may then read the other one. Reads `arguments` at each call.
   */
  readArguments(): ReadonlyMap<string, string> | undefined;
  /** Aborted when the client cancels the call or leaves while a policy decides. */
  readonly signal: AbortSignal;
}

export interface Allow {
  readonly verdict: 'allow';
  /** Longest reply, in bytes. A longer reply fails the call. The smallest limit of all policies applies. */
  readonly maxReplyBytes?: number;
}

/**
 * Rejection of a call: 403, 429 with `retryAfterSeconds`, or 503 if also `isOutage`, and a JSON-RPC error with a fixed
 * code.
 */
export interface Deny {
  readonly verdict: 'deny';
  /** Stable word for programs: `data.reason` of the error. */
  readonly reason: string;
  /** One sentence for the user. */
  readonly message: string;
  readonly retryAfterSeconds?: number;
  /** True when the policy could not decide, because something that it needs is down. */
  readonly isOutage?: boolean;
}

/** Rejection of a call until its token has more scopes. @see RFC 6750 section 3.1, insufficient_scope */
export interface Challenge {
  readonly verdict: 'challenge';
  readonly scopes: readonly string[];
  /** One sentence for the user. */
  readonly message: string;
}

export type Decision = Allow | Deny | Challenge;

export const ALLOW: Allow = Object.freeze({ verdict: 'allow' });

/** One entry of a list that a client requests, or the entry that a call names. */
export interface ListedItem {
  /** A read through a template is one of `resources`. */
  readonly kind: 'tools' | 'resources' | 'templates' | 'prompts';
  /** Advertised name, URI or URI template. */
  readonly name: string;
  /** Empty for an item that does not exist. */
  readonly backend: string;
  /** JSON text of the entry as clients see it; undefined when no list has it. */
  readonly json: Buffer | undefined;
}

/** Principal that requests a list; the identity is undefined for anonymous clients. */
export interface Viewer {
  readonly principal: string;
  readonly identity: Identity | undefined;
}

/** A rule of one virtual server that allows or rejects calls. */
export interface Policy {
  /**
   * Decides before the call is queued at its backend. Policies run in the order of the registry, and the first that
   * does not allow the call ends it. A policy limits its own waits; one that throws or rejects denies the call.
   */
  decide(call: PolicyCall): Decision | Promise<Decision>;
  /**
   * Decides on a call of an item that is not in the view of the client, before the client gets the error of its method; absent: it
   * gets that error. A policy that hides items rejects such a call exactly as one that it denies, after the same time.
   */
  decideUnknown?(call: PolicyCall): Decision | Promise<Decision>;
  /**
   * Returns false for an item that the lists of this viewer omit; absent: every item is listed. Results are cached per
   * identity until the lists change, so they may depend on the arguments alone. Calls of an omitted item still reach `decide`.
   */
  isListed?(item: ListedItem, viewer: Viewer): boolean;
}

/** Services that policies get from outside. */
export interface PolicyDeps {
  /** ms since the epoch. */
  readonly now: () => number;
  /** Name of the virtual server. */
  readonly server: string;
  /** Token buckets of this virtual server; they outlive a new configuration. */
  readonly buckets: Buckets;
  readonly rateLimits: RateLimitObserver;
}

/** Facts about the virtual server that the check of a configuration needs. */
export interface PolicyFacts {
  /** False: all clients are anonymous. */
  readonly hasUsers: boolean;
}

/** A kind of policy: what a resource holds, what the gateway reads, and how it decides. */
export interface PolicyVariant<
  Type extends string,
  Spec extends TObject | undefined,
  Config extends TObject,
> extends Variant<Type, Spec, Config, PolicyDeps, Policy> {
  /** Member of the gateway's configuration that holds `config`; without it the policy is off. */
  readonly member: keyof GatewayConfig;
  /** True for a policy that decides by user: it is invalid for anonymous clients. */
  readonly needsUsers?: true;
  /** Members that have an effect only together with `member`. */
  readonly alsoReads?: readonly (keyof GatewayConfig)[];
  /** Lists problems that the schema of `config` cannot express, with paths in `config`. */
  check?(config: Static<Config>, facts: PolicyFacts): Problem[];
}

export const definePolicy = <const Type extends string, Spec extends TObject | undefined, Config extends TObject>(
  policy: Omit<PolicyVariant<Type, Spec, Config>, 'supported'>,
): PolicyVariant<Type, Spec, Config> => ({ ...policy, supported: true });
