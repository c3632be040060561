import type { Dispatcher } from 'undici';
import { errorOfFailure, errorOfReply } from '../../../kube/api-error.ts';

const MOST_BYTES = 4_096;
/** A kubelet gives no other reason for a container that has ended or has not started yet. */
const NOT_RUNNING = '500 InternalError: the container is not running: "kubectl describe pod" shows the reason';

/** Reader of the response that rejects the upgrade to a WebSocket. The WebSocket itself reports no reason. */
export interface RefusalReader {
  readonly interceptor: Dispatcher.DispatcherComposeInterceptor;
  /** Returns a text such as `403 Forbidden: ...`; undefined without an answer and without an error. */
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
