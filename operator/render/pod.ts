import type { Owned } from './owned.ts';
import type { JsonObject } from '../../gateway/contract/json.ts';

interface Named {
  readonly name: string;
}

/** Secrets that images are pulled with: the resource's own, then the installation's. */
export const pullSecrets = (own: readonly Named[] = [], everyones: readonly string[] = []): readonly Named[] =>
  [...new Set([...own.map(({ name }) => name), ...everyones])].map((name) => ({ name }));

/** Members of every pod. A namespace may have so many Services that their variables would fill the environment. */
export const podDefaults = ({ selector }: Owned, imagePullSecrets: readonly Named[]): JsonObject => ({
  enableServiceLinks: false,
  ...(imagePullSecrets.length > 0 && { imagePullSecrets }),
  topologySpreadConstraints: [
    {
      labelSelector: { matchLabels: selector },
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway',
    },
  ],
});

/** As Pod Security `restricted` asks; the user is left to the image. */
export const RESTRICTED_POD: JsonObject = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
export const RESTRICTED_CONTAINER: JsonObject = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
};

/** New pods serve before old ones go. */
export const ROLLING: JsonObject = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }, type: 'RollingUpdate' };

/** Until every node has heard that a pod goes, connections still arrive. */
export const sleepBeforeStop = (seconds: number): JsonObject => ({ preStop: { sleep: { seconds } } });
