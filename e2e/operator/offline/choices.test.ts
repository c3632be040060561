import { describe, expect, it } from 'vitest';
import { POD_TEMPLATE_CHOICES } from '../../../operator/render/pod-template/check.ts';
import { pathOf } from '../../harness/control-plane/api.ts';
import { sharedOperator } from '../shared.ts';

const { api } = sharedOperator();

const WRONG = 'Wrong';
const port = { port: 80 };
const terms = (matchExpressions: object[]) => ({ nodeSelectorTerms: [{ matchExpressions }] });
const required = 'requiredDuringSchedulingIgnoredDuringExecution';
const spread = (members: object) => ({
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {}, ...members },
  ],
});

/** Members of the pod, and of its container, with a wrong value of each field. */
const PODS: Readonly<Record<string, { readonly pod?: object; readonly container?: object }>> = {
  'PodSpec.dnsPolicy': { pod: { dnsPolicy: WRONG } },
  'PodSpec.restartPolicy': { pod: { restartPolicy: 'Never' } },
  'PodOS.name': { pod: { os: { name: WRONG } } },
  'Container.imagePullPolicy': { container: { imagePullPolicy: WRONG } },
  'Container.terminationMessagePolicy': { container: { terminationMessagePolicy: WRONG } },
  'ContainerPort.protocol': { container: { ports: [{ containerPort: 80, protocol: WRONG }] } },
  'HTTPGetAction.scheme': { container: { readinessProbe: { httpGet: { ...port, scheme: WRONG } } } },
  'SeccompProfile.type': { pod: { securityContext: { seccompProfile: { type: WRONG } } } },
  'AppArmorProfile.type': { pod: { securityContext: { appArmorProfile: { type: WRONG } } } },
  'Toleration.operator': { pod: { tolerations: [{ key: 'a', operator: WRONG }] } },
  'Toleration.effect': { pod: { tolerations: [{ key: 'a', operator: 'Exists', effect: WRONG }] } },
  'NodeSelectorRequirement.operator': {
    pod: { affinity: { nodeAffinity: { [required]: terms([{ key: 'a', operator: WRONG }]) } } },
  },
  'LabelSelectorRequirement.operator': {
    pod: spread({ labelSelector: { matchExpressions: [{ key: 'a', operator: WRONG }] } }),
  },
  'TopologySpreadConstraint.whenUnsatisfiable': { pod: spread({ whenUnsatisfiable: WRONG }) },
  'TopologySpreadConstraint.nodeAffinityPolicy': { pod: spread({ nodeAffinityPolicy: WRONG }) },
  'TopologySpreadConstraint.nodeTaintsPolicy': { pod: spread({ nodeTaintsPolicy: WRONG }) },
  'PodSecurityContext.fsGroupChangePolicy': { pod: { securityContext: { fsGroupChangePolicy: WRONG } } },
  'PodSecurityContext.supplementalGroupsPolicy': { pod: { securityContext: { supplementalGroupsPolicy: WRONG } } },
  'HostPathVolumeSource.type': { pod: { volumes: [{ name: 'a', hostPath: { path: '/a', type: WRONG } }] } },
};

/** The API server does not list these in its message. */
const SELECTOR_OPERATORS: Readonly<Record<string, readonly string[]>> = {
  'NodeSelectorRequirement.operator': ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'],
  'LabelSelectorRequirement.operator': ['In', 'NotIn', 'Exists', 'DoesNotExist'],
};

describe('the choices of a pod template', () => {
  it.for([...POD_TEMPLATE_CHOICES])('%s are those of the API server', async ([field, choices]) => {
    const { pod = {}, container = {} } = PODS[field] ?? {};
    const labels = { app: 'choices' };
    const containers = [{ name: 'a', image: 'a', ...container }];
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'choices', namespace: 'default' },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { ...pod, containers } } },
    };
    const path = `${pathOf({ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default' })}?dryRun=All`;
    const { message } = await api().send('POST', path, deployment);
    expect(message).toMatch(/Unsupported value: "(?:Wrong|Never)"|not a valid selector operator/u);
    const [, listed] = /supported values: ("\w*"(?:, "\w+")*)/u.exec(message) ?? [];
    const known = listed?.split(', ').map((each) => each.slice(1, -1)) ?? SELECTOR_OPERATORS[field];
    expect(known?.filter((each) => each !== '').toSorted()).toEqual(choices);
  });
});
