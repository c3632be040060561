/**
 * Fields of a pod template in Kubernetes 1.36, one type per line with indented continuation lines (a test compares them
 * with the client). Field types are other types of this table, or:
 * `string`, `boolean`, `integer`; `flag` and `count`, which the API server removes when false or 0, like empty
 * strings, lists and maps; `text`, a string that may be empty; `port`, a number or a name; `quantity`; `map` and
 * `quantities` with arbitrary names. `[T]` is a list that is replaced as a whole, `[T key]` one merged by its
 * key, or its two keys.
 */
const TYPES = `
PodTemplateSpec = metadata: ObjectMeta; spec: PodSpec
ObjectMeta = annotations: map; creationTimestamp: string; finalizers: [string]; generateName: string;
  labels: map; name: string; namespace: string
PodSpec = activeDeadlineSeconds: integer; affinity: Affinity; automountServiceAccountToken: boolean;
  containers: [Container name]; dnsConfig: PodDNSConfig; dnsPolicy: string; enableServiceLinks: boolean;
  ephemeralContainers: [EphemeralContainer name]; hostAliases: [HostAlias ip]; hostIPC: flag; hostNetwork: flag;
  hostPID: flag; hostUsers: boolean; hostname: string; hostnameOverride: string;
  imagePullSecrets: [LocalObjectReference name]; initContainers: [Container name]; nodeName: string;
  nodeSelector: map; os: PodOS; overhead: quantities; preemptionPolicy: string; priority: integer;
  priorityClassName: string; readinessGates: [PodReadinessGate]; resourceClaims: [PodResourceClaim name];
  resources: ResourceRequirements; restartPolicy: string; runtimeClassName: string; schedulerName: string;
  schedulingGates: [PodSchedulingGate name]; schedulingGroup: PodSchedulingGroup;
  securityContext: PodSecurityContext; serviceAccount: string; serviceAccountName: string;
  setHostnameAsFQDN: boolean; shareProcessNamespace: boolean; subdomain: string;
  terminationGracePeriodSeconds: integer; tolerations: [Toleration];
  topologySpreadConstraints: [TopologySpreadConstraint topologyKey]; volumes: [Volume name]
Affinity = nodeAffinity: NodeAffinity; podAffinity: PodAffinity; podAntiAffinity: PodAntiAffinity
Container = args: [string]; command: [string]; env: [EnvVar name]; envFrom: [EnvFromSource]; image: string;
  imagePullPolicy: string; lifecycle: Lifecycle; livenessProbe: Probe; name: string;
  ports: [ContainerPort containerPort,protocol]; readinessProbe: Probe; resizePolicy: [ContainerResizePolicy];
  resources: ResourceRequirements; restartPolicy: string; restartPolicyRules: [ContainerRestartRule];
  securityContext: SecurityContext; startupProbe: Probe; stdin: flag; stdinOnce: flag;
  terminationMessagePath: string; terminationMessagePolicy: string; tty: flag;
  volumeDevices: [VolumeDevice devicePath]; volumeMounts: [VolumeMount mountPath]; workingDir: string
PodDNSConfig = nameservers: [string]; options: [PodDNSConfigOption]; searches: [string]
EphemeralContainer = args: [string]; command: [string]; env: [EnvVar name]; envFrom: [EnvFromSource];
  image: string; imagePullPolicy: string; lifecycle: Lifecycle; livenessProbe: Probe; name: string;
  ports: [ContainerPort containerPort,protocol]; readinessProbe: Probe; resizePolicy: [ContainerResizePolicy];
  resources: ResourceRequirements; restartPolicy: string; restartPolicyRules: [ContainerRestartRule];
  securityContext: SecurityContext; startupProbe: Probe; stdin: flag; stdinOnce: flag;
  targetContainerName: string; terminationMessagePath: string; terminationMessagePolicy: string; tty: flag;
  volumeDevices: [VolumeDevice devicePath]; volumeMounts: [VolumeMount mountPath]; workingDir: string
HostAlias = hostnames: [string]; ip: string
LocalObjectReference = name: string
PodOS = name: string
PodReadinessGate = conditionType: string
PodResourceClaim = name: string; resourceClaimName: string; resourceClaimTemplateName: string
ResourceRequirements = claims: [ResourceClaim name]; limits: quantities; requests: quantities
PodSchedulingGate = name: string
PodSchedulingGroup = podGroupName: string
PodSecurityContext = appArmorProfile: AppArmorProfile; fsGroup: integer; fsGroupChangePolicy: string;
  runAsGroup: integer; runAsNonRoot: boolean; runAsUser: integer; seLinuxChangePolicy: string;
  seLinuxOptions: SELinuxOptions; seccompProfile: SeccompProfile; supplementalGroups: [integer];
  supplementalGroupsPolicy: string; sysctls: [Sysctl]; windowsOptions: WindowsSecurityContextOptions
Toleration = effect: string; key: string; operator: string; tolerationSeconds: integer; value: string
TopologySpreadConstraint = labelSelector: LabelSelector; matchLabelKeys: [string]; maxSkew: integer;
  minDomains: integer; nodeAffinityPolicy: string; nodeTaintsPolicy: string; topologyKey: string;
  whenUnsatisfiable: string
Volume = awsElasticBlockStore: AWSElasticBlockStoreVolumeSource; azureDisk: AzureDiskVolumeSource;
  azureFile: AzureFileVolumeSource; cephfs: CephFSVolumeSource; cinder: CinderVolumeSource;
  configMap: ConfigMapVolumeSource; csi: CSIVolumeSource; downwardAPI: DownwardAPIVolumeSource;
  emptyDir: EmptyDirVolumeSource; ephemeral: EphemeralVolumeSource; fc: FCVolumeSource;
  flexVolume: FlexVolumeSource; flocker: FlockerVolumeSource; gcePersistentDisk: GCEPersistentDiskVolumeSource;
  gitRepo: GitRepoVolumeSource; glusterfs: GlusterfsVolumeSource; hostPath: HostPathVolumeSource;
  image: ImageVolumeSource; iscsi: ISCSIVolumeSource; name: string; nfs: NFSVolumeSource;
  persistentVolumeClaim: PersistentVolumeClaimVolumeSource;
  photonPersistentDisk: PhotonPersistentDiskVolumeSource; portworxVolume: PortworxVolumeSource;
  projected: ProjectedVolumeSource; quobyte: QuobyteVolumeSource; rbd: RBDVolumeSource;
  scaleIO: ScaleIOVolumeSource; secret: SecretVolumeSource; storageos: StorageOSVolumeSource;
  vsphereVolume: VsphereVirtualDiskVolumeSource
NodeAffinity = preferredDuringSchedulingIgnoredDuringExecution: [PreferredSchedulingTerm];
  requiredDuringSchedulingIgnoredDuringExecution: NodeSelector
PodAffinity = preferredDuringSchedulingIgnoredDuringExecution: [WeightedPodAffinityTerm];
  requiredDuringSchedulingIgnoredDuringExecution: [PodAffinityTerm]
PodAntiAffinity = preferredDuringSchedulingIgnoredDuringExecution: [WeightedPodAffinityTerm];
  requiredDuringSchedulingIgnoredDuringExecution: [PodAffinityTerm]
EnvVar = name: string; value: string; valueFrom: EnvVarSource
EnvFromSource = configMapRef: ConfigMapEnvSource; prefix: string; secretRef: SecretEnvSource
Lifecycle = postStart: LifecycleHandler; preStop: LifecycleHandler; stopSignal: string
Probe = exec: ExecAction; failureThreshold: count; grpc: GRPCAction; httpGet: HTTPGetAction;
  initialDelaySeconds: count; periodSeconds: count; successThreshold: count; tcpSocket: TCPSocketAction;
  terminationGracePeriodSeconds: integer; timeoutSeconds: count
ContainerPort = containerPort: integer; hostIP: string; hostPort: count; name: string; protocol: string
ContainerResizePolicy = resourceName: string; restartPolicy: string
ContainerRestartRule = action: string; exitCodes: ContainerRestartRuleOnExitCodes
SecurityContext = allowPrivilegeEscalation: boolean; appArmorProfile: AppArmorProfile;
  capabilities: Capabilities; privileged: boolean; procMount: string; readOnlyRootFilesystem: boolean;
  runAsGroup: integer; runAsNonRoot: boolean; runAsUser: integer; seLinuxOptions: SELinuxOptions;
  seccompProfile: SeccompProfile; windowsOptions: WindowsSecurityContextOptions
VolumeDevice = devicePath: string; name: string
VolumeMount = mountPath: string; mountPropagation: string; name: string; readOnly: flag;
  recursiveReadOnly: string; subPath: string; subPathExpr: string
PodDNSConfigOption = name: string; value: text
ResourceClaim = name: string; request: string
AppArmorProfile = localhostProfile: string; type: string
SELinuxOptions = level: string; role: string; type: string; user: string
SeccompProfile = localhostProfile: string; type: string
Sysctl = name: string; value: string
WindowsSecurityContextOptions = gmsaCredentialSpec: string; gmsaCredentialSpecName: string; hostProcess: boolean;
  runAsUserName: string
LabelSelector = matchExpressions: [LabelSelectorRequirement]; matchLabels: map
AWSElasticBlockStoreVolumeSource = fsType: string; partition: count; readOnly: flag; volumeID: string
AzureDiskVolumeSource = cachingMode: string; diskName: string; diskURI: string; fsType: string; kind: string;
  readOnly: boolean
AzureFileVolumeSource = readOnly: flag; secretName: string; shareName: string
CephFSVolumeSource = monitors: [string]; path: string; readOnly: flag; secretFile: string;
  secretRef: LocalObjectReference; user: string
CinderVolumeSource = fsType: string; readOnly: flag; secretRef: LocalObjectReference; volumeID: string
ConfigMapVolumeSource = defaultMode: integer; items: [KeyToPath]; name: string; optional: boolean
CSIVolumeSource = driver: string; fsType: string; nodePublishSecretRef: LocalObjectReference; readOnly: boolean;
  volumeAttributes: map
DownwardAPIVolumeSource = defaultMode: integer; items: [DownwardAPIVolumeFile]
EmptyDirVolumeSource = medium: string; sizeLimit: quantity
EphemeralVolumeSource = volumeClaimTemplate: PersistentVolumeClaimTemplate
FCVolumeSource = fsType: string; lun: integer; readOnly: flag; targetWWNs: [string]; wwids: [string]
FlexVolumeSource = driver: string; fsType: string; options: map; readOnly: flag; secretRef: LocalObjectReference
FlockerVolumeSource = datasetName: string; datasetUUID: string
GCEPersistentDiskVolumeSource = fsType: string; partition: count; pdName: string; readOnly: flag
GitRepoVolumeSource = directory: string; repository: string; revision: string
GlusterfsVolumeSource = endpoints: string; path: string; readOnly: flag
HostPathVolumeSource = path: string; type: text
ImageVolumeSource = pullPolicy: string; reference: string
ISCSIVolumeSource = chapAuthDiscovery: flag; chapAuthSession: flag; fsType: string; initiatorName: string;
  iqn: string; iscsiInterface: string; lun: integer; portals: [string]; readOnly: flag;
  secretRef: LocalObjectReference; targetPortal: string
NFSVolumeSource = path: string; readOnly: flag; server: string
PersistentVolumeClaimVolumeSource = claimName: string; readOnly: flag
PhotonPersistentDiskVolumeSource = fsType: string; pdID: string
PortworxVolumeSource = fsType: string; readOnly: flag; volumeID: string
ProjectedVolumeSource = defaultMode: integer; sources: [VolumeProjection]
QuobyteVolumeSource = group: string; readOnly: flag; registry: string; tenant: string; user: string;
  volume: string
RBDVolumeSource = fsType: string; image: string; keyring: string; monitors: [string]; pool: string;
  readOnly: flag; secretRef: LocalObjectReference; user: string
ScaleIOVolumeSource = fsType: string; gateway: string; protectionDomain: string; readOnly: flag;
  secretRef: LocalObjectReference; sslEnabled: flag; storageMode: string; storagePool: string; system: string;
  volumeName: string
SecretVolumeSource = defaultMode: integer; items: [KeyToPath]; optional: boolean; secretName: string
StorageOSVolumeSource = fsType: string; readOnly: flag; secretRef: LocalObjectReference; volumeName: string;
  volumeNamespace: string
VsphereVirtualDiskVolumeSource = fsType: string; storagePolicyID: string; storagePolicyName: string;
  volumePath: string
PreferredSchedulingTerm = preference: NodeSelectorTerm; weight: integer
NodeSelector = nodeSelectorTerms: [NodeSelectorTerm]
WeightedPodAffinityTerm = podAffinityTerm: PodAffinityTerm; weight: integer
PodAffinityTerm = labelSelector: LabelSelector; matchLabelKeys: [string]; mismatchLabelKeys: [string];
  namespaceSelector: LabelSelector; namespaces: [string]; topologyKey: string
EnvVarSource = configMapKeyRef: ConfigMapKeySelector; fieldRef: ObjectFieldSelector; fileKeyRef: FileKeySelector;
  resourceFieldRef: ResourceFieldSelector; secretKeyRef: SecretKeySelector
ConfigMapEnvSource = name: string; optional: boolean
SecretEnvSource = name: string; optional: boolean
LifecycleHandler = exec: ExecAction; httpGet: HTTPGetAction; sleep: SleepAction; tcpSocket: TCPSocketAction
ExecAction = command: [string]
GRPCAction = port: integer; service: string
HTTPGetAction = host: string; httpHeaders: [HTTPHeader]; path: string; port: port; scheme: string
TCPSocketAction = host: string; port: port
ContainerRestartRuleOnExitCodes = operator: string; values: [integer]
Capabilities = add: [string]; drop: [string]
LabelSelectorRequirement = key: string; operator: string; values: [string]
KeyToPath = key: string; mode: integer; path: string
DownwardAPIVolumeFile = fieldRef: ObjectFieldSelector; mode: integer; path: string;
  resourceFieldRef: ResourceFieldSelector
PersistentVolumeClaimTemplate = metadata: ObjectMeta; spec: PersistentVolumeClaimSpec
VolumeProjection = clusterTrustBundle: ClusterTrustBundleProjection; configMap: ConfigMapProjection;
  downwardAPI: DownwardAPIProjection; podCertificate: PodCertificateProjection; secret: SecretProjection;
  serviceAccountToken: ServiceAccountTokenProjection
NodeSelectorTerm = matchExpressions: [NodeSelectorRequirement]; matchFields: [NodeSelectorRequirement]
ConfigMapKeySelector = key: string; name: string; optional: boolean
ObjectFieldSelector = apiVersion: string; fieldPath: string
FileKeySelector = key: string; optional: boolean; path: string; volumeName: string
ResourceFieldSelector = containerName: string; divisor: quantity; resource: string
SecretKeySelector = key: string; name: string; optional: boolean
SleepAction = seconds: integer
HTTPHeader = name: string; value: string
PersistentVolumeClaimSpec = accessModes: [string]; dataSource: TypedLocalObjectReference;
  dataSourceRef: TypedObjectReference; resources: VolumeResourceRequirements; selector: LabelSelector;
  storageClassName: text; volumeAttributesClassName: string; volumeMode: string; volumeName: string
ClusterTrustBundleProjection = labelSelector: LabelSelector; name: string; optional: boolean; path: string;
  signerName: string
ConfigMapProjection = items: [KeyToPath]; name: string; optional: boolean
DownwardAPIProjection = items: [DownwardAPIVolumeFile]
PodCertificateProjection = certificateChainPath: string; credentialBundlePath: string; keyPath: string;
  keyType: string; maxExpirationSeconds: integer; signerName: string; userAnnotations: map
SecretProjection = items: [KeyToPath]; name: string; optional: boolean
ServiceAccountTokenProjection = audience: string; expirationSeconds: integer; path: string
NodeSelectorRequirement = key: string; operator: string; values: [string]
TypedLocalObjectReference = apiGroup: string; kind: string; name: string
TypedObjectReference = apiGroup: string; kind: string; name: string; namespace: string
VolumeResourceRequirements = limits: quantities; requests: quantities
`;

