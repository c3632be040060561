import type { Static, TSchema } from 'typebox';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import type { Identity } from '../contract/identity.ts';
import type { Logger } from '../contract/logger.ts';
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
  /**
   * JSON text of the arguments of `tools/call` and `prompts/get`, as an earlier policy may have replaced them; undefined
   * for other methods, and for a call without arguments.
   */
  readonly arguments: Buffer | undefined;
  /** The item that is called, read or completed. Its `name` and `backend` are those of the call. */
  readonly item: ListedItem;
  /**
   * Returns the JSON text of each argument by name; an empty text where `isRead` returns false. Returns undefined when two names are
   * equal or differ only in case, as a backend may then read the other one, and for more than 1,000 arguments. Reads `arguments` at
   * each call.
   */
  readArguments(isRead?: (name: string) => boolean): ReadonlyMap<string, string> | undefined;
  /** True for more than 1,000 arguments. */
  readonly hasTooManyArguments?: boolean;
  /** Aborted when the client cancels the call or leaves while a policy decides. */
  readonly signal: AbortSignal;
}

export interface Allow {
  readonly verdict: 'allow';
  /** Longest reply, in bytes. A longer reply fails the call. The smallest limit of all policies applies. */
  readonly maxReplyBytes?: number;
  /**
   * JSON text of an object that replaces the arguments of `tools/call` or `prompts/get`. Later policies read it, and earlier
   * ones that read arguments decide again.
   */
  readonly arguments?: Buffer;
}

/** Rejection of a call: 403, or 429 with `retryAfterSeconds`, and a JSON-RPC error with a fixed code. */
export interface Deny {
  readonly verdict: 'deny';
  /** Stable word for programs: `data.reason` of the error. */
  readonly reason: string;
  /** One sentence for the user. */
  readonly message: string;
  readonly retryAfterSeconds?: number;
}

/** Rejection of a call until its token has more scopes. @see RFC 6750 section 3.1, insufficient_scope */
export interface Challenge {
  readonly verdict: 'challenge';
  readonly scopes: readonly string[];
  /** One sentence for the user. */
  readonly message: string;
}

/** No decision, because a service that the policy needs does not answer: 503 and a JSON-RPC error. */
export interface Failure {
  readonly verdict: 'fail';
  /** Stable word for programs: `data.reason` of the error. */
  readonly reason: string;
  /** One sentence for the user. */
  readonly message: string;
  readonly retryAfterSeconds?: number;
}

export type Decision = Allow | Deny | Challenge | Failure;

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
  /** True when `decide` depends on the arguments: it decides again after a later policy has replaced them. */
  readonly readsArguments?: boolean;
  /** True when `decide` counts calls: it does not decide again on a call that continues with the client's input. */
  readonly countsCalls?: boolean;
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
  /** Advertised names of tools in its configuration, each with the problem to report while no tool has the name. */
  readonly namedTools?: readonly NamedTool[];
}

export interface NamedTool {
  readonly name: string;
  /** The path starts at the gateway's configuration. */
  readonly unmatched: Problem;
}

/** Destination and trust of requests to one configured URL. */
export interface PolicyClientOptions {
  readonly url: string;
  readonly allowPrivateIPs: boolean;
  readonly insecureAllowHTTP: boolean;
  /** PEM files, followed when they change. */
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly insecureSkipVerify?: boolean | undefined;
}

export interface PolicyPost {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly maxReplyBytes: number;
  /** Time limit of the whole request: look-up, connection, reply. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** POSTs to one URL through the outbound guard. Rejects with an Error that quotes no reply; redirects are replies. */
export type PolicyClient = (post: PolicyPost) => Promise<{ readonly status: number; readonly body: string }>;

/** Request of a policy to a service. */
export interface ServiceUse {
  /** Name of the service in the configuration. */
  readonly name: string;
  readonly role: string;
  readonly outcome: string;
  readonly seconds: number;
}

/** Services that policies get from outside. */
export interface PolicyDeps {
  /** ms since the epoch. */
  readonly now: () => number;
  /** Name and namespace of the virtual server. */
  readonly server: string;
  readonly namespace: string | undefined;
  /** Longest name of a tool that clients see. Configurations may name a longer tool by either name. */
  readonly maxToolNameLength?: number | undefined;
  readonly newId: () => string;
  readonly log: Pick<Logger, 'warn'>;
  /** Returns the current content of a secret file without one trailing line break. Throws an Error that names the file. */
  readonly readSecret: (file: string) => string;
  readonly createClient: (options: PolicyClientOptions) => PolicyClient;
  readonly observeWebhook: (use: ServiceUse) => void;
  /** Token buckets of this virtual server; they outlive a new configuration. */
  readonly buckets: Buckets;
  readonly rateLimits: RateLimitObserver;
}

/** Facts about the virtual server that the check of a configuration needs. */
export interface PolicyFacts {
  /** False: all clients are anonymous. */
  readonly hasUsers: boolean;
  /** Names of the upstream providers of the embedded authorization server. */
  readonly providers: readonly string[];
  /** Setting that gives clients users, for messages. */
  readonly loginSetting: string;
}

/** A kind of policy: what a resource holds, what the gateway reads, and how it decides. */
export interface PolicyVariant<
  Type extends string,
  Spec extends TSchema | undefined,
  Config extends TSchema,
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

export const definePolicy = <const Type extends string, Spec extends TSchema | undefined, Config extends TSchema>(
  policy: Omit<PolicyVariant<Type, Spec, Config>, 'supported'>,
): PolicyVariant<Type, Spec, Config> => ({ ...policy, supported: true });
