import { docker } from './docker.ts';
import type { ReadCommand } from './invocation.ts';
import { npx } from './npx.ts';
import { bun, bunx, npm, pipx, pnpm, pnpx, uv, yarn } from './package-runners.ts';
import { uvx } from './uvx.ts';

/** Commands of clients' files that vmcp understands, by their name without a folder and `.exe` or `.cmd`. */
export const SERVER_COMMANDS: ReadonlyMap<string, ReadCommand> = new Map([
  ['npx', npx],
  ['npm', npm],
  ['pnpx', pnpx],
  ['pnpm', pnpm],
  ['bunx', bunx],
  ['bun', bun],
  ['yarn', yarn],
  ['uvx', uvx],
  ['uv', uv],
  ['pipx', pipx],
  ['docker', docker],
  ['podman', docker],
]);
