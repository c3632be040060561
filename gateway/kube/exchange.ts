import { setTimeout as sleep } from 'node:timers/promises';
import { buildConnector, Pool, type Dispatcher } from 'undici';
import { ApiError, errorOfFailure, errorOfReply, retryAfterOf } from './api-error.ts';
import type { Connection, TlsMaterial } from './connection.ts';
import { ByteCollector } from '../bytes/byte-collector.ts';

const MAX_LINE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Yields the lines of a byte stream. Drops text after the last line break: the stream was cut there. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const unfinished = new ByteCollector();
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      unfinished.push(bytes.subarray(start, end));
      yield unfinished.take().toString('utf8');
      start = end + 1;
    }
    unfinished.push(bytes.subarray(start));
    if (unfinished.length > MAX_LINE_BYTES) throw invalid('a line of a watch is longer than 64 MiB');
  }
}

export const invalid = (message: string, cause?: unknown): ApiError =>
  new ApiError({ status: 0, reason: 'InvalidReply', message }, { cause });

export interface ExchangeOptions {
  /** Time without a reply after which a request fails. */
  readonly requestTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
  /** Most concurrent requests; further ones wait. Watches do not count. */
  readonly maxConcurrent?: number;
  readonly userAgent?: string;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below the root of the API server, with its query. */
  readonly path: string;
  readonly accept?: string;
  readonly body?: unknown;
  readonly contentType?: string;
  /** Cancels the request: it is not sent or retried, and fails with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

const ATTEMPTS = 5;
const DEFAULT_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
/** Longest idle time of a socket: proxies in between may drop older ones silently. */
const KEEP_ALIVE_MS = 30_000;
/** Time after which the kernel probes a silent peer. */
const KEEP_ALIVE_PROBE_MS = 15_000;

/** HTTP to one API server, with one pool of sockets for requests and one for long-lived watches. */
export class Exchange {
  readonly #connection: Connection;
  readonly #requests: Pool;
  readonly #watches: Pool;
  readonly #prefix: string;
  readonly #userAgent: string;
  readonly #closing = new AbortController();

  constructor(connection: Connection, options: ExchangeOptions) {
    const { requestTimeoutMs = 30_000, connectTimeoutMs = 10_000, maxConcurrent = 32, userAgent = 'vmcp' } = options;
    const { origin, pathname } = new URL(connection.baseUrl);
    const common: Pool.Options = {
      connect: connector(connection, connectTimeoutMs),
      headersTimeout: requestTimeoutMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      pipelining: 1,
      allowH2: false, // undici loops forever when HTTP/2 requests are cancelled
    };
    this.#connection = connection;
    this.#requests = new Pool(origin, { ...common, bodyTimeout: requestTimeoutMs, connections: maxConcurrent });
    this.#watches = new Pool(origin, { ...common, connections: null });
    this.#prefix = pathname.replace(/\/$/u, '');
    this.#userAgent = userAgent;
  }

  /**
   * Returns the JSON of the reply. Waits and retries while the server reports that it is too busy.
   * @throws ApiError
   */
  async json(request: ApiRequest): Promise<unknown> {
    const text = await this.text(request);
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw invalid(`${request.method} ${request.path}: the reply is no JSON`, error);
    }
  }

  /** Returns the text of the reply, as `json` does. */
  async text(request: ApiRequest): Promise<string> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#once(request);
      } catch (thrown) {
        const { signal } = request;
        const error = errorOfFailure(signal?.aborted === true ? signal.reason : thrown);
        if (!isBusy(error) || attempt >= ATTEMPTS) throw error;
        await this.#pause(Math.min(error.retryAfterMs ?? DEFAULT_RETRY_MS, MAX_RETRY_MS), error, signal);
      }
    }
  }

  /** @throws `error` when the client is closed meanwhile, or what `signal` was aborted with */
  async #pause(ms: number, error: ApiError, signal: AbortSignal | undefined): Promise<void> {
    const end = AbortSignal.any([this.#closing.signal, ...(signal ? [signal] : [])]);
    await sleep(ms, undefined, { signal: end }).catch(() => {
      throw signal?.aborted === true ? errorOfFailure(signal.reason) : error;
    });
  }

  /**
   * Returns the streamed body of a watch or log. Fails when nothing arrives for `idleMs`, unless that is 0.
   * @throws ApiError
   */
  async stream(path: string, accept: string, idleMs: number, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const reply = await this.#send(this.#watches, { method: 'GET', path, accept }, { bodyTimeout: idleMs, signal });
    if (reply.statusCode === 200) return reply.body;
    throw await refusal(reply);
  }

  /** Closes the client: running requests may finish, watches end. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#requests.close(), this.#watches.destroy()]);
  }

  async #once(request: ApiRequest): Promise<string> {
    const { signal } = request;
    const reply = await this.#send(this.#requests, request, signal ? { signal } : {});
    if (reply.statusCode < 200 || reply.statusCode > 299) throw await refusal(reply);
    return reply.body.text();
  }

  async #send(
    pool: Pool,
    { method, path, accept = 'application/json', body, contentType = 'application/json' }: ApiRequest,
    more: { bodyTimeout?: number; signal?: AbortSignal },
  ): Promise<Dispatcher.ResponseData> {
    const authorization = await this.#connection.authorization();
    return pool.request({
      method,
      path: `${this.#prefix}${path}`,
      headers: {
        accept,
        'user-agent': this.#userAgent,
        ...(authorization !== undefined && { authorization }),
        ...(body !== undefined && { 'content-type': contentType }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...more,
    });
  }
}

const refusal = async (reply: Dispatcher.ResponseData): Promise<ApiError> =>
  errorOfReply(reply.statusCode, await reply.body.text(), retryAfterOf(reply.headers['retry-after']));

/** Returns true when the server is too busy, starting or stopping and sent `Retry-After`: it has not run the request. */
const isBusy = ({ status, retryAfterMs }: ApiError): boolean =>
  status === 429 || (status >= 500 && retryAfterMs !== undefined);

/** Reads the TLS material for each socket. */
function connector(connection: Connection, timeout: number): buildConnector.connector {
  let built: { material: TlsMaterial; connect: buildConnector.connector } | undefined;
  return (options, callback) => {
    try {
      const material = connection.tls();
      if (built?.material !== material) built = { material, connect: connectorOf(material, timeout) };
      built.connect(options, callback);
    } catch (error) {
      callback(error as Error, null);
    }
  };
}

function connectorOf({ ca, cert, key, serverName, insecureSkipVerify }: TlsMaterial, timeout: number) {
  return buildConnector({
    timeout,
    allowH2: false,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS,
    rejectUnauthorized: insecureSkipVerify !== true,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(serverName !== undefined && { servername: serverName }),
  });
}
