/** Members of the API server's `Status` that are used here. */
export interface ApiStatus {
  readonly kind?: unknown;
  readonly code?: unknown;
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly details?: unknown;
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};
const MAX_TEXT = 2_000;

/** A request that failed. `status` is 0 when there was no reply: the reason is then `Unreachable`, `Timeout` or `InvalidReply`. */
export class ApiError extends Error {
  readonly status: number;
  /** CamelCase reason, from the API server if it sent one: NotFound, Conflict, Forbidden, Invalid, Expired, ... */
  readonly reason: string;
  /** Pause that the server requests. */
  readonly retryAfterMs?: number;
  /** Fields that the API server rejects, such as `spec.replicas`. */
  readonly fields: readonly string[];

  constructor(
    failure: {
      status: number;
      reason: string;
      message: string;
      retryAfterMs?: number | undefined;
      fields?: readonly string[];
    },
    options?: ErrorOptions,
  ) {
    super(failure.message, options);
    this.name = 'ApiError';
    this.status = failure.status;
    this.reason = failure.reason;
    this.fields = failure.fields ?? [];
    if (failure.retryAfterMs !== undefined) this.retryAfterMs = failure.retryAfterMs;
  }
}

export const isStatus = (value: unknown): value is ApiStatus =>
  typeof value === 'object' && value !== null && (value as ApiStatus).kind === 'Status';

/** Returns the error for a `Status` object. */
export function errorOfStatus(status: ApiStatus, httpStatus: number, retryAfterMs?: number): ApiError {
  const code = typeof status.code === 'number' && status.code > 0 ? status.code : httpStatus;
  const said = typeof status.reason === 'string' && status.reason !== '' ? status.reason : undefined;
  // "Gone" and "Expired" both mean that a resourceVersion is too old.
  const reason = code === 410 ? 'Expired' : (said ?? REASONS[code] ?? 'Unknown');
  const message = typeof status.message === 'string' && status.message !== '' ? status.message : reason;
  return new ApiError({ status: code, reason, message, retryAfterMs, fields: fieldsOf(status) });
}

/** Returns the fields in the causes of a `Status`. */
function fieldsOf({ details }: ApiStatus): string[] {
  const { causes } = (details ?? {}) as { readonly causes?: unknown };
  if (!Array.isArray(causes)) return [];
  return causes.flatMap((cause) => {
    const { field } = (cause ?? {}) as { readonly field?: unknown };
    return typeof field === 'string' && field !== '' ? [field] : [];
  });
}

/** Returns the error for a reply with a status over 299 and any body. */
export function errorOfReply(httpStatus: number, text: string, retryAfterMs?: number): ApiError {
  const body = parsed(text);
  if (isStatus(body)) return errorOfStatus(body, httpStatus, retryAfterMs);
  const excerpt = text.trim().slice(0, MAX_TEXT);
  return errorOfStatus(
    { kind: 'Status', message: excerpt === '' ? `HTTP ${String(httpStatus)}` : excerpt },
    httpStatus,
    retryAfterMs,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns `Retry-After` in ms; API servers use its form in seconds only. */
export function retryAfterOf(header: string | string[] | undefined): number | undefined {
  const text = Array.isArray(header) ? header[0] : header;
  return text !== undefined && /^\d{1,6}$/u.test(text) ? Number(text) * 1_000 : undefined;
}

const TIMEOUTS: ReadonlySet<unknown> = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Converts an error of a request to an ApiError. */
export function errorOfFailure(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  const what = typeof code === 'string' ? `${code}: ${text}` : text;
  if (TIMEOUTS.has(code)) {
    return new ApiError(
      { status: 0, reason: 'Timeout', message: `the API server did not answer in time (${what})` },
      { cause: thrown },
    );
  }
  return new ApiError(
    { status: 0, reason: 'Unreachable', message: `the API server cannot be reached (${what})` },
    { cause: thrown },
  );
}
