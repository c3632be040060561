import type { Owned } from './owned.ts';
import type { JsonObject } from '../../gateway/contract/json.ts';

interface Named {
  readonly name: string;
}

/** Lists the image pull Secrets: the resource's own, then the installation's. */
export const pullSecrets = (own: readonly Named[] = [], installation: readonly string[] = []): readonly Named[] =>
  [...new Set([...own.map(({ name }) => name), ...installation])].map((name) => ({ name }));

/** Returns the members of every pod. Service links are off: many Services would fill the environment with variables. */
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

/** Settings that Pod Security `restricted` requires. The image chooses the user. */
export const RESTRICTED_POD: JsonObject = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
export const RESTRICTED_CONTAINER: JsonObject = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
};

/** Rollout that starts new pods before it stops old ones. */
export const ROLLING: JsonObject = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }, type: 'RollingUpdate' };

/** Returns a `preStop` sleep: connections still arrive until every node knows that the pod stops. */
export const sleepBeforeStop = (seconds: number): JsonObject => ({ preStop: { sleep: { seconds } } });
