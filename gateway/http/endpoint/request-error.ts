/** Part of a request that does not fit its schema. */
export interface InputProblem {
  /** Part and member, such as `body.items[2].name`. */
  readonly path: string;
  readonly reason: 'missing' | 'repeated' | 'unknown' | 'invalid' | 'too_many';
  readonly message: string;
}

export type RequestFault =
  /** The body has another media type than `expected`, or a content encoding. */
  | { readonly kind: 'media_type'; readonly expected: string }
  | { readonly kind: 'too_large'; readonly limit: number }
  /** The client closed the connection before the body was complete. */
  | { readonly kind: 'client_left' }
  | { readonly kind: 'invalid_input'; readonly problems: readonly InputProblem[] };

/** Error for a request that the frame cannot read. */
export class RequestError extends Error {
  readonly fault: RequestFault;

  constructor(fault: RequestFault) {
    super(fault.kind);
    this.name = 'RequestError';
    this.fault = fault;
  }
}

/** Error that an operation throws, with one of its declared codes. */
export class OperationError extends Error {
  readonly code: string;
  /** Replaces the declared message. The client reads it. */
  readonly detail: string | undefined;
  /** Further members of a structured answer, which the operation declares. */
  readonly members: Readonly<Record<string, unknown>>;

  constructor(code: string, detail?: string, members: Readonly<Record<string, unknown>> = {}) {
    super(detail ?? code);
    this.name = 'OperationError';
    this.code = code;
    this.detail = detail;
    this.members = members;
  }
}
