import { describe, expect, it } from 'vitest';
import { removeObject } from './remove-object.ts';

const named = (name: string) => (value: unknown) => (value as { name?: unknown } | null)?.name === name;
const removalOf = (text: string, name = 'b') => removeObject(text, named(name));
const without = (text: string, name = 'b') => {
  const removal = removalOf(text, name);
  return removal.is === 'removed' ? removal.remaining : removal.why;
};

describe('removeObject', () => {
  it.each([
    ['the last document', 'name: a\n---\nname: b\n', 'name: a\n'],
    ['the first document', 'name: b\n---\nname: a\n', '---\nname: a\n'],
    ['a document in the middle', 'name: a\n---\nname: b\nx: |\n  y\n\n---\nname: c\n', 'name: a\n\n---\nname: c\n'],
    ['a document without a line break at its end', 'name: a # one\n---\nname: b', 'name: a # one\n'],
    ['a document in braces', '{name: a}\n--- \n{name: b,\n x: 1}\n---\n{name: c}\n', '{name: a}\n---\n{name: c}\n'],
    ['a document behind ---', 'name: a\n--- {name: b}\n--- {name: c}\n', 'name: a\n--- {name: c}\n'],
    ['Windows line ends', 'name: a\r\n---\r\nname: b\r\n---\r\nname: c\r\n', 'name: a\r\n---\r\nname: c\r\n'],
    ['a document beside an empty one', '---\n---\nname: a\n---\nname: b\n', '---\n---\nname: a\n'],
  ])('removes %s', (_what, text, remaining) => {
    expect(without(text)).toBe(remaining);
  });

  it('removes the comments that touch the document and keeps the others', () => {
    const text = `# License.

# About a.
name: a # first

# Kept: apart from b.

---
# Kept as well.

# About b.
name: b # second
# Still about b.

# Kept: apart from b again.
---
# About c.
name: c
`;
    expect(without(text)).toBe(`# License.

# About a.
name: a # first

# Kept: apart from b.

# Kept as well.


# Kept: apart from b again.
---
# About c.
name: c
`);
  });

  it('removes an indented comment at the end of the document', () => {
    expect(without('name: b\nx:\n  y: 1\n  # z: 2\n---\nname: a\n')).toBe('---\nname: a\n');
  });

  it.each(['name: b\n', '# About b.\nname: b\n', '---\nname: b\n---\n', '{"name": "b"}'])(
    'leaves no file behind for %j',
    (text) => {
      expect(removalOf(text)).toEqual({ is: 'removed', remaining: undefined });
    },
  );

  it('refuses an item of a List', () => {
    expect(without('kind: List\nitems:\n  - name: b\n  - name: a\n')).toBe('it is an item of a List');
  });

  it('refuses what it cannot remove alone', () => {
    expect(without('name: a\n---\n!!map\nname: b\n---\nname: c\n')).toContain('cannot be separated');
  });
});
