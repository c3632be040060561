import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';

/**
 * Loads and merges the files of $KUBECONFIG, or loads ~/.kube/config.
 * @throws Error when there is none, or one cannot be read
 */
export function loadKubeConfig(env: Readonly<Record<string, string | undefined>>): KubeConfig {
  const files = (env['KUBECONFIG'] ?? '').split(':').filter((file) => file !== '');
  const found = (files.length > 0 ? files : [join(env['HOME'] ?? homedir(), '.kube', 'config')]).filter(existsSync);
  if (found.length === 0) {
    throw new Error('no kubeconfig found: set KUBECONFIG to the file of a cluster, or run in a pod of the cluster');
  }
  const [config, ...others] = found.map((file) => {
    const each = new KubeConfig();
    each.loadFromFile(file);
    return each;
  }) as [KubeConfig, ...KubeConfig[]];
  for (const other of others) config.mergeConfig(other, true);
  return config;
}
