import { hasPython } from '../python.ts';
import type { RunClient } from './client.ts';
import { pythonSdk } from './python-sdk.ts';
import { sdkV1 } from './sdk-v1.ts';
import { sdkV2 } from './sdk-v2.ts';

type Named = readonly [name: string, run: RunClient];

/** Client libraries that expose the id of their session, by the name in test titles. */
export const SESSION_TELLERS: readonly Named[] = [
  ['TypeScript SDK 1.x', sdkV1],
  ['TypeScript SDK 2.x', sdkV2('legacy')],
];

const PYTHON: readonly Named[] = [
  ['Python mcp', pythonSdk('legacy')],
  ['Python mcp, asking for 2026-07-28 first', pythonSdk('auto')],
];

/** Client libraries that this machine can run. */
export const CLIENTS: readonly Named[] = [
  ...SESSION_TELLERS,
  ['TypeScript SDK 2.x, asking for 2026-07-28 first', sdkV2('auto')],
  ...(hasPython ? PYTHON : []),
];

/** Client libraries that support HTTP+SSE of 2024-11-05. */
export const SSE_CLIENTS: readonly Named[] = [...SESSION_TELLERS, ...(hasPython ? PYTHON.slice(0, 1) : [])];
