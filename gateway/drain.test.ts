import { Agent, request, type RequestListener, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it, type TestContext } from 'vitest';
import { endAccepting, finishRequests } from './drain.ts';
import { listen, type Listener } from './listener.ts';

const END_MS = 30_000;

const later = (): number => performance.now() + END_MS;

/** Serves requests: `/slow` and `/stream` until the test ends the responses in `open`, others at once. */
async function serve({ onTestFinished }: Pick<TestContext, 'onTestFinished'>) {
  const open: ServerResponse[] = [];
  const app: RequestListener = (req, res) => {
    if (req.url === '/stream') res.flushHeaders();
    if (req.url === '/slow' || req.url === '/stream') open.push(res);
    else res.end('fine');
  };
  const listener = await listen(app, '127.0.0.1', 0);
  onTestFinished(() => listener.close());
  const client = (): { socket: Socket; received: () => string } => {
    const socket = connect(listener.port, '127.0.0.1').on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    let received = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
    return { socket, received: () => received };
  };
  return { listener, open, client };
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const heads = (received: string): string[] => received.match(/^Connection: [a-z-]+/gmu) ?? [];
const drained = async (listener: Listener): Promise<void> => {
  await endAccepting(listener, 0, later());
  await finishRequests(listener, later());
};

describe.concurrent('a listener that stops', () => {
  it('ends the connection of a request that runs at the stop request', async (context) => {
    const { expect } = context;
    const { listener, open, client } = await serve(context);
    const { socket, received } = client();
    socket.write(get('/slow'));
    await expect.poll(() => open.length).toBe(1);
    const done = drained(listener);
    open[0]?.end('fine');
    await expect.poll(received).toContain('fine');
    expect(heads(received())).toEqual(['Connection: close']);
    await done;
  });

  it('answers clients that return on an idle connection, and tells them that it ends', async (context) => {
    const { expect } = context;
    const { listener, client } = await serve(context);
    const clients = [400, 900, 1_400].map((pauseMs) => ({ pauseMs, ...client() }));
    for (const { socket } of clients) socket.write(get('/'));
    await expect.poll(() => clients.every(({ received }) => received().includes('fine'))).toBe(true);
    const done = drained(listener);
    await Promise.all(
      clients.map(async ({ pauseMs, socket }) => {
        await sleep(pauseMs);
        socket.write(get('/'));
      }),
    );
    await done;
    const expected = clients.map(() => ['Connection: keep-alive', 'Connection: close']);
    await expect.poll(() => clients.map(({ received }) => heads(received()))).toEqual(expected);
  });

  it('ends a connection with the last of several requests that wait in it', async (context) => {
    const { expect } = context;
    const { listener, open, client } = await serve(context);
    const { socket, received } = client();
    socket.write(get('/slow') + get('/slow'));
    await expect.poll(() => open.length).toBe(2);
    const done = drained(listener);
    socket.write(get('/'));
    await sleep(50);
    for (const res of open) res.end('slow');
    await done;
    await expect.poll(received).toContain('fine');
    expect(heads(received())).toEqual(['Connection: keep-alive', 'Connection: keep-alive', 'Connection: close']);
  });

  it('resets no connection that is made while the server stops to listen', async (context) => {
    const { expect } = context;
    const { listener } = await serve(context);
    const failures: string[] = [];
    let answered = 0;
    /** Sends requests on new connections until the port is closed. */
    const load = async (): Promise<void> => {
      for (;;) {
        const outcome = await new Promise<string>((resolve) => {
          const sent = request({ port: listener.port, host: '127.0.0.1', agent: new Agent() }, (res) => {
            res.resume().on('end', () => {
              resolve('answered');
            });
          });
          sent
            .on('error', ({ code }: NodeJS.ErrnoException) => {
              resolve(code ?? '');
            })
            .end();
        });
        if (outcome === 'answered') answered += 1;
        else {
          failures.push(outcome);
          return;
        }
      }
    };
    const clients = Array.from({ length: 16 }, load);
    await sleep(200);
    await drained(listener);
    await Promise.all(clients);
    expect(answered).toBeGreaterThan(100);
    expect(new Set(failures)).toEqual(new Set(['ECONNREFUSED']));
  });

  it('ends at once without connections, and after the grace period beside a request', async (context) => {
    const { expect } = context;
    const startedAt = performance.now();
    await drained((await serve(context)).listener);
    expect(performance.now() - startedAt).toBeLessThan(2_000); // the time for which clients may return
    const { listener, open, client } = await serve(context);
    client().socket.write(get('/slow'));
    await expect.poll(() => open.length).toBe(1);
    const end = performance.now() + 200;
    await endAccepting(listener, 0, end);
    await finishRequests(listener, end);
    expect(open[0]?.writableEnded).toBe(false);
  });

  it('keeps event streams open for their own end', async (context) => {
    const { expect } = context;
    const { listener, open, client } = await serve(context);
    const { socket } = client();
    socket.write(get('/stream'));
    await expect.poll(() => open.length).toBe(1);
    await drained(listener);
    expect(socket.closed).toBe(false);
  });
});
