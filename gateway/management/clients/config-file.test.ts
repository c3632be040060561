import { describe, expect, it } from 'vitest';
import { CLIENTS, findClient } from './clients.ts';
import { configFileOf, installedMarkOf, shownFileOf, type UserFolders } from './config-file.ts';

const LINUX: UserFolders = { platform: 'linux', home: '/home/ann' };
const MAC: UserFolders = { platform: 'darwin', home: '/Users/ann' };
const WINDOWS: UserFolders = { platform: 'win32', home: String.raw`C:\Users\ann` };

const fileOf = (type: string, folders: UserFolders): string => {
  const client = findClient(type);
  return client ? configFileOf(client, folders) : 'no such client';
};

describe('configFileOf', () => {
  it.each([
    ['vscode', LINUX, '/home/ann/.config/Code/User/mcp.json'],
    ['vscode', { ...LINUX, configHome: '/x' }, '/x/Code/User/mcp.json'],
    ['vscode', { ...LINUX, configHome: 'relative' }, '/home/ann/.config/Code/User/mcp.json'],
    ['vscode', MAC, '/Users/ann/Library/Application Support/Code/User/mcp.json'],
    ['vscode', WINDOWS, String.raw`C:\Users\ann\AppData\Roaming\Code\User\mcp.json`],
    ['vscode', { ...WINDOWS, appData: String.raw`D:\Roaming` }, String.raw`D:\Roaming\Code\User\mcp.json`],
    ['zed', MAC, '/Users/ann/.config/zed/settings.json'],
    ['cursor', { ...LINUX, configHome: '/x' }, '/home/ann/.cursor/mcp.json'],
    ['goose', LINUX, '/home/ann/.config/goose/config.yaml'],
    ['goose', WINDOWS, String.raw`C:\Users\ann\AppData\Roaming\Block\goose\config\config.yaml`],
    ['claude-code', WINDOWS, String.raw`C:\Users\ann\.claude.json`],
  ])('of %s with %j is %s', (type, folders, expected) => {
    expect(fileOf(type, folders)).toBe(expected);
  });

  it.each([
    [[], '/home/ann/.kimi-code/mcp.json'],
    [['/home/ann/.kimi'], '/home/ann/.kimi/mcp.json'],
    [['/home/ann/.kimi', '/home/ann/.kimi-code'], '/home/ann/.kimi-code/mcp.json'],
  ])('of Kimi Code where %j exist is %s', (folders, expected) => {
    const exists = (path: string): boolean => folders.includes(path);
    expect(fileOf('kimi-code', { ...LINUX, exists })).toBe(expected);
  });

  it('differs for every client', () => {
    for (const folders of [LINUX, MAC, WINDOWS]) {
      const files = CLIENTS.map((client) => configFileOf(client, folders));
      expect(new Set(files).size).toBe(CLIENTS.length);
      expect(files.filter((file) => !file.startsWith(folders.home))).toEqual([]);
    }
  });
});

describe('installedMarkOf', () => {
  it.each([
    ['claude-code', '/home/ann/.claude.json'],
    ['cursor', '/home/ann/.cursor'],
    ['windsurf', '/home/ann/.codeium/windsurf'],
  ])('of %s is %s', (type, expected) => {
    const client = findClient(type);
    expect(client && installedMarkOf(client, LINUX)).toBe(expected);
  });
});

describe('shownFileOf', () => {
  it('has no unresolved folder', () => {
    expect(CLIENTS.map(shownFileOf).filter((file) => !file.startsWith('~/'))).toEqual([]);
  });
});
