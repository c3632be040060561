import { describe, expect, it } from 'vitest';
import { changeParts, closeParts, openParts, type Part } from './parts.ts';

/** Parts that write what happens to them. The configuration names the part that fails. */
function toys() {
  const seen: string[] = [];
  const toy = (name: string): Part<string> => ({
    prepare: (failing) => {
      if (failing === name) throw new Error(`${name} fails`);
      seen.push(`prepare ${name}`);
      return {
        apply: () => void seen.push(`apply ${name}`),
        discard: () => void seen.push(`discard ${name}`),
      };
    },
    close: () => void seen.push(`close ${name}`),
  });
  return { parts: ['a', 'b', 'c'].map(toy), seen };
}

describe('the parts of a server', () => {
  it('are opened in order, and closed in reverse order when one cannot be opened', async () => {
    const { parts, seen } = toys();
    await expect(openParts(parts, 'c')).rejects.toThrow('c fails');
    expect(seen).toEqual(['prepare a', 'apply a', 'prepare b', 'apply b', 'close c', 'close b', 'close a']);
  });

  it('are all changed, or none of them', async () => {
    const { parts, seen } = toys();
    await expect(changeParts(parts, 'c')).rejects.toThrow('c fails');
    expect(seen.splice(0)).toEqual(['prepare a', 'prepare b', 'discard b', 'discard a']);
    await changeParts(parts, '');
    expect(seen).toEqual(['prepare a', 'prepare b', 'prepare c', 'apply a', 'apply b', 'apply c']);
  });

  it('take effect in order, without a wait for what they replace', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const seen: string[] = [];
    const slow: Part<string> = {
      prepare: () => ({ apply: () => promise, discard: () => undefined }),
      close: () => undefined,
    };
    const quick: Part<string> = {
      prepare: () => ({ apply: () => void seen.push('applied'), discard: () => undefined }),
      close: () => undefined,
    };
    const changed = changeParts([slow, quick], '').then(() => seen.push('changed'));
    await Promise.resolve().then(() => undefined);
    await new Promise(setImmediate);
    expect(seen).toEqual(['applied']);
    resolve(undefined);
    await changed;
    expect(seen).toEqual(['applied', 'changed']);
  });

  it('are closed in reverse order', async () => {
    const { parts, seen } = toys();
    await closeParts(parts, 0);
    expect(seen).toEqual(['close c', 'close b', 'close a']);
  });
});
