import type { McpClient } from '../client.ts';

/** Renders a file with servers under `key`. */
type Template = (key: string, isList: boolean) => string;

const OTHER = '"other": { "command": "x", "args": ["a", "b"] }';

/** Files before a client is connected, in many layouts. */
export const CONFIGURATIONS: Readonly<Record<McpClient['format'], readonly Template[]>> = {
  jsonc: [
    () => '',
    () => '\n',
    () => '{}',
    () => '{}\n',
    () => '{ }',
    () => '{\n}\n',
    () => '{\n  // nothing yet\n}\n',
    () => '// nothing yet',
    () => '// nothing yet\n',
    () => '{"a": 1}',
    () => '{"a":1,"b":[1,2]}\n',
    () => '{ "a": 1, }\n',
    () => '{\n  "a": 1\n}',
    () => '{\n    "a": {\n        "b": []\n    }\n}\n',
    () => '{\n\t"a": 1, // one\n\t"b": 2 // two  \n}\n',
    () => '{\n  "a": 1, /* one */ "b": 2, /* two */\n}\n',
    () => '{ "a": 1 // one\n}\n',
    (key) => `{"${key}":{}}`,
    (key) => `{\n  "${key}": {}\n}\n`,
    (key) => `{\n  "${key}": { }\n}\n`,
    (key) => `{\n  "${key}": {\n  },\n  "z": 1\n}\n`,
    (key) => `{\n  "${key}": {\n    // none\n  }\n}\n`,
    (key) => `{\n  "${key}": { /* none */ }\n}\n`,
    (key) => `{\n  "${key}": { // none\n  }\n}\n`,
    (key) => `{"${key}":{${OTHER}}}`,
    (key) => `{\n  "z": 1,\n  "${key}": {\n    ${OTHER}\n  }\n}\n`,
    (key) => `{\n  "${key}": {\n    ${OTHER}, // trailing\n  },\n}\n`,
    (key) => `{\n  "${key}": {\n    "first": {}, ${OTHER}\n    // end\n  }\n}\n`,
  ],
  yaml: [
    () => '',
    () => '\n',
    () => '# nothing yet\n',
    () => '# nothing yet',
    () => '---\n',
    () => 'a: 1',
    () => 'a: 1\nb:\n  - c # comment\n\n# end\n',
    () => 'a: |\n  text\n  text\n',
    (key) => `${key}:\n`,
    (key) => `${key}:`,
    (key) => `${key}: # none\nz: 1\n`,
    (key, isList) => `${key}: ${isList ? '[]' : '{}'}\n`,
    (key, isList) => `${key}: ${isList ? '[ ]' : '{ }'} # none\nz: 1\n`,
    (key, isList) => `${key}: ${isList ? '[{name: x}]' : '{x: {a: 1}}'}\n`,
    (key, isList) => `a: 1\n${key}:\n${isList ? '- name: x\n  url: y' : '  x:\n    a: 1'}\n`,
    (key, isList) => `${key}:\n  # all\n${isList ? '    - name: x\n      url: y # end' : '    x:\n      a: 1 # end'}\n\n# end\nz: 1\n`,
    (key, isList) => `${key}:\n${isList ? '  - name: x' : '  x: {a: 1}'}`,
  ],
  toml: [
    () => '',
    () => '\n',
    () => '# nothing yet\n',
    () => 'a = 1',
    () => 'a = 1\n\n',
    (key, isList) => (isList ? `${key} = []\n[b]\nc = 1\n` : ''),
    (key, isList) => (isList ? `a = 1\n${key} = [ # all\n  { name = "x" },\n]\n` : ''),
    () => 'a = 1 # one\n[b]\nc = """\n[text]\n"""\n',
    (key, isList) => (isList ? `[[${key}]]\nname = "x"\n` : `[${key}.x]\nurl = "y"\n[${key}.x.env]\nA = "b"\n`),
    (key, isList) => (isList ? `[[${key}]]\nname = "x"\n\n# end\n[z]\n` : `[ ${key} . "x y" ] # x\nurl = "y"\n\n# end\n[z]\n`),
  ],
};

/** Renders a JSON file with comments in a random layout, which the seed decides. */
export function randomJson(seed: number): string {
  let state = seed;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % limit;
  };
  const pick = (...texts: readonly string[]): string => texts[below(texts.length)] ?? '';
  const gap = (): string => pick('', '', ' ', '\n', '\n  ', ' /* c */ ', ' // c\n', '\n\t// c \n\n  ', '  \n');
  const value = (depth: number): string =>
    depth > 2 || below(3) === 0 ? pick('1', '"x"', '"{,}"', 'null', '[1, 2,]', '"// no"') : object(depth + 1, []);
  const object = (depth: number, required: readonly string[]): string => {
    const names = [...required, ...['a', 'b', 'c'].slice(0, below(4))];
    const members = names.map((name) => {
      const held = name === 'mcpServers' ? object(depth + 1, []) : value(depth);
      return `${gap()}"${name}"${pick('', ' ')}:${pick('', ' ')}${held}${pick('', '', ' ', ' /* c */')}`;
    });
    return `{${members.join(',')}${members.length > 0 ? pick('', '', ',') : ''}${gap()}}`;
  };
  return `${pick('', '\n', '// top\n')}${object(0, below(2) === 0 ? ['mcpServers'] : [])}${pick('', '\n', '\n\n')}`;
}
