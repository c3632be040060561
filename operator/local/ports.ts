import { isPortFree, readPorts, writePorts } from '../../gateway/workloads/runner/ports.ts';

/** A port that the user chose is in use. */
export class PortInUse extends Error {
  readonly reason = 'PortInUse';
  readonly port: number;

  constructor(port: number, flag: string) {
    super(`port ${port} is in use: stop the program that listens on it, or choose another with ${flag}`);
    this.name = 'PortInUse';
    this.port = port;
  }
}

type IsFree = (port: number) => boolean | Promise<boolean>;

export interface PortRequest {
  /** `namespace/name` of each VirtualMCPServer, sorted. */
  readonly names: readonly string[];
  /** `--port`. */
  readonly base: number;
  /** True when the user wrote `--port`: the base port must then be free. */
  readonly explicit: boolean;
  /** Earlier choice for the same base. Servers outside of `names` are ignored. */
  readonly kept: Readonly<Record<string, number>>;
  readonly isFree: IsFree;
}

export interface PortChoice {
  /** One per name, in the order of `names`. */
  readonly ports: Readonly<Record<string, number>>;
  /** Servers whose URL changed because another program uses their port. */
  readonly moved: readonly { readonly name: string; readonly from: number; readonly to: number }[];
}

const LAST_PORT = 65_535;

/**
 * Assigns ports: a server keeps its earlier port, the others get the next free ones from `base` in the order of their
 * names. An explicit base port is always assigned, to the server that had it or else to the first.
 * Pure except for `isFree`.
 * @throws PortInUse for a busy explicit port
 */
export async function choosePorts({ names, base, explicit, kept, isFree }: PortRequest): Promise<PortChoice> {
  const chosen = new Map<string, number>();
  const usable = async (port: number) => ![...chosen.values()].includes(port) && (await isFree(port));
  const [first] = names;
  if (explicit && first !== undefined) {
    if (!(await isFree(base))) throw new PortInUse(base, '--port');
    chosen.set(names.find((name) => kept[name] === base) ?? first, base);
  }
  for (const name of names) {
    const port = kept[name];
    if (port !== undefined && !chosen.has(name) && (await usable(port))) chosen.set(name, port);
  }
  for (const name of names) {
    if (!chosen.has(name)) chosen.set(name, await nextFree(base, usable, '--port'));
  }
  const ports = Object.fromEntries(names.map((name) => [name, chosen.get(name) ?? base]));
  const moved = names.flatMap((name) => {
    const [from, to] = [kept[name], ports[name]];
    return from === undefined || to === undefined || from === to ? [] : [{ name, from, to }];
  });
  return { ports, moved };
}

/**
 * Returns the management port: the given one, or the next free one when the default is busy.
 * `taken` are the public ports, which are not open yet. Pure except for `isFree`.
 * @throws PortInUse
 */
export async function chooseManagementPort(
  port: number,
  explicit: boolean,
  taken: readonly number[],
  isFree: IsFree,
): Promise<number> {
  const usable = async (candidate: number) => !taken.includes(candidate) && (await isFree(candidate));
  if (!explicit) return nextFree(port, usable, '--management-port');
  if (await usable(port)) return port;
  throw new PortInUse(port, '--management-port');
}

async function nextFree(from: number, usable: IsFree, flag: string): Promise<number> {
  for (let port = from; port <= LAST_PORT; port += 1) {
    if (await usable(port)) return port;
  }
  throw new PortInUse(from, flag);
}

export interface PublicPortRequest extends Pick<PortRequest, 'names' | 'base' | 'explicit'> {
  /** `--host`. */
  readonly host: string;
  /** `portsFile` of the state. */
  readonly file: string;
  /** Ports on which this process already listens (on a reload). They look busy but count as free. */
  readonly open?: readonly number[];
}

/**
 * Runs `choosePorts` and stores the choice in `file`. Another `--port` than last time starts a new choice.
 * @throws PortInUse
 */
export async function choosePublicPorts({ file, host, open = [], ...request }: PublicPortRequest): Promise<PortChoice> {
  const { [BASE]: keptBase, ...stored } = readPorts(file);
  const kept = keptBase === request.base ? stored : {};
  const isFree = async (port: number) => open.includes(port) || (await isPortFree(port, host));
  const choice = await choosePorts({ ...request, kept, isFree });
  const given = new Set(Object.values(choice.ports));
  const absent = Object.entries(kept).filter(([name, port]) => !request.names.includes(name) && !given.has(port));
  writePorts(file, { [BASE]: request.base, ...Object.fromEntries(absent), ...choice.ports });
  return choice;
}

/** Key of the base port in the file. It cannot be a `namespace/name`. */
const BASE = '--port';
