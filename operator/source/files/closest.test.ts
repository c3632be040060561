import { describe, expect, it } from 'vitest';
import { closest } from './closest.ts';

const KNOWN = ['MCPServer', 'MCPServerEntry', 'MCPGroup', 'Secret'];

describe('closest', () => {
  it.each([
    ['MCPServers', 'MCPServer'],
    ['mcpserver', 'MCPServer'],
    ['MCPServreEntry', 'MCPServerEntry'],
    ['MCPGruop', 'MCPGroup'],
    ['Deployment', undefined],
    ['', undefined],
  ])('%s: %s', (word, expected) => {
    expect(closest(word, KNOWN)).toBe(expected);
  });
});
