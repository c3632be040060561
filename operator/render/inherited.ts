export type Texts = Readonly<Record<string, string>>;

/** Labels and annotations that a user adds. The operator's take precedence. */
export interface Additions {
  readonly labels?: Texts;
  readonly annotations?: Texts;
}

/**
 * Domains whose labels and annotations describe the resource itself: Kubernetes, vmcp, and tools that apply resources. Such a tool
 * regards each object with its mark as its own, and may delete it.
 */
const DOMAINS_OF_THE_RESOURCE = [
  'argoproj.io',
  'cattle.io',
  'crossplane.io',
  'fluxcd.io',
  'gke.io',
  'helm.sh',
  'k14s.io',
  'k8s.io',
  'kubernetes.io',
  'openshift.io',
  'pulumi.com',
  'vmcp.dev',
];

/** Returns the labels and annotations of a resource that its objects inherit. */
export const inheritedFrom = ({ labels = {}, annotations = {} }: Additions): Additions => ({
  labels: inheritable(labels),
  annotations: inheritable(annotations),
});

const inheritable = (texts: Texts): Texts =>
  Object.fromEntries(Object.entries(texts).filter(([key]) => !describesTheResource(key)));

function describesTheResource(key: string): boolean {
  const [domain, name] = key.split('/');
  if (name === undefined || domain === undefined) return false;
  return DOMAINS_OF_THE_RESOURCE.some((each) => domain === each || domain.endsWith(`.${each}`));
}