/** Name of a type, or of a list's item type, with the merge keys of the items. */
export interface FieldType {
  readonly name: string;
  readonly list: boolean;
  /** Merge keys. When empty, a patch replaces the whole list. */
  readonly keys: readonly string[];
}

export type ObjectType = ReadonlyMap<string, FieldType>;

/** Object types by name. */
export const POD_TEMPLATE_TYPES: ReadonlyMap<string, ObjectType> = new Map(
  TYPES.trim()
    .split(/\n(?! )/u)
    .map((line) => {
      const [type = '', fields = ''] = line.split(' = ');
      return [type, new Map(fields.split(/;\s+/u).map(readField))];
    }),
);

function readField(text: string): readonly [string, FieldType] {
  const [, field = '', name = '', keys] = /^(\w+): \[?(\w+)(?: ([\w,]+))?\]?$/u.exec(text.trim()) ?? [];
  return [field, { name, list: text.endsWith(']'), keys: keys?.split(',') ?? [] }];
}

/** Members of which at most one can be set. A patch that sets one removes the other. */
export const ALTERNATIVES: ReadonlyMap<string, readonly string[]> = new Map([
  ['Volume', [...(POD_TEMPLATE_TYPES.get('Volume')?.keys() ?? [])].filter((member) => member !== 'name')],
  ['EnvVar', ['value', 'valueFrom']],
  ['LifecycleHandler', ['exec', 'httpGet', 'sleep', 'tcpSocket']],
  ['Probe', ['exec', 'grpc', 'httpGet', 'tcpSocket']],
]);
