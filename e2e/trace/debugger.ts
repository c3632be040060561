import { once } from 'node:events';

/** Counts of a function, as V8 reports them. Offsets are in the source of the script, its types replaced by blanks. */
export interface Coverage {
  readonly scriptId: string;
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
  }[];
}

/** A place in a script; lines and columns count from 0. */
export interface Place {
  readonly scriptId: string;
  readonly lineNumber: number;
  readonly columnNumber?: number;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly hitBreakpoints?: readonly string[] };
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** Connection to the debugger of a process that runs with `--inspect`. @see the Chrome DevTools Protocol, domains Profiler and Debugger */
export class Debugger {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (message: Message) => void>();
  #lastId = 0;
  /** Called with the id of each breakpoint that the process reaches. */
  onBreakpoint: (id: string) => void = () => undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      this.#received(JSON.parse(String(data)) as Message);
    });
  }

  static async connect(url: string): Promise<Debugger> {
    const socket = new WebSocket(url);
    await once(socket, 'open');
    return new Debugger(socket);
  }

  close(): void {
    this.#socket.close();
  }

  /** Counts calls from now on. */
  async startCoverage(): Promise<void> {
    await this.#send('Profiler.enable');
    await this.#send('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  /** Returns the functions that ran since the last call. */
  async takeCoverage(): Promise<readonly Coverage[]> {
    const { result } = (await this.#send('Profiler.takePreciseCoverage')) as { result: readonly Coverage[] };
    return result;
  }

  /** Allows breakpoints. */
  async enable(): Promise<void> {
    await this.#send('Debugger.enable');
  }

  /** Removes all breakpoints. */
  async disable(): Promise<void> {
    await this.#send('Debugger.disable');
  }

  async sourceOf(scriptId: string): Promise<string> {
    const { scriptSource } = (await this.#send('Debugger.getScriptSource', { scriptId })) as { scriptSource: string };
    return scriptSource;
  }

  /** Sets a breakpoint at the first statement of the function between two places; undefined when it has no statement. */
  async breakAt(start: Place, end: Place): Promise<string | undefined> {
    const inside = { start, end, restrictToFunction: true };
    const { locations } = (await this.#send('Debugger.getPossibleBreakpoints', inside)) as {
      locations: readonly Place[];
    };
    const [location] = locations;
    if (!location) return undefined;
    const { breakpointId } = (await this.#send('Debugger.setBreakpoint', { location })) as { breakpointId: string };
    return breakpointId;
  }

  #received({ id, method, params, result, error }: Message): void {
    if (method === 'Debugger.paused') {
      for (const each of params?.hitBreakpoints ?? []) this.onBreakpoint(each);
      this.#send('Debugger.resume').catch(() => undefined); // `disable` has resumed it
      return;
    }
    const done = id === undefined ? undefined : this.#waiting.get(id);
    if (id === undefined || !done) return;
    this.#waiting.delete(id);
    done({ result, ...(error && { error }) });
  }

  /** @throws Error when the process refuses the command */
  async #send(method: string, params: object = {}): Promise<unknown> {
    const id = (this.#lastId += 1);
    const { promise, resolve } = Promise.withResolvers<Message>();
    this.#waiting.set(id, resolve);
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await promise;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }
}
