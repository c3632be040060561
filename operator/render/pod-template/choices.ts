/**
 * Fields of a pod template whose values Kubernetes 1.36 lists (a test compares them with the API server). Fields whose values depend on other fields are left to the API server.
 */
const CHOICES = `
PodSpec.dnsPolicy = ClusterFirst, ClusterFirstWithHostNet, Default, None
PodSpec.restartPolicy = Always
PodOS.name = linux, windows
Container.imagePullPolicy = Always, IfNotPresent, Never
Container.terminationMessagePolicy = FallbackToLogsOnError, File
ContainerPort.protocol = SCTP, TCP, UDP
HTTPGetAction.scheme = HTTP, HTTPS
SeccompProfile.type = Localhost, RuntimeDefault, Unconfined
AppArmorProfile.type = Localhost, RuntimeDefault, Unconfined
Toleration.operator = Equal, Exists
Toleration.effect = NoExecute, NoSchedule, PreferNoSchedule
NodeSelectorRequirement.operator = DoesNotExist, Exists, Gt, In, Lt, NotIn
LabelSelectorRequirement.operator = DoesNotExist, Exists, In, NotIn
TopologySpreadConstraint.whenUnsatisfiable = DoNotSchedule, ScheduleAnyway
TopologySpreadConstraint.nodeAffinityPolicy = Honor, Ignore
TopologySpreadConstraint.nodeTaintsPolicy = Honor, Ignore
PodSecurityContext.fsGroupChangePolicy = Always, OnRootMismatch
PodSecurityContext.supplementalGroupsPolicy = Merge, Strict
HostPathVolumeSource.type = BlockDevice, CharDevice, Directory, DirectoryOrCreate, File, FileOrCreate, Socket
`;

/** Allowed values by type and field, such as `Container.imagePullPolicy`. */
export const POD_TEMPLATE_CHOICES: ReadonlyMap<string, readonly string[]> = new Map(
  CHOICES.trim()
    .split('\n')
    .map((line) => {
      const [field = '', values = ''] = line.split(' = ');
      return [field, values.split(', ')];
    }),
);
