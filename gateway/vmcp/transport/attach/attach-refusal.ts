import type { Dispatcher } from 'undici';
import { errorOfFailure, errorOfReply } from '../../../kube/api-error.ts';

const MOST_BYTES = 4_096;
/** A kubelet says no more than this of a container that has ended, or has not started yet. */
const NOT_RUNNING = '500 InternalError: the container is not running: "kubectl describe pod" says why';

/** Keeps why there is no upgrade to a WebSocket: the WebSocket itself only says that there is none. */
export interface RefusalReader {
  readonly interceptor: Dispatcher.DispatcherComposeInterceptor;
  /** `403 Forbidden: ...`; undefined where neither an answer nor an error has come. */
  text(): string | undefined;
}

export function refusalReader(): RefusalReader {
  let status: number | undefined;
  let failure: Error | undefined;
  let body = '';
  return {
    interceptor: (dispatch) => (options, handler) =>
      dispatch(options, {
        onRequestStart: (controller, context: unknown) => handler.onRequestStart?.(controller, context),
        onRequestUpgrade: (...upgrade) => handler.onRequestUpgrade?.(...upgrade),
        onResponseStart: (controller, statusCode, headers, statusMessage) => {
          status = statusCode;
          handler.onResponseStart?.(controller, statusCode, headers, statusMessage);
        },
        onResponseData: (controller, chunk) => {
          if (body.length < MOST_BYTES) body += chunk.toString();
          handler.onResponseData?.(controller, chunk);
        },
        onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
        onResponseError: (controller, error) => {
          failure ??= error;
          handler.onResponseError?.(controller, error);
        },
      }),
    text: () => {
      if (status === undefined) return failure && errorOfFailure(failure).message;
      if (status === 500 && body === '') return NOT_RUNNING;
      const { status: code, reason, message } = errorOfReply(status, body);
      return `${String(code)} ${reason}: ${message}`;
    },
  };
}
