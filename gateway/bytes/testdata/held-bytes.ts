import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Returns the bytes of this thread in memory that are no garbage. */
export function heldBytes(): number {
  for (let time = 0; time < 3; time += 1) collectGarbage(); // the first one frees memory of Buffers later
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
