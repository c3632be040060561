import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import { IN_USE, protectionOf } from './protection.ts';

const object = (kind: string, metadata: object = {}): KubeObject => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind,
  metadata: { namespace: 'team', name: 'x', ...metadata },
});
const user = (kind: string, name = 'u') => ({ kind, namespace: 'team', name });
const leaving = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const CONFIGS = ['MCPOIDCConfig', 'MCPExternalAuthConfig'];

describe('protectionOf', () => {
  it.each(CONFIGS)(
    'adds the finalizer to a %s with the first reference, and changes nothing while it is set',
    (kind) => {
      const users = [user('MCPServerEntry')];
      expect(protectionOf(object(kind), users, true)).toEqual({ blockedBy: [], finalizers: [IN_USE] });
      expect(protectionOf(object(kind, { finalizers: [IN_USE] }), users, true)).toEqual({ blockedBy: [] });
      expect(protectionOf(object(kind), [], true)).toEqual({ blockedBy: [] });
    },
  );

  it('keeps the finalizers of other controllers', () => {
    const both = { finalizers: ['example.com/a', IN_USE] };
    expect(protectionOf(object('MCPOIDCConfig', both), [], true).finalizers).toEqual(['example.com/a']);
    const one = { finalizers: ['example.com/a'] };
    expect(protectionOf(object('MCPOIDCConfig', one), [user('MCPServer')], true).finalizers).toEqual([
      'example.com/a',
      IN_USE,
    ]);
  });

  it('lists every object that blocks the deletion, and removes the finalizer after the last reference', () => {
    const held = object('MCPExternalAuthConfig', { ...leaving, finalizers: [IN_USE] });
    const users = [user('VirtualMCPServer', 'z'), user('MCPServer', 'b'), user('MCPServer', 'a')];
    expect(protectionOf(held, users, true)).toEqual({
      blockedBy: ['MCPServer/a', 'MCPServer/b', 'VirtualMCPServer/z'],
    });
    expect(protectionOf(held, [], true)).toEqual({ blockedBy: [], finalizers: [] });
  });

  it('adds no finalizer to an object that is being deleted: the API server would reject it', () => {
    expect(protectionOf(object('MCPOIDCConfig', leaving), [user('MCPServer')], true)).toEqual({ blockedBy: [] });
  });

  it('protects a group while a VirtualMCPServer refers to it, not while members do', () => {
    expect(protectionOf(object('MCPGroup'), [user('MCPServer'), user('MCPServerEntry')], true)).toEqual({
      blockedBy: [],
    });
    const served = [user('MCPServer'), user('VirtualMCPServer', 'v')];
    expect(protectionOf(object('MCPGroup'), served, true).finalizers).toEqual([IN_USE]);
    expect(protectionOf(object('MCPGroup', { ...leaving, finalizers: [IN_USE] }), served, true).blockedBy).toEqual([
      'VirtualMCPServer/v',
    ]);
  });

  it('removes the finalizer when protection is off', () => {
    const held = object('MCPOIDCConfig', { ...leaving, finalizers: [IN_USE] });
    expect(protectionOf(held, [user('MCPServer')], false)).toEqual({ blockedBy: [], finalizers: [] });
    expect(protectionOf(object('MCPOIDCConfig'), [user('MCPServer')], false)).toEqual({ blockedBy: [] });
  });

  it('does not protect kinds with workloads', () => {
    expect(protectionOf(object('MCPServer'), [user('VirtualMCPServer')], true)).toEqual({ blockedBy: [] });
  });
});
