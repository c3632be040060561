import type { TSchema } from 'typebox';
import type { DeclaredError, Input, InputSchemas, Method } from '../http/endpoint/operation.ts';
import type { Workloads } from '../workloads/workloads.ts';
import type { ClientRegistrations } from './clients/registrations.ts';
import type { Groups } from './groups/groups.ts';
import type { ExplainedServers } from './policies/explained-servers.ts';
import type { Registry } from './registry/registry.ts';
import type { Secrets } from './secrets/secrets.ts';
import type { Skills } from './skills/skills.ts';

/** Path prefix of the operations, except those of the registry protocol. */
export const API_BASE = '/api/v1beta';

/** Resources of the API, in the order of the documentation. */
export const TAGS = ['clients', 'groups', 'registry', 'secrets', 'skills', 'workloads', 'policies', 'server'] as const;

/** Error that an operation declares, by its code in `errors`. */
export interface ManagementError extends DeclaredError {
  /** Sent as `{"code", "message"}` instead of plain text. */
  readonly isStructured?: boolean;
  /** Further members of the structured answer. */
  readonly members?: Readonly<Record<string, TSchema>>;
}

/** Successful answer. */
export interface Success {
  readonly status: 200 | 201 | 202 | 204;
  /** Schema of the body; absent for an empty one. */
  readonly body?: TSchema;
  /**
   * Sends lines of text in place of JSON: `run` returns them as an array or, for a stream without a time limit, as an
   * `AsyncIterable` that ends when `signal` is aborted.
   */
  readonly hasLines?: boolean;
  /** Returns the path of the created resource, for the `Location` header. */
  readonly location?: (body: never) => string;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, SuccessHeader>>;
}

interface SuccessHeader {
  readonly description: string;
  readonly value: (context: ManagementContext) => string;
}

/** Services that the operations use, one for each resource. */
export interface ManagementContext {
  readonly clients: ClientRegistrations;
  readonly groups: Groups;
  readonly registry: Registry;
  readonly secrets: Secrets;
  readonly skills: Skills;
  readonly workloads: Workloads;
  readonly servers: ExplainedServers;
  /** ms since the epoch. */
  readonly now: () => number;
  /** Version of vmcp. */
  readonly version: string;
  /** Random text of this process. */
  readonly nonce: string;
  /** Returns the OpenAPI document. */
  readonly openApi: () => unknown;
}

/** Context of one call of an operation. */
interface Call {
  /** Aborted when the client disconnects, when the operation exceeds its time limit, or when the process drains during a stream. */
  readonly signal: AbortSignal;
}

/**
 * One operation of the management API. The frame reads and validates the input, limits size and time, sends the result, turns
 * errors into answers, and describes the operation in the OpenAPI document.
 */
export interface ManagementOperation {
  /** `operationId` of the OpenAPI document. */
  readonly id: string;
  readonly method: Method;
  /** Path that the documentation shows; the frame serves collections with a slash at the end as well. */
  readonly path: string;
  readonly tag: (typeof TAGS)[number];
  /** Imperative sentence without a full stop. */
  readonly summary: string;
  /** Further sentences for the documentation. */
  readonly description?: string;
  readonly input: Pick<InputSchemas, 'path' | 'query' | 'body' | 'bodyText'>;
  readonly success: Success;
  /** Errors of the operation by their codes; `run` throws them as `OperationError`. */
  readonly errors: Readonly<Record<string, ManagementError>>;
  /** Codes of the errors for path parameters that do not fit their schemas, by name; 400 without. */
  readonly pathErrors?: Readonly<Record<string, string>>;
  /** Sends every error as `{"code", "message"}`, as the registry protocol does. */
  readonly hasStructuredErrors?: boolean;
  /** Time after which the answer is 504; 60 s when absent. */
  readonly timeoutMs?: number;
  /** Returns the body of the answer. */
  readonly run: (context: ManagementContext, input: never, call: Call) => unknown;
}

/** Limit for operations that move images or artifacts. */
export const TRANSFER_TIMEOUT_MS = 11 * 60_000;

/** Returns the function that defines operations on a resource. It types the input of `run` by the schemas of the operation. */
export const operationsOn =
  (tag: ManagementOperation['tag']) =>
  <const Schemas extends ManagementOperation['input']>(
    operation: Omit<ManagementOperation, 'tag' | 'input' | 'run'> & {
      readonly input: Schemas;
      readonly run: (context: ManagementContext, input: Input<Schemas>, call: Call) => unknown;
    },
  ): ManagementOperation => ({ tag, ...operation });
