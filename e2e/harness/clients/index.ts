import { pythonSdk } from './python-sdk.ts';
import { sdkV1 } from './sdk-v1.ts';
import { sdkV2 } from './sdk-v2.ts';

/** Every client library, by the name that the tests print. */
export const CLIENTS = [
  ['TypeScript SDK 1.x', sdkV1],
  ['TypeScript SDK 2.x', sdkV2('legacy')],
  ['TypeScript SDK 2.x, asking for 2026-07-28 first', sdkV2('auto')],
  ['Python mcp', pythonSdk('legacy')],
  ['Python mcp, asking for 2026-07-28 first', pythonSdk('auto')],
] as const;
