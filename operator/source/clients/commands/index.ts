import { docker } from './docker.ts';
import type { ReadCommand } from './invocation.ts';
import { npx } from './npx.ts';
import { uv, uvx } from './uvx.ts';

/** Commands of clients' files that vmcp understands, by their name without a folder and `.exe` or `.cmd`. */
export const COMMANDS: ReadonlyMap<string, ReadCommand> = new Map([
  ['npx', npx],
  ['uvx', uvx],
  ['uv', uv],
  ['docker', docker],
  ['podman', docker],
]);
