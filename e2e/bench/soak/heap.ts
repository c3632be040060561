import { once } from 'node:events';
import { request } from 'undici';

interface Response {
  readonly id: number;
  readonly result?: { readonly usedSize?: number };
  readonly error?: { readonly message: string };
}

/**
 * Returns the used bytes of the JavaScript heap after a full garbage collection of a process that was started with
 * `--inspect`; the product needs no hook for it.
 */
export async function heapAfterGc(inspectorPort: number): Promise<number> {
  const { body } = await request(`http://127.0.0.1:${String(inspectorPort)}/json/list`);
  const [target] = (await body.json()) as { webSocketDebuggerUrl: string }[];
  if (!target) throw new Error('the inspector has no target');
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await once(socket, 'open');
  let last = 0;
  const send = async (method: string): Promise<Response> => {
    const id = (last += 1);
    const answered = Promise.withResolvers<Response>();
    const onMessage = ({ data }: MessageEvent): void => {
      const response = JSON.parse(String(data)) as Response;
      if (response.id === id) answered.resolve(response);
    };
    const onClose = (): void => {
      answered.reject(new Error('the inspector closed the connection'));
    };
    socket.addEventListener('message', onMessage);
    socket.addEventListener('close', onClose);
    socket.send(JSON.stringify({ id, method }));
    try {
      return await answered.promise;
    } finally {
      socket.removeEventListener('message', onMessage);
      socket.removeEventListener('close', onClose);
    }
  };
  try {
    // The second collection frees objects of finalizers and weak references.
    await send('HeapProfiler.collectGarbage');
    await send('HeapProfiler.collectGarbage');
    const { result, error } = await send('Runtime.getHeapUsage');
    if (result?.usedSize === undefined) throw new Error(`no heap usage: ${error?.message ?? ''}`);
    return result.usedSize;
  } finally {
    socket.close();
  }
}
