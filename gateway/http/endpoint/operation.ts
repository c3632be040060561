import type { Request, Response } from 'express';
import type { Static, TObject, TSchema } from 'typebox';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Schemas of the parts of a request that an operation reads. The frame reads and validates these parts before it calls the
 * handler, and no others.
 */
export interface InputSchemas {
  /** Parameters of the path, by the names in its braces. */
  readonly path?: TObject;
  /** Parameters of the query. A repeated parameter needs an array schema. */
  readonly query?: TObject;
  /** Parameters of an `application/x-www-form-urlencoded` body. A repeated parameter needs an array schema. */
  readonly form?: TObject;
  /** Value of an `application/json` body. */
  readonly body?: TSchema;
  /** Adds the text of the JSON body, for operations that must not lose how a value is written. */
  readonly bodyText?: true;
}

/** Validated parts of a request, by the names of their schemas. */
export type Input<Schemas extends InputSchemas> = {
  readonly [Part in keyof Schemas]: Schemas[Part] extends true
    ? string
    : Schemas[Part] extends TSchema
      ? Static<Schemas[Part]>
      : never;
};

/** Answers one request. The frame turns a thrown error into an answer. */
type Handler<Parts = never> = (req: Request, res: Response, input: Parts) => void | Promise<void>;

/** Error that an operation declares. `message` is one sentence for the developer of the client. */
export interface DeclaredError {
  readonly status: number;
  readonly message: string;
}

/** One method on one path: schemas, declared errors and handler. */
export interface Operation {
  readonly method: Method;
  /** `{name}` matches exactly one path segment that is not empty. */
  readonly paths: readonly string[];
  readonly input?: InputSchemas;
  /** Errors that the handler may throw as `OperationError`, by their codes. */
  readonly errors?: Readonly<Record<string, DeclaredError>>;
  /** Form of the errors: JSON for programs (the default), or a page for users. */
  readonly answers?: 'json' | 'page';
  /** Allows web pages of any origin to call, without credentials. */
  readonly cors?: boolean;
  /** Answers HEAD as well; for GET only. */
  readonly head?: boolean;
  readonly handle: Handler;
}

/** Types the input of the handler by the schemas of the operation. */
export const defineOperation = <const Schemas extends InputSchemas>(
  operation: Omit<Operation, 'input' | 'handle'> & {
    readonly input: Schemas;
    readonly handle: Handler<Input<Schemas>>;
  },
): Operation => operation;

/** Headers of a reply that must not be cached. */
export const NO_STORE = { 'Cache-Control': 'no-store', Pragma: 'no-cache', 'X-Content-Type-Options': 'nosniff' };

/** Sends a reply that must not be cached. Head and body are one write; `json` of Express makes two of a long body. @see RFC 6749 §5.1 */
export function sendJson(res: Response, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  res.status(status).set(NO_STORE);
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.end(text);
}

/** Sends a public reply that may be cached for five minutes. @see RFC 8414 §3.2 */
export function sendPublicJson(res: Response, body: unknown): void {
  res.set({ 'Cache-Control': 'public, max-age=300', 'X-Content-Type-Options': 'nosniff' }).json(body);
}

/** Redirects with 303, which turns a POST into a GET, so that no form is sent on. @see RFC 9700 §4.12 */
export function redirectTo(res: Response, url: string): void {
  res.status(303).set(NO_STORE).set('Referrer-Policy', 'no-referrer').set('Location', url).end();
}
